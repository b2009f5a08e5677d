// Tests the gRPC port with clients that are too many, silent, or gone without notice.
#include <poll.h>

#include <atomic>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "grpc/reflection/v1alpha/reflection.pb.h"
#include "httplib.h"
#include "tests/grpc/raw_stream.h"
#include "tests/grpc/test_server.h"
#include "tests/grpc/test_worker.h"
#include "tests/support/raw_socket.h"
#include "tests/support/relay.h"

namespace freshet {
namespace {

using testing::HasSubstr;

grpc::Status ListSources(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::ClientContext call;
  v1::ListSourcesResponse response;
  return v1::AdminService::NewStub(channel)->ListSources(&call, {}, &response);
}

TEST(Port, RefusesOneConnectionTooManyWithAReason) {
  TestServer server([](ServerConfig* config) { config->max_connections = 3; });
  std::vector<std::shared_ptr<grpc::Channel>> channels;
  for (int i = 0; i < 3; ++i) {
    channels.push_back(OwnChannel(server.info.grpc_address));
    EXPECT_TRUE(ListSources(channels.back()).ok());
  }
  const auto excess = OwnChannel(server.info.grpc_address);
  const grpc::Status status = ListSources(excess);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("3 connections are open, the most that this"));
  // Existing connections continue, and one that closes frees its place.
  for (const auto& channel : channels) EXPECT_TRUE(ListSources(channel).ok());
  channels.pop_back();
  EXPECT_TRUE(Eventually([&] { return ListSources(excess).ok(); }));
}

TEST(Port, SilentConnectionsMakeRoomAndDoNotKeepTheServerFromStopping) {
  TestServer server([](ServerConfig* config) { config->max_connections = 20; });
  EXPECT_TRUE(ListSources(server.channel).ok());
  std::vector<RawSocket> idle;
  for (int i = 0; i < 200; ++i) idle.emplace_back(server.info.grpc_address);
  bool closed = false;
  EXPECT_THAT(idle.front().Read(&closed), HasSubstr("20 connections are open"));
  EXPECT_TRUE(closed);
  EXPECT_TRUE(ListSources(server.channel).ok());
  EXPECT_TRUE(ListSources(OwnChannel(server.info.grpc_address)).ok());
  EXPECT_TRUE(server.Stop().ok());
}

TEST(Port, IsNotSharedWithASecondServer) {
  TestServer server;
  ServerConfig config = server.config;
  config.listen = server.info.grpc_address;
  config.data_dir += "-other";
  SystemClock clock;
  Server second(config, clock);
  const StatusOr<ServingInfo> info = second.Start();
  ASSERT_FALSE(info.ok());
  EXPECT_THAT(std::string(info.status().message()), HasSubstr("listen: cannot listen at 127.0.0."));
}

TEST(Port, RefusesOneStreamTooMany) {
  TestServer server([](ServerConfig* config) { config->max_streams = 2; });
  const auto open = [&](grpc::ClientContext* call) {
    const auto stream = server.pages->UpsertPages(call);
    v1::UpsertPagesRequest request;
    request.add_pages()->set_url("http://a.test/");
    v1::UpsertPagesResponse response;
    (void)stream->Write(request);
    const bool answered = stream->Read(&response);
    return std::pair(answered, answered ? grpc::Status::OK : stream->Finish());
  };
  TestWorker first(server, "first");
  TestWorker second(server, "second");
  grpc::ClientContext call;
  const auto [answered, status] = open(&call);
  EXPECT_FALSE(answered);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("2 streams are open, the most that this server"));
  // Unary calls continue, and a stream that ends frees its place.
  server.UpsertMany(0);
  EXPECT_TRUE(ListSources(server.channel).ok());
  EXPECT_TRUE(second.End().ok());
  EXPECT_TRUE(Eventually([&] {
    grpc::ClientContext again;
    return open(&again).first;
  }));
}

