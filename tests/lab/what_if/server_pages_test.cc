// Tests how freshet-sim what-if reads pages of a running server, and rates them by the server's
// estimates.
#include "lab/what_if/server_pages.h"

#include <cstdlib>
#include <memory>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tests/grpc/test_server.h"
#include "tests/support/run_program.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

class WhatIfServerTest : public testing::Test {
 protected:
  // Adds pages with known change rates of 0.01, 0.02, 0.03 ... a day; every second page has
  // complete signals.
  void Add(int count) {
    v1::UpsertPagesRequest request;
    for (int i = 0; i < count; ++i) {
      v1::PageSpec* page = request.add_pages();
      page->set_url(TestServer::Url(i));
      page->set_importance(2);
      page->set_known_change_rate_per_day(0.01 * (i + 1));
      page->set_complete_signals(i % 2 == 0);
    }
    EXPECT_EQ(server_.Upsert(request).statuses_size(), 0);
  }
  [[nodiscard]] cli::Session SessionTo(const std::string& address) {
    cli::Settings settings;
    settings.server = address;
    settings.connect_seconds = 1;
    return cli::Session(settings, {.input = 0, .out = &out_, .err = &out_, .terminal = false});
  }

  TestServer server_;
  std::ostringstream out_;
};

TEST_F(WhatIfServerTest, ReadsWhatTheServerBelieves) {
  Add(100);
  cli::Session session = SessionTo(server_.info.grpc_address);
  PageSample sample(1000, 1);
  const StatusOr<ServerPages> pages = ReadServerPages(session, 1000, &sample);
  ASSERT_TRUE(pages.ok()) << pages.status();
  EXPECT_EQ(pages->all_pages, 100u);
  EXPECT_DOUBLE_EQ(pages->crawls_per_day, 200 * 86400);
  ASSERT_EQ(sample.items().size(), 100u);
  double sum = 0;
  int complete = 0;
  for (const WhatIfPage& page : sample.items()) {
    EXPECT_EQ(page.rates.importance, 2);
    sum += page.rates.change_rate;
    complete += page.rates.recall == 1 ? 1 : 0;
    EXPECT_TRUE(ValidatePaperRates(page.rates).ok());
  }
  EXPECT_NEAR(sum, 50.5, 1e-6);
  EXPECT_GE(complete, 50);
}

TEST_F(WhatIfServerTest, ReadsNoMoreThanItsLimit) {
  Add(100);
  cli::Session session = SessionTo(server_.info.grpc_address);
  PageSample sample(1000, 1);
  const StatusOr<ServerPages> pages = ReadServerPages(session, 30, &sample);
  ASSERT_TRUE(pages.ok()) << pages.status();
  EXPECT_EQ(sample.seen(), 30u);
  EXPECT_GE(pages->all_pages, 30u);
}

// Ignores the limit of a request and sends more pages.
class GenerousPages final : public v1::PagesService::Service {
 public:
  grpc::Status ExportPages(grpc::ServerContext* /*context*/, const v1::ExportPagesRequest*,
                           grpc::ServerWriter<v1::ExportPagesResponse>* writer) override {
    v1::ExportPagesResponse part;
    for (int i = 0; i < 10; ++i) part.add_pages()->mutable_page()->set_importance(1);
    int parts = 0;
    while (parts < kParts && writer->Write(part)) ++parts;
    return {};
  }
  static constexpr int kParts = 1000;
};

class SilentAdmin final : public v1::AdminService::Service {
 public:
  grpc::Status GetStatistics(grpc::ServerContext* /*context*/, const v1::GetStatisticsRequest*,
                             v1::GetStatisticsResponse* /*response*/) override {
    return answer;
  }
  grpc::Status answer;
};

// A test with a server that sends more pages than the limit allows.
class WhatIfOddServerTest : public WhatIfServerTest {
 protected:
  [[nodiscard]] StatusOr<ServerPages> Read(uint64_t limit) {
    int port = 0;
    const std::unique_ptr<grpc::Server> odd =
        grpc::ServerBuilder()
            .AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port)
            .RegisterService(&pages_)
            .RegisterService(&admin_)
            .BuildAndStart();
    cli::Session session = SessionTo("127.0.0.1:" + std::to_string(port));
    return ReadServerPages(session, limit, &sample_);
  }

  GenerousPages pages_;
  SilentAdmin admin_;
  PageSample sample_{1000, 1};
};

TEST_F(WhatIfOddServerTest, IsNotReadBeyondTheLimit) {
  const StatusOr<ServerPages> pages = Read(25);
  ASSERT_TRUE(pages.ok()) << pages.status();
  EXPECT_EQ(sample_.seen(), 25u);
  EXPECT_EQ(pages->all_pages, 25u);
}

TEST_F(WhatIfOddServerTest, CannotMoveTheCursor) {
  admin_.answer = {grpc::StatusCode::INTERNAL, "all is \x1b[2Jwell"};
  const std::string error(Read(25).status().message());
  EXPECT_THAT(error, HasSubstr("[2Jwell"));
  EXPECT_EQ(error.find('\x1b'), std::string::npos);
}

TEST_F(WhatIfServerTest, SaysThatNobodyIsThere) {
  cli::Session session = SessionTo("127.0.0.1:1");
  PageSample sample(10, 1);
  EXPECT_EQ(ReadServerPages(session, 30, &sample).status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(WhatIfServerTest, IsACommand) {
  Add(60);
  const std::string command = "freshet-sim what-if --draws 4 --server " + server_.info.grpc_address;
  const ProgramResult run = RunProgram(command + " --crawls-per-day 20 --json", "");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  const auto answer = nlohmann::json::parse(run.out);
  EXPECT_EQ(answer["pages"], 60);
  EXPECT_EQ(answer["crawls_per_day"], 20);
  EXPECT_GT(answer["freshness"], answer["freshness_without_signals"]);
  const ProgramResult own = RunProgram(command, "");
  EXPECT_THAT(own.out, HasSubstr("1.728e+07 crawls a day"));
}

// The named files do not exist, so each command fails before it calls the server.
TEST_F(WhatIfServerTest, SpeaksTlsAndShowsATokenLikeEveryOtherCommand) {
  const std::string command = "freshet-sim what-if --server " + server_.info.grpc_address;
  const auto error = [&command](const std::string& flags) {
    const ProgramResult run = RunProgram(command + flags, "");
    EXPECT_NE(run.exit_code, 0) << flags;
    return run.err;
  };
  EXPECT_THAT(error(" --tls-ca /none/ca.pem"), HasSubstr("cannot read /none/ca.pem"));
  EXPECT_THAT(error(" --token-file /none/token"), HasSubstr("cannot read /none/token"));
  ::setenv("FRESHET_TOKEN_FILE", "/none/of/the/environment", 1);
  EXPECT_THAT(error(""), HasSubstr("cannot read /none/of/the/environment"));
  ::unsetenv("FRESHET_TOKEN_FILE");
}

}  // namespace
}  // namespace freshet
