// Tests a whole server in which every page shares its fingerprint with half of the others. Clients
// see no difference.
#include <set>

#include "server/verify.h"
#include "storage/store.h"
#include "tests/grpc/test_server.h"

namespace freshet {
namespace {

using testing::IsEmpty;

constexpr int kPages = 60;
constexpr int kHosts = 4;

class CollisionTest : public testing::Test {
 protected:
  static std::string Url(int i) { return TestServer::Url(i, kHosts); }
  void ExpectPages(int from, int end) {
    for (int i = from; i < end; ++i) EXPECT_EQ(server_.Get(Url(i)).page().url(), Url(i));
    EXPECT_EQ(server_.Statistics().pages().pages(), static_cast<uint64_t>(end - from));
  }
  void ExpectUnknown(const std::string& url) {
    v1::GetPageRequest request;
    request.set_url(url);
    v1::GetPageResponse response;
    grpc::ClientContext call;
    EXPECT_EQ(server_.pages->GetPage(&call, request, &response).error_code(),
              grpc::StatusCode::NOT_FOUND);
  }

  TempDir dir_;
  TestServer server_{[this](ServerConfig* config) {
    config->data_dir = dir_ / "data";
    config->durability = "wal";
    config->fingerprint_bits = 1;
  }};
};

TEST_F(CollisionTest, EveryPageIsKeptFoundCrawledAndRemovedAsItself) {
  // One half comes in one batch, the other page by page.
  server_.UpsertMany(kPages / 2, kHosts);
  for (int i = kPages / 2; i < kPages; ++i) {
    v1::UpsertPagesRequest request;
    request.add_pages()->set_url(Url(i));
    EXPECT_THAT(Described(server_.Upsert(request)), IsEmpty());
  }
  ExpectPages(0, kPages);
  server_.Restart();
  ExpectPages(0, kPages);
  ExpectUnknown("http://host0.test/none");

  v1::CrawlResult result;
  result.set_url(Url(7));
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  ToProto(server_.clock.Now(), result.mutable_fetch_time());
  EXPECT_THAT(Described(server_.Report(result)), IsEmpty());
  v1::SignalChangesRequest signals;
  auto* signal = signals.add_signals();
  signal->set_url(Url(8));
  signal->set_source("cdn");
  EXPECT_THAT(Described(server_.Signal(signals)), IsEmpty());
  for (int i = 0; i < kPages; ++i) {
    EXPECT_EQ(server_.Get(Url(i)).page().has_last_crawl_time(), i == 7) << i;
  }
  std::set<std::string> fetched;
  const v1::NextResponse next = server_.Next(20);
  for (const v1::Assignment& assignment : next.assignments()) {
    EXPECT_TRUE(fetched.insert(assignment.url()).second);
    result.set_url("");
    result.set_lease_id(assignment.lease_id());
    ToProto(server_.clock.Now(), result.mutable_fetch_time());
    EXPECT_THAT(Described(server_.Report(result)), IsEmpty());
    EXPECT_TRUE(server_.Get(assignment.url()).page().has_last_crawl_time());
  }
  EXPECT_FALSE(fetched.empty());

  v1::RemovePagesRequest remove;
  for (int i = 0; i < kPages / 3; ++i) remove.add_urls(Url(i));
  v1::RemovePagesResponse removed;
  grpc::ClientContext call;
  ASSERT_TRUE(server_.pages->RemovePages(&call, remove, &removed).ok());
  EXPECT_THAT(Described(removed.ack()), IsEmpty());
  ExpectPages(kPages / 3, kPages);
  ExpectUnknown(Url(0));
  server_.Restart();
  ExpectPages(kPages / 3, kPages);

  EXPECT_TRUE(server_.Stop().ok());
  StoreOptions options;
  options.reserve_bytes = 0;
  options.fingerprint_bits = 1;
  const auto store = Store::Open(server_.config.data_dir, options);
  ASSERT_TRUE(store.ok()) << store.status();
  const auto report = VerifyStore(**store, server_.config);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_THAT(report->problems, IsEmpty());
}

}  // namespace
}  // namespace freshet