// The streams send nothing, or are cancelled immediately.
TEST(Port, StreamsThatSayNothingKeepNobodyOut) {
  TestServer server([](ServerConfig* config) { config->max_streams = 2; });
  struct Silent {
    explicit Silent(TestServer& server) : stream(server.scheduler->Crawl(&call)) {}
    ~Silent() {
      if (!over) call.TryCancel();
      if (!over) (void)stream->Finish();
    }
    grpc::ClientContext call;
    std::unique_ptr<grpc::ClientReaderWriter<v1::CrawlRequest, v1::CrawlResponse>> stream;
    bool over = false;
  };
  httplib::Client http("http://" + server.info.http_address);
  const auto shows = [&](const std::string& metric) {
    return Eventually([&] {
      const auto metrics = http.Get("/metrics");
      return metrics && metrics->body.find("\n" + metric + "\n") != std::string::npos;
    });
  };
  std::vector<std::unique_ptr<Silent>> silent;
  for (const std::string streams : {"1", "2"}) {
    silent.push_back(std::make_unique<Silent>(server));
    EXPECT_TRUE(shows("freshet_streams " + streams));
  }
  TestWorker first(server, "first");
  TestWorker second(server, "second");
  v1::CrawlResponse response;
  EXPECT_FALSE(silent[0]->stream->Read(&response));
  const grpc::Status status = silent[0]->stream->Finish();
  silent[0]->over = true;
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("were opened later have said nothing"));
  EXPECT_TRUE(shows("freshet_streams_refused_total 1"));
}

