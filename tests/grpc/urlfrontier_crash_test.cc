// Tests the crawl-frontier API of a process that is killed while clients put and get URLs.
#include <atomic>
#include <ctime>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "server/base/system_clock.h"
#include "tests/crash/daemon.h"
#include "tests/grpc/frontier_client.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using ::testing::IsEmpty;

// A freshetd that is killed and started again. Thread-compatible.
class KilledFrontier : public ::testing::Test {
 protected:
  KilledFrontier() : daemon_(dir_ / "data", dir_ / "log") { Start(); }
  ~KilledFrontier() override {
    daemon_.RequestStop();
    EXPECT_EQ(daemon_.AwaitEnd(), "");
  }
  void Start() {
    daemon_.Spawn({});
    ASSERT_EQ(daemon_.AwaitReady(), "");
    client_ = std::make_unique<FrontierClient>(daemon_.channel());
  }
  void KillAndStart() {
    ASSERT_EQ(daemon_.Kill(), "");
    Start();
  }
  static uint64_t Now() {
    SystemClock clock;
    return static_cast<uint64_t>(clock.Now().micros() / 1'000'000);
  }

  TempDir dir_;
  crash::Daemon daemon_;
  std::unique_ptr<FrontierClient> client_;
};

TEST_F(KilledFrontier, KeepsDelaysBlocksLimitsActivityAndWhatIsInFlight) {
  client_->Put({Discovered("http://a.test/1"), Discovered("http://b.test/1"),
                Discovered("http://c.test/1"), KnownUntil(0, "http://c.test/2"),
                Discovered("http://d.test/1"), Discovered("http://d.test/2")});
  client_->Block("b.test", Now() + 1000);
  client_->Block("later.test", Now() + 1000);
  EXPECT_TRUE(client_->SetLimit("c.test", 1).ok());
  client_->SetDelay("d.test", 1000);
  uf::GetParams params = ParamsIn("DEFAULT", 1, 1, 1000);
  params.set_key("d.test");
  EXPECT_EQ(client_->Get(params).size(), 1u);
  client_->SetActive(false);
  KillAndStart();
  EXPECT_FALSE(client_->IsActive());
  client_->SetActive(true);
  client_->Put(Discovered("http://later.test/1"));
  EXPECT_EQ(client_->Stats().inprocess(), 1u);
  EXPECT_THAT(client_->Get(Params(1)), ::testing::ElementsAre("http://a.test/1"));
  const uf::Stats stats = client_->Stats();
  EXPECT_EQ(stats.size(), 6u);
  EXPECT_EQ(stats.counts().at("completed"), 1u);
}

TEST_F(KilledFrontier, LosesNothingThatWasAcknowledgedAndHandsOutNothingTwice) {
  std::set<std::string> acknowledged;
  std::set<std::string> in_flight;
  for (int round = 0; round < 4; ++round) {
    std::atomic<bool> enough{false};
    std::thread putter([&, round] {
      grpc::ClientContext call;
      const auto stream = client_->stub->PutURLs(&call);
      std::thread reader([&] {
        uf::AckMessage ack;
        while (stream->Read(&ack)) {
          if (ack.status() != uf::AckMessage::FAIL) acknowledged.insert(ack.id());
          if (acknowledged.size() > 2000U * static_cast<unsigned>(round + 1)) enough = true;
        }
      });
      for (int i = 0;; ++i) {
        const std::string host = "http://h" + std::to_string(i % 40) + ".test/";
        if (!stream->Write(Discovered(host + std::to_string(round) + "-" + std::to_string(i)))) {
          break;
        }
      }
      stream->WritesDone();
      reader.join();
      (void)stream->Finish();
    });
    std::thread getter([&] {
      while (true) {
        grpc::ClientContext call;
        const auto stream = client_->stub->GetURLs(&call, Params(5, 10, 30'000));
        uf::URLInfo info;
        while (stream->Read(&info)) {
          EXPECT_TRUE(in_flight.insert(info.url()).second) << info.url() << " is out twice";
        }
        if (!stream->Finish().ok()) return;
      }
    });
    WaitUntil([&] { return enough.load(); });
    EXPECT_EQ(daemon_.Kill(), "");
    putter.join();
    getter.join();
    Start();
  }
  EXPECT_GT(acknowledged.size(), 8000u);
  uf::ListUrlParams all;
  all.set_size(10'000'000);
  std::set<std::string> kept;
  for (const uf::URLItem& item : client_->List(all)) kept.insert(item.known().info().url());
  for (const std::string& url : acknowledged) EXPECT_TRUE(kept.contains(url)) << url;
  const uf::Stats stats = client_->Stats();
  EXPECT_EQ(stats.size(), kept.size());
  // URLs that were leased but not delivered when the server was killed are in flight, too.
  EXPECT_GE(stats.inprocess(), in_flight.size());
  for (const std::string& url : client_->Get(Params(10'000))) {
    EXPECT_FALSE(in_flight.contains(url)) << url;
  }
}

}  // namespace
}  // namespace freshet
