// Tests a server that may open only few files, with clients that try to use up all of them.
#include <sys/wait.h>

#include <string>
#include <vector>

#include "freshet/v1/admin.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/crash/daemon.h"
#include "tests/support/raw_socket.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

// Adds `count` pages, numbered from `first`, on a new stream. Returns the error; "" = none.
std::string Upsert(v1::PagesService::Stub& pages, int first, int count) {
  grpc::ClientContext call;
  const auto stream = pages.UpsertPages(&call);
  v1::UpsertPagesRequest request;
  for (int i = first; i < first + count; ++i) {
    request.add_pages()->set_url("http://host" + std::to_string(i % 50) + ".test/" +
                                 std::to_string(i));
  }
  v1::UpsertPagesResponse response;
  const bool answered = stream->Write(request) && stream->Read(&response);
  stream->WritesDone();
  const grpc::Status status = stream->Finish();
  if (!status.ok()) return status.error_message();
  if (!answered) return "no answer";
  return response.ack().statuses_size() == 0 ? "" : response.ack().ShortDebugString();
}

TEST(Descriptors, StoreHasItsDescriptorsWhateverConnects) {
  const TempDir dir;
  crash::Daemon daemon(dir / "data", dir / "log");
  daemon.LimitFiles(256);
  daemon.Spawn({"--durability", "wal"});
  ASSERT_EQ(daemon.AwaitReady(), "");
  const auto pages = v1::PagesService::NewStub(daemon.channel());
  const auto admin = v1::AdminService::NewStub(daemon.channel());
  ASSERT_EQ(Upsert(*pages, 0, 1000), "");
  std::vector<RawSocket> idle;
  for (int i = 0; i < 400; ++i) {
    idle.emplace_back(daemon.grpc_address());
    if (i % 4 == 0) idle.emplace_back(daemon.http_address());
  }
  bool closed = false;
  EXPECT_THAT(idle.front().Read(&closed), HasSubstr("connections are open"));
  EXPECT_TRUE(closed);
  for (int round = 1; round <= 3; ++round) {
    EXPECT_EQ(Upsert(*pages, 1000 * round, 1000), "");
    v1::CreateCheckpointRequest checkpoint;
    checkpoint.set_name("c" + std::to_string(round));
    v1::CreateCheckpointResponse made;
    grpc::ClientContext call;
    const grpc::Status status = admin->CreateCheckpoint(&call, checkpoint, &made);
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_EQ(Upsert(*pages, 9000, 1000), "");
  v1::GetStatisticsResponse statistics;
  grpc::ClientContext call;
  ASSERT_TRUE(admin->GetStatistics(&call, {}, &statistics).ok());
  EXPECT_EQ(statistics.store().write_error(), "");
  EXPECT_EQ(statistics.pages().pages(), 5000u);
  daemon.RequestStop();
  EXPECT_EQ(daemon.AwaitEnd(), "");
  EXPECT_THAT(ReadWholeFile(dir / "log"),
              HasSubstr("as the process may open no more than 256 files"));
}

TEST(Descriptors, TooFewAreRefusedAtTheStart) {
  const TempDir dir;
  crash::Daemon daemon(dir / "data", dir / "log");
  daemon.LimitFiles(100);
  daemon.Spawn({});
  EXPECT_EQ(daemon.AwaitReady(), "instead of getting ready, freshetd ended with exit code 1");
  EXPECT_THAT(ReadWholeFile(dir / "log"),
              HasSubstr("cannot start: the process may open only 100 files, but needs at least "));
}

}  // namespace
}  // namespace freshet