// The client holds back streams over the limit until one of its calls ends.
TEST(Port, HoldsBackStreamsOfOneConnectionBeyondItsShare) {
  TestServer server([](ServerConfig* config) { config->max_streams_per_connection = 1; });
  auto worker = std::make_unique<TestWorker>(server);
  grpc::ClientContext call;
  call.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  v1::ListSourcesResponse response;
  EXPECT_EQ(server.admin->ListSources(&call, {}, &response).error_code(),
            grpc::StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(ListSources(OwnChannel(server.info.grpc_address)).ok());
  EXPECT_TRUE(worker->End().ok());
  EXPECT_TRUE(ListSources(server.channel).ok());
}

TEST(Port, EveryServiceHasAHealthOfItsOwn) {
  TestServer server;
  for (const std::string service : {"", "freshet.v1.SchedulerService", "freshet.v1.IngestService",
                                    "freshet.v1.PagesService", "freshet.v1.AdminService"}) {
    EXPECT_EQ(HealthOf(server, service), 1) << service;
  }
  EXPECT_EQ(HealthOf(server, "freshet.v1.NoService"), -1);
}

constexpr const char* kReflection =
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo";

TEST(Port, TellsItsServicesByReflection) {
  TestServer server;
  RawStream stream(server, kReflection);
  EXPECT_THAT(stream.ExchangeBytes(std::string("\x3a\0", 2)), HasSubstr("freshet.v1.PagesService"));
}

TEST(Port, ShowsItsMessagesByReflection) {
  using grpc::reflection::v1alpha::ServerReflectionRequest;
  using grpc::reflection::v1alpha::ServerReflectionResponse;
  TestServer server;
  RawStream stream(server, kReflection);
  const auto ask = [&stream](const ServerReflectionRequest& request) {
    auto response = stream.Exchange<ServerReflectionResponse>(request.SerializeAsString());
    EXPECT_EQ(response.original_request().SerializeAsString(), request.SerializeAsString());
    return response;
  };
  ServerReflectionRequest request;
  request.set_host("a");
  request.set_file_containing_symbol("freshet.v1.PagesService.GetPage");
  const ServerReflectionResponse found = ask(request);
  EXPECT_EQ(found.valid_host(), "a");
  // The file itself comes first, then its imports.
  ASSERT_GE(found.file_descriptor_response().file_descriptor_proto_size(), 2);
  EXPECT_THAT(found.file_descriptor_response().file_descriptor_proto(0),
              HasSubstr("freshet/v1/pages.proto"));
  request.set_file_by_filename("freshet/v1/pages.proto");
  EXPECT_EQ(ask(request).file_descriptor_response().SerializeAsString(),
            found.file_descriptor_response().SerializeAsString());
  request.set_all_extension_numbers_of_type("freshet.v1.Page");
  EXPECT_EQ(ask(request).all_extension_numbers_response().base_type_name(), "freshet.v1.Page");
  for (const char* nothing : {"", "nowhere", "freshet.v1.", "."}) {
    request.set_file_containing_symbol(nothing);
    EXPECT_EQ(ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND) << nothing;
    request.set_all_extension_numbers_of_type(nothing);
    EXPECT_EQ(ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND) << nothing;
    request.mutable_file_containing_extension()->set_containing_type(nothing);
    EXPECT_EQ(ask(request).error_response().error_code(), grpc::StatusCode::NOT_FOUND) << nothing;
  }
  request.clear_message_request();
  EXPECT_EQ(ask(request).error_response().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

size_t ThreadsOfProcess() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return static_cast<size_t>(std::distance(begin(threads), end(threads)));
}

TEST(Port, StreamsOfReflectionHoldNoThreads) {
  TestServer server([](ServerConfig* config) {
    config->max_streams = 200;
    config->max_streams_per_client = 90;
  });
  const size_t before = ThreadsOfProcess();
  std::vector<std::unique_ptr<RawStream>> streams;
  for (int i = 0; i < 90; ++i) {
    streams.push_back(std::make_unique<RawStream>(server, kReflection));
    (void)streams.back()->ExchangeBytes(std::string("\x3a\0", 2));
  }
  EXPECT_LT(ThreadsOfProcess(), before + 45);
  // Reflection calls count against the limits of streams.
  EXPECT_EQ(CallRaw(server, kReflection, std::string("\x3a\0", 2)).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
}

// --- Peers that have disappeared

// A client that never answers a ping is treated as gone.
TEST(Keepalive, ClosesAConnectionThatDoesNotAnswer) {
  TestServer server([](ServerConfig* config) {
    config->keepalive_interval = config->keepalive_timeout = Duration::Millis(100);
  });
  const RawSocket silent(server.info.grpc_address);
  EXPECT_TRUE(silent.Send(RawSocket::Http2Preface()));
  bool closed = false;
  (void)silent.Read(&closed);
  EXPECT_TRUE(closed);
}

// The connection stays open, but no bytes pass any more.
TEST(Keepalive, NoticesAWorkerInABlackHole) {
  TestServer server([](ServerConfig* config) {
    config->keepalive_interval = config->keepalive_timeout = Duration::Millis(200);
  });
  server.UpsertMany(20);
  Relay relay(server.info.grpc_address);
  const std::unique_ptr<v1::SchedulerService::Stub> stub =
      v1::SchedulerService::NewStub(OwnChannel(relay.address()));
  grpc::ClientContext call;
  const auto stream = stub->Crawl(&call);
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker("lost");
  v1::CrawlResponse response;
  ASSERT_TRUE(stream->Write(hello));
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(server.Statistics().server().workers(), 1u);
  relay.SwallowAll();
  EXPECT_TRUE(Eventually([&] { return server.Statistics().server().workers() == 0; }));
  call.TryCancel();
}

// Many real clients ping every ten seconds, which is less often than the server tolerates.
TEST(Keepalive, PutsUpWithClientsThatPingWithoutACall) {
  TestServer server;
  grpc::ChannelArguments arguments;
  // gRPC clients ping once a second at most.
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 1100);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 60'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  const auto channel = OwnChannel(server.info.grpc_address, arguments);
  ASSERT_TRUE(ListSources(channel).ok());
  // During this time, the client sends six pings. A server that allows only one in five minutes
  // would close the connection.
  const auto until = std::chrono::system_clock::now() + std::chrono::milliseconds(6800);
  EXPECT_FALSE(channel->WaitForStateChange(GRPC_CHANNEL_READY, until));
  EXPECT_EQ(channel->GetState(false), GRPC_CHANNEL_READY);
}

}  // namespace
}  // namespace freshet
