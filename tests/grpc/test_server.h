// A whole server in this process, with free ports and a separate directory, and clients for it.
#ifndef FRESHET_TESTS_GRPC_TEST_SERVER_H_
#define FRESHET_TESTS_GRPC_TEST_SERVER_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "freshet/v1/admin.grpc.pb.h"
#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/api/to_proto.h"
#include "server/base/system_clock.h"
#include "server/config.h"
#include "server/logging.h"
#include "server/server.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wall_time.h"

namespace freshet {

// A server that runs in the test. Thread-compatible.
class TestServer {
 public:
  using Tweak = std::function<void(ServerConfig*)>;

  // `server_clock`: the server's clock; nullptr = the machine's.
  explicit TestServer(const Tweak& tweak = {}, rocksdb::Env* env = nullptr,
                      Clock* server_clock = nullptr)
      : env_(env), server_clock_(server_clock != nullptr ? *server_clock : clock) {
    config.data_dir = dir_ / "data";
    config.listen = config.http_listen = "127.0.0.1:0";
    config.durability = "none";
    config.crawl_rate = Rate::PerSecond(200);
    config.shutdown_grace = Duration::Millis(50);
    // FRESHET_TEST_LOG=info shows the logs of the servers of a failing test.
    const char* const level = std::getenv("FRESHET_TEST_LOG");
    config.log_level = level != nullptr ? level : "off";
    // Tests crawl a few hosts fast. Tests of politeness set other values.
    config.politeness = {};
    config.host_backoff = {};
    if (tweak) tweak(&config);
    StartLogging(config.log_level);
    Start();
  }

  void Start() {
    server_ = std::make_unique<Server>(config, server_clock_, env_);
    server_->WhenToEnd([this](std::string_view, bool at_once) {
      ++(at_once ? asked_to_end_at_once : asked_to_end);
    });
    server_->WhenReplaced([this] { ++replaced; });
    const StatusOr<ServingInfo> started = server_->Start();
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    info = *started;
    Use(grpc::CreateChannel(info.grpc_address, grpc::InsecureChannelCredentials()));
  }
  // Uses this channel for the shortcuts below.
  void Use(const std::shared_ptr<grpc::Channel>& own) {
    channel = own;
    scheduler = v1::SchedulerService::NewStub(channel);
    ingest = v1::IngestService::NewStub(channel);
    pages = v1::PagesService::NewStub(channel);
    admin = v1::AdminService::NewStub(channel);
  }
  Status Stop() {
    const Status status = server_->Stop();
    server_.reset();
    return status;
  }
  void Reload() { server_->Reload(); }
  void Reload(const ServerConfig& fresh) { server_->Reload(fresh); }
  void Restart() {
    EXPECT_TRUE(Stop().ok());
    Start();
  }

