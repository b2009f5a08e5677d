// Tests traces, which are log lines about the path of a message through the server.
#include <cstdio>
#include <string>

#include "nlohmann/json.hpp"
#include "server/logs/loggers.h"
#include "tests/grpc/test_server.h"

namespace freshet {
namespace {

using testing::SizeIs;

// Runs a server and reads the log lines of its traces.
class TracesOfAServer : public testing::Test {
 protected:
  TracesOfAServer() : file_(std::tmpfile(), &std::fclose) { SetLogFile(file_.get()); }
  ~TracesOfAServer() override {
    SetLogFile(stderr);
    SetLogFormat(LogFormat::kText);
  }
  std::vector<nlohmann::json> Traces() {
    FlushLogs();
    std::rewind(file_.get());
    std::string text(size_t{1} << 20, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file_.get()));
    std::vector<nlohmann::json> traces;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      if (line.find("\"trace\"") != std::string::npos)
        traces.push_back(nlohmann::json::parse(line));
      at = end + 1;
    }
    return traces;
  }

  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_;
};

int64_t Micros(const nlohmann::json& trace, const char* field) {
  return std::stoll(trace.at(field).get<std::string>());
}

TEST_F(TracesOfAServer, FollowAMessageFromTheWireToItsAcknowledgement) {
  {
    TestServer server([](ServerConfig* config) {
      config->shards = 2;
      config->trace_share = 1;
      config->log_level = "info";
    });
    SetLogFormat(LogFormat::kJson);
    v1::UpsertPagesRequest pages;
    pages.set_sequence(41);
    for (int i = 0; i < 20; ++i) pages.add_pages()->set_url(TestServer::Url(i));
    pages.add_pages()->set_url("no URL");
    grpc::ClientContext call;
    call.AddMetadata("x-request-id", "load-1");
    const auto stream = server.pages->UpsertPages(&call);
    const v1::BatchAck ack = TestServer::Exchange<v1::UpsertPagesResponse>(*stream, pages).ack();
    EXPECT_THAT(ack.statuses(), SizeIs(1));
    EXPECT_TRUE(server.Stop().ok());
  }
  const std::vector<nlohmann::json> traces = Traces();
  ASSERT_THAT(traces, SizeIs(1));
  const nlohmann::json& trace = traces.front();
  EXPECT_EQ(trace["request_id"], "load-1");
  EXPECT_EQ(trace["method"], "/freshet.v1.PagesService/UpsertPages");
  EXPECT_EQ(trace["sequence"], "41");
  EXPECT_EQ(trace["items"], "21");
  EXPECT_EQ(trace["refused"], "1");
  EXPECT_EQ(trace["shards"], "2");
  int64_t parts = 0;
  for (const char* part :
       {"receive_us", "queue_us", "read_us", "step_us", "commit_us", "install_us", "answer_us"}) {
    EXPECT_GE(Micros(trace, part), 0) << part;
    parts += Micros(trace, part);
  }
  EXPECT_EQ(parts, Micros(trace, "total_us"));
  EXPECT_GT(Micros(trace, "commit_us"), 0);
}

TEST_F(TracesOfAServer, AreOffUnlessAskedFor) {
  {
    TestServer server([](ServerConfig* config) { config->log_level = "info"; });
    SetLogFormat(LogFormat::kJson);
    server.UpsertMany(10);
    EXPECT_TRUE(server.Stop().ok());
  }
  EXPECT_THAT(Traces(), SizeIs(0));
}

}  // namespace
}  // namespace freshet