  // --- Shortcuts. Each makes a call and checks that it succeeds
  v1::BatchAck Upsert(const v1::UpsertPagesRequest& request) {
    grpc::ClientContext call;
    const auto stream = pages->UpsertPages(&call);
    return Exchange<v1::UpsertPagesResponse>(*stream, request).ack();
  }
  // Adds pages http://host<i % hosts>.test/<i> for i in [0, count).
  void UpsertMany(int count, int hosts = 10) {
    for (int start = 0; start < count; start += 1000) {
      v1::UpsertPagesRequest request;
      for (int i = start; i < std::min(count, start + 1000); ++i) {
        request.add_pages()->set_url(Url(i, hosts));
      }
      const v1::BatchAck ack = Upsert(request);
      EXPECT_EQ(ack.statuses_size(), 0) << ack.DebugString();
    }
  }
  void Remove(const std::string& url) {
    v1::RemovePagesRequest request;
    request.add_urls(url);
    v1::RemovePagesResponse response;
    grpc::ClientContext call;
    const grpc::Status status = pages->RemovePages(&call, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    EXPECT_EQ(response.ack().statuses_size(), 0) << response.DebugString();
  }
  static std::string Url(int i, int hosts = 10) {
    return "http://host" + std::to_string(i % hosts) + ".test/" + std::to_string(i);
  }
  v1::BatchAck Report(const v1::CrawlResult& result) {
    v1::ReportCrawlsRequest request;
    *request.add_results() = result;
    grpc::ClientContext call;
    const auto stream = ingest->ReportCrawls(&call);
    return Exchange<v1::ReportCrawlsResponse>(*stream, request).ack();
  }
  v1::BatchAck Signal(const v1::SignalChangesRequest& request) {
    grpc::ClientContext call;
    const auto stream = ingest->SignalChanges(&call);
    return Exchange<v1::SignalChangesResponse>(*stream, request).ack();
  }
  v1::GetPageResponse Get(const std::string& url, const std::string& crawl_id = "") {
    v1::GetPageRequest request;
    request.set_url(url);
    request.set_crawl_id(crawl_id);
    v1::GetPageResponse response;
    grpc::ClientContext call;
    const grpc::Status status = pages->GetPage(&call, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  v1::NextResponse Next(uint32_t most, int wait_ms = 2000) {
    v1::NextRequest request;
    request.set_max_assignments(most);
    request.set_worker("tester");
    ToProto(Duration::Millis(wait_ms), request.mutable_max_wait());
    v1::NextResponse response;
    grpc::ClientContext call;
    const grpc::Status status = scheduler->Next(&call, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }
  v1::GetStatisticsResponse Statistics() {
    v1::GetStatisticsResponse response;
    grpc::ClientContext call;
    EXPECT_TRUE(admin->GetStatistics(&call, {}, &response).ok());
    return response;
  }

  // Sends one message, reads its answer, and ends the stream.
  template <typename Response, typename Request>
  static Response Exchange(grpc::ClientReaderWriterInterface<Request, Response>& stream,
                           const Request& request) {
    Response response;
    EXPECT_TRUE(stream.Write(request));
    EXPECT_TRUE(stream.Read(&response));
    stream.WritesDone();
    const grpc::Status status = stream.Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  ServerConfig config;
  SystemClock clock;
  ServingInfo info;
  std::atomic<int> asked_to_end = 0;  // how often the server was asked to let another one serve
  std::atomic<int> asked_to_end_at_once = 0;
  std::atomic<int> replaced = 0;  // how often the server was told that another one serves
  std::shared_ptr<grpc::Channel> channel;
  std::unique_ptr<v1::SchedulerService::Stub> scheduler;
  std::unique_ptr<v1::IngestService::Stub> ingest;
  std::unique_ptr<v1::PagesService::Stub> pages;
  std::unique_ptr<v1::AdminService::Stub> admin;

 private:
  TempDir dir_;
  rocksdb::Env* const env_;
  Clock& server_clock_;
  std::unique_ptr<Server> server_;
};

// Describes each status of an acknowledgement, for example "2 REFUSED INVALID_ARGUMENT url: is
// empty".
inline std::vector<std::string> Described(const v1::BatchAck& ack) {
  std::vector<std::string> lines;
  for (const v1::ItemStatus& status : ack.statuses()) {
    std::string line = std::to_string(status.index()) + " " +
                       v1::ItemOutcome_Name(status.outcome()).substr(sizeof("ITEM_OUTCOME_") - 1);
    if (status.has_error()) {
      line += " " + v1::ErrorCode_Name(status.error().code()).substr(sizeof("ERROR_CODE_") - 1) +
              " " + status.error().field() + ": " + status.error().reason();
    }
    lines.push_back(line);
  }
  return lines;
}

// Opens a channel with a separate connection, which reconnects soon if no server is there.
inline std::shared_ptr<grpc::Channel> OwnChannel(const std::string& address,
                                                 grpc::ChannelArguments arguments = {}) {
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 50);
  return grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
}

}  // namespace freshet

#endif  // FRESHET_TESTS_GRPC_TEST_SERVER_H_
