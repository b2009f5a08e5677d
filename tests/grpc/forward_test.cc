// Tests forwarding for all kinds of calls. The serving server must answer a forwarded call as if
// the client had called that server directly. Every call is forwarded on behalf of the client that
// made it.
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <map>
#include <sstream>
#include <thread>

#include "core/schedule/followed_changes.h"
#include "server/auth/on_behalf.h"
#include "server/forward/forwarder.h"
#include "server/forward/peer_lines.h"
#include "server/ports/watched_reads.h"
#include "tests/grpc/front.h"
#include "tests/grpc/guarded_server.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using grpc::StatusCode;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

TEST(ServingPeerTest, IsOneTextAndBack) {
  const ServingPeer peer = {.address = "[2001:db8::1]:7071", .key = std::string("\0\xff z", 4)};
  EXPECT_EQ(ParseAnnouncement(AnnouncementOf(peer)), peer);
  for (const char* text :
       {"", "freshet1", "freshet1 ", "freshet1 a:1", "freshet1 a:1 ", "freshet1 a:1 0",
        "freshet1 a:1 0x", "freshet1  00", "freshet2 a:1 00"}) {
    EXPECT_FALSE(ParseAnnouncement(text)) << text;
  }
}

// Makes a call with one extra header in raw HTTP/2. Waits for the answer, at most a second for each
// read.
void RawHeaders(const std::string& address, const std::string& path, const std::string& name,
                const std::string& value) {
  const auto frame = [](char type, char flags, char stream, const std::string& payload) {
    const auto size = static_cast<uint32_t>(payload.size());
    std::string out = {static_cast<char>(size >> 16), static_cast<char>(size >> 8),
                       static_cast<char>(size)};
    return out + type + flags + std::string(3, '\0') + stream + payload;
  };
  const auto literal = [](const std::string& key, const std::string& text) {
    return std::string(1, '\0') + static_cast<char>(key.size()) + key +
           static_cast<char>(text.size()) + text;
  };
  const std::string headers = literal(":method", "POST") + literal(":scheme", "http") +
                              literal(":path", path) + literal(":authority", "x") +
                              literal("content-type", "application/grpc") +
                              literal("te", "trailers") + literal(name, value);
  const std::string bytes = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, "") +
                            frame(1, 4, 1, headers) + frame(0, 1, 1, std::string(5, '\0'));
  const int plug = socket(AF_INET, SOCK_STREAM, 0);
  const timeval patience = {.tv_sec = 1, .tv_usec = 0};
  setsockopt(plug, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(std::stoi(address.substr(address.rfind(':') + 1))));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(plug, reinterpret_cast<const sockaddr*>(&to), sizeof(to)), 0);
  ASSERT_EQ(send(plug, bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
  std::array<char, 4096> answer{};
  // Reads the settings of the server, then the end of the call.
  for (int i = 0; i < 3 && recv(plug, answer.data(), answer.size(), 0) > 0; ++i) continue;
  close(plug);
}

grpc::Status GetRate(TestServer& server, grpc::ClientContext* call) {
  v1::GetCrawlRateResponse response;
  return server.admin->GetCrawlRate(call, {}, &response);
}
grpc::Status GetRate(TestServer& server) {
  grpc::ClientContext call;
  return GetRate(server, &call);
}

// Returns true if a call gets no answer for 300 ms.
bool ACallWaits(TestServer& server) {
  grpc::ClientContext call;
  call.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(300));
  return GetRate(server, &call).error_code() == StatusCode::DEADLINE_EXCEEDED;
}

// An open stream of a worker. The constructor says hello and reads the welcome.
struct Worker {
  explicit Worker(TestServer& server) : stream(server.scheduler->Crawl(&context)) {
    v1::CrawlRequest hello;
    hello.mutable_hello()->set_worker("w");
    EXPECT_TRUE(stream->Write(hello));
    v1::CrawlResponse welcome;
    EXPECT_TRUE(stream->Read(&welcome));
    EXPECT_EQ(welcome.notice().kind(), v1::NOTICE_KIND_WELCOME);
  }
  // Reads to the end of the stream.
  grpc::Status End() {
    v1::CrawlResponse response;
    while (stream->Read(&response)) continue;
    return stream->Finish();
  }
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReaderWriter<v1::CrawlRequest, v1::CrawlResponse>> stream;
};

// Tests in which calls made through the stubs of `server` go through the front.
class ForwardTest : public testing::Test {
 protected:
  explicit ForwardTest(const TestServer::Tweak& tweak = {}) {
    ServerConfig config = server.config;
    if (tweak) tweak(&config);
    front = std::make_unique<Front>(config);
    front->Follow(server.info.grpc_address);
    server.Use(OwnChannel(front->address));
  }
  ~ForwardTest() override { front->Stop(); }

  TestServer server;
  std::unique_ptr<Front> front;
};

TEST_F(ForwardTest, CallsAndStreamsAreAnsweredByTheOneThatServes) {
  server.UpsertMany(2500);
  EXPECT_EQ(server.Statistics().pages().pages(), 2500U);
  const v1::NextResponse next = server.Next(5);
  ASSERT_GT(next.assignments_size(), 0);
  const v1::Assignment& page = next.assignments(0);
  v1::CrawlResult result;
  result.set_lease_id(page.lease_id());
  result.set_url(page.url());
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  result.set_http_status(200);
  EXPECT_THAT(Described(server.Report(result)), IsEmpty());
  EXPECT_FALSE(server.Get(page.url()).page().has_lease());

  v1::ListPagesRequest all;
  v1::ListPagesResponse part;
  grpc::ClientContext listing;
  const auto pages = server.pages->ListPages(&listing, all);
  size_t listed = 0;
  while (pages->Read(&part)) listed += static_cast<size_t>(part.pages_size());
  EXPECT_TRUE(pages->Finish().ok());
  EXPECT_EQ(listed, 2500U);
  EXPECT_TRUE(Eventually([&] { return front->counters.open == 0; }));
  EXPECT_EQ(front->counters.refused, 0U);
}

TEST_F(ForwardTest, ErrorsMetadataAndDeadlinesComeThrough) {
  grpc::ClientContext call;
  call.AddMetadata("x-request-id", "of-a-client");
  // This name is so short that gRPC sends the value as text. But when gRPC reads the value, it
  // decodes it as binary: 00 ff 00.
  call.AddMetadata("-bin", "AP8A");
  ASSERT_TRUE(GetRate(server, &call).ok());
  const auto ids = call.GetServerInitialMetadata().equal_range("x-request-id");
  ASSERT_NE(ids.first, ids.second);
  EXPECT_EQ(std::string(ids.first->second.data(), ids.first->second.size()), "of-a-client");

  // Forwarding this much metadata would end the connection that all forwarded calls share.
  grpc::ClientContext large;
  large.AddMetadata("x-large", std::string(7600, 'x'));
  const grpc::Status refused = GetRate(server, &large);
  EXPECT_EQ(refused.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("metadata: the call would have "));

  v1::GetPageRequest request;
  request.set_url("http://unknown.test/");
  v1::GetPageResponse response;
  grpc::ClientContext unknown;
  const grpc::Status status = server.pages->GetPage(&unknown, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND);
  EXPECT_THAT(status.error_message(), HasSubstr("is not known"));

  v1::NextRequest next;
  ToProto(Duration::Seconds(50), next.mutable_max_wait());
  v1::NextResponse nothing;
  grpc::ClientContext hasty;
  hasty.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(200));
  EXPECT_EQ(server.scheduler->Next(&hasty, next, &nothing).error_code(),
            StatusCode::DEADLINE_EXCEEDED);
  EXPECT_TRUE(Eventually([&] { return front->counters.open == 0; }));
}

TEST_F(ForwardTest, AMessageThatIsCompressedIsInflatedWhereItIsRead) {
  v1::UpsertPagesRequest request;
  for (int i = 0; i < 1000; ++i) request.add_pages()->set_url(TestServer::Url(i));
  grpc::ClientContext call;
  call.set_compression_algorithm(GRPC_COMPRESS_GZIP);
  const auto stream = server.pages->UpsertPages(&call);
  const auto response = TestServer::Exchange<v1::UpsertPagesResponse>(*stream, request);
  EXPECT_THAT(Described(response.ack()), IsEmpty());
  EXPECT_EQ(server.Statistics().pages().pages(), 1000U);
}

TEST_F(ForwardTest, AClientThatGoesAwayIsGoneThereAsWell) {
  Worker worker(server);
  EXPECT_EQ(server.Statistics().server().workers(), 1U);
  worker.context.TryCancel();
  EXPECT_EQ(worker.End().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(Eventually([&] { return server.Statistics().server().workers() == 0; }));
  EXPECT_TRUE(Eventually([&] { return front->counters.open == 0; }));
}

TEST_F(ForwardTest, WhenTheServerEndsSoDoItsStreamsRetryable) {
  Worker worker(server);
  EXPECT_TRUE(server.Stop().ok());
  EXPECT_EQ(worker.End().error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(ForwardTest, CallsWaitForSomebodyToServe) {
  server.UpsertMany(5);
  front->FollowNobody();
  EXPECT_TRUE(Eventually([&] { return ACallWaits(server); }));
  std::thread later([this] {
    LetPass(Duration::Millis(300));
    front->Follow(server.info.grpc_address);
  });
  EXPECT_TRUE(GetRate(server).ok());
  later.join();
}

// Calls end while the front starts to forward them.
TEST_F(ForwardTest, CallsMayGiveUpWhileSomebodyBeginsToServe) {
  struct Call {
    grpc::ClientContext context;
    v1::GetCrawlRateResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::GetCrawlRateResponse>> reader;
  };
  constexpr size_t kCalls = 300;
  for (int round = 0; round < 4; ++round) {
    front->FollowNobody();
    LetPass(Duration::Millis(600));
    grpc::CompletionQueue queue;
    std::vector<std::unique_ptr<Call>> calls;
    const auto start = std::chrono::system_clock::now();
    for (size_t i = 0; i < kCalls; ++i) {
      calls.push_back(std::make_unique<Call>());
      Call& call = *calls.back();
      // The deadlines are spread over the time between two checks of the peer.
      call.context.set_deadline(start + std::chrono::milliseconds(1 + i * 700 / kCalls));
      call.reader = server.admin->AsyncGetCrawlRate(&call.context, {}, &queue);
      call.reader->Finish(&call.response, &call.status, &call);
    }
    front->Follow(server.info.grpc_address);
    for (size_t i = 0; i < kCalls; ++i) {
      void* tag = nullptr;
      bool ok = false;
      ASSERT_TRUE(queue.Next(&tag, &ok));
    }
    for (const auto& call : calls) {
      EXPECT_TRUE(call->status.ok() || call->status.error_code() == StatusCode::DEADLINE_EXCEEDED)
          << call->status.error_message();
    }
    queue.Shutdown();
  }
  EXPECT_TRUE(Eventually([&] { return front->counters.open == 0; }));
  EXPECT_TRUE(GetRate(server).ok());
}

TEST_F(ForwardTest, OpenStreamsOutliveThatNobodyServesButNotThatAnotherDoes) {
  Worker worker(server);
  front->FollowNobody();
  EXPECT_TRUE(Eventually([&] { return ACallWaits(server); }));
  v1::CrawlRequest refused;
  ASSERT_TRUE(worker.stream->Write(refused));
  v1::CrawlResponse response;
  ASSERT_TRUE(worker.stream->Read(&response));
  EXPECT_EQ(response.notice().kind(), v1::NOTICE_KIND_REFUSED);

  TestServer other;
  front->Follow(other.info.grpc_address);
  const grpc::Status status = worker.End();
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("another server of the cluster serves now"));
  EXPECT_EQ(front->counters.dropped, 1U);
  other.UpsertMany(7);
  EXPECT_EQ(server.Statistics().pages().pages(), 7U);
}

TEST_F(ForwardTest, AServerThatIsNotReachedIsWaitedForAndThenGivenUp) {
  front->Follow("127.0.0.1:1");
  EXPECT_TRUE(Eventually([&] { return ACallWaits(server); }));
  const grpc::Status status = GetRate(server);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_THAT(status.error_message(), HasSubstr("cannot be reached"));
}

TEST_F(ForwardTest, AClientThatDoesNotListenIsCutOffOnceAnotherServes) {
  server.UpsertMany(20'000);
  // By default, gRPC reads much more than the client asks for. These settings prevent this.
  grpc::ChannelArguments narrow;
  narrow.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
  narrow.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 1 << 14);
  server.Use(OwnChannel(front->address, narrow));
  grpc::ClientContext context;
  const auto deaf = server.pages->ExportPages(&context, {});
  // Leaves time for the unread pages to fill the window.
  LetPass(Duration::Millis(300));
  EXPECT_EQ(front->counters.open, 1U);
  TestServer other;
  front->Follow(other.info.grpc_address);
  EXPECT_TRUE(Eventually([&] { return front->counters.open == 0; }));
  v1::ExportPagesResponse part;
  while (deaf->Read(&part)) continue;
  EXPECT_FALSE(deaf->Finish().ok());
}

// A gRPC server accepts metadata like this. A gRPC client does not send it, so the front cannot
// forward it.
TEST_F(ForwardTest, MetadataThatCannotBeSentOnIsLeftOut) {
  const std::vector<std::pair<std::string, std::string>> odd = {
      {"x-foo", "\xff\x01"}, {"x-a", std::string("a\0b", 3)},
      {"x-b", "a\nb"},       {"x!foo", "a"},
      {"X-Foo", "a"},        {"", "a"},
      {":x", "a"},           {"x-c", ""}};
  for (const auto& [name, value] : odd) {
    RawHeaders(front->address, "/freshet.v1.AdminService/GetCrawlRate", name, value);
    EXPECT_TRUE(GetRate(server).ok()) << name;
  }
  // There are odd.size() plain calls. So calls with odd headers were forwarded, too.
  EXPECT_GT(front->counters.forwarded, odd.size());
}

TEST_F(ForwardTest, WhatWasForwardedOnceIsNotForwardedAgain) {
  // Two servers can each believe that the other one serves. If a forwarded call could be forwarded
  // again, they would forward it to each other for ever.
  Front second(server.config);
  second.Follow(front->address);
  server.Use(OwnChannel(second.address));
  const grpc::Status status = GetRate(server);
  EXPECT_EQ(status.error_code(), StatusCode::UNAVAILABLE) << status.error_message();
}

TEST_F(ForwardTest, CallsThatSayNothingAreNotSentOn) {
  std::array<grpc::ClientContext, 20> contexts;
  std::vector<std::unique_ptr<grpc::ClientReaderWriter<v1::CrawlRequest, v1::CrawlResponse>>> calls;
  for (grpc::ClientContext& context : contexts) calls.push_back(server.scheduler->Crawl(&context));
  EXPECT_TRUE(Eventually([&] { return front->counters.open == contexts.size(); }));
  for (grpc::ClientContext& context : contexts) context.TryCancel();
  for (const auto& call : calls) EXPECT_EQ(call->Finish().error_code(), StatusCode::CANCELLED);
  EXPECT_TRUE(Eventually([&] { return front->counters.open == 0; }));
  EXPECT_EQ(front->counters.forwarded, 0U);
  // Closing without a message also counts as sending something, so the call is forwarded.
  grpc::ClientContext context;
  const auto nothing = server.pages->UpsertPages(&context);
  EXPECT_TRUE(nothing->WritesDone());
  EXPECT_TRUE(nothing->Finish().ok());
  EXPECT_EQ(front->counters.forwarded, 1U);
}

// All calls share one connection to the serving server.
TEST_F(ForwardTest, CallsThatAreTakenBackLeaveThoseOfOthersAlone) {
  Worker worker(server);
  const uint64_t cut = ConnectionsCut();
  // In total, the test cancels more calls than a client may cancel on one connection
  // (FrameLimits::resets). So each round opens a new connection to the front.
  const auto most = static_cast<size_t>(2 * server.config.max_streams_per_connection);
  constexpr size_t kAtOnce = 500;
  v1::NextRequest request;
  request.set_max_assignments(1);
  ToProto(Duration::Seconds(50), request.mutable_max_wait());
  struct Call {
    grpc::ClientContext context;
    v1::NextResponse response;
    grpc::Status status;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1::NextResponse>> reader;
  };
  for (size_t sent = 0; sent <= most;) {
    server.Use(OwnChannel(front->address));
    grpc::CompletionQueue queue;
    std::vector<std::unique_ptr<Call>> calls;
    const uint64_t before = front->counters.forwarded;
    for (size_t i = 0; i < kAtOnce; ++i, ++sent) {
      Call& call = *calls.emplace_back(std::make_unique<Call>());
      request.set_worker("w" + std::to_string(i));
      call.reader = server.scheduler->AsyncNext(&call.context, request, &queue);
      call.reader->Finish(&call.response, &call.status, &call);
    }
    EXPECT_TRUE(Eventually([&] { return front->counters.forwarded == before + kAtOnce; }));
    for (const auto& call : calls) call->context.TryCancel();
    for (size_t i = 0; i < kAtOnce; ++i) {
      void* tag = nullptr;
      bool ok = false;
      ASSERT_TRUE(queue.Next(&tag, &ok));
    }
    queue.Shutdown();
  }
  EXPECT_TRUE(Eventually([&] { return front->counters.open == 1; }));
  EXPECT_EQ(ConnectionsCut(), cut);
  v1::CrawlRequest refused;
  ASSERT_TRUE(worker.stream->Write(refused));
  v1::CrawlResponse response;
  ASSERT_TRUE(worker.stream->Read(&response));
  EXPECT_EQ(response.notice().kind(), v1::NOTICE_KIND_REFUSED);
  worker.context.TryCancel();
  (void)worker.End();
}

TEST_F(ForwardTest, OfAMethodThatTakesOneMessageNoOtherIsRead) {
  using Factory = grpc::internal::ClientReaderWriterFactory<v1::NextRequest, v1::NextResponse>;
  const grpc::internal::RpcMethod method("/freshet.v1.SchedulerService/Next",
                                         grpc::internal::RpcMethod::BIDI_STREAMING);
  v1::NextRequest request;
  request.set_worker("w");
  request.set_max_assignments(1);
  ToProto(Duration::Seconds(50), request.mutable_max_wait());
  grpc::ClientContext context;
  const std::unique_ptr<grpc::ClientReaderWriter<v1::NextRequest, v1::NextResponse>> call(
      Factory::Create(server.channel.get(), method, &context));
  ASSERT_TRUE(call->Write(request));
  EXPECT_TRUE(Eventually([&] { return front->counters.forwarded == 1; }));
  std::atomic<bool> taken{false};
  std::thread writer([&] {
    request.set_worker(std::string(4 << 20, 'w'));
    taken = call->Write(request);
  });
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(GetRate(server).ok());
  EXPECT_FALSE(taken);
  context.TryCancel();
  writer.join();
  EXPECT_EQ(call->Finish().error_code(), StatusCode::CANCELLED);
}

class CrampedForwardTest : public ForwardTest {
 protected:
  CrampedForwardTest()
      : ForwardTest([](ServerConfig* config) {
          config->max_streams = 3;
          config->max_streams_per_connection = 1;
          config->max_streams_per_client = 2;
        }) {}
};

TEST_F(CrampedForwardTest, OneCallTooManyIsRefusedAndTheOthersGoOn) {
  // The front also limits each client connection to one call at a time. So each call here uses a
  // new connection.
  std::array<std::unique_ptr<Worker>, 2> workers;
  for (auto& worker : workers) {
    server.Use(OwnChannel(front->address));
    worker = std::make_unique<Worker>(server);
  }
  const auto one_more = [&] {
    server.Use(OwnChannel(front->address));
    grpc::ClientContext context;
    const auto stream = server.pages->ListPages(&context, {});
    v1::ListPagesResponse response;
    while (stream->Read(&response)) continue;
    return stream->Finish();
  };
  const grpc::Status status = one_more();
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("2 streams of this client are open"));
  EXPECT_EQ(front->counters.refused, 1U);
  // Unary calls are limited separately.
  server.Use(OwnChannel(front->address));
  EXPECT_TRUE(GetRate(server).ok());
  workers[0]->context.TryCancel();
  (void)workers[0]->End();
  EXPECT_TRUE(Eventually([&] { return one_more().ok(); }));
  workers[1]->context.TryCancel();
  (void)workers[1]->End();
}

TEST_F(CrampedForwardTest, WhoHasSaidNothingForTheLongestMakesRoom) {
  struct Silent {
    explicit Silent(TestServer& server) : stream(server.scheduler->Crawl(&context)) {}
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::CrawlRequest, v1::CrawlResponse>> stream;
  };
  std::vector<std::unique_ptr<Silent>> silent;
  for (uint64_t i = 1; i <= 4; ++i) {
    server.Use(OwnChannel(front->address));
    silent.push_back(std::make_unique<Silent>(server));
    EXPECT_TRUE(Eventually(
        [&] { return i < 4 ? front->counters.open == i : front->counters.refused == 1; }));
  }
  const grpc::Status status = silent.front()->stream->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("have said nothing either"));
  // Silent calls do not keep out a client that sends something.
  server.Use(OwnChannel(front->address));
  EXPECT_TRUE(GetRate(server).ok());
  for (const auto& call : silent) call->context.TryCancel();
}

TEST(PeerLinesTest, HaveEachAsManyCallsAsOneMayAndAreNoMoreThanTheyMayBe) {
  ServerConfig config;
  config.max_streams_per_connection = 2;
  SystemClock clock;
  const StatusOr<std::unique_ptr<Door>> door = Door::Open(config, clock);
  ASSERT_TRUE(door.ok()) << door.status();
  const ServingPeer peer = {.address = "127.0.0.1:1", .key = "key"};
  PeerLines lines(config, **door);
  std::map<PeerLine*, int> found;
  for (size_t i = 0; i < 2 * PeerLines::kMost; ++i) {
    const StatusOr<PeerLine*> line = lines.Find(peer);
    ASSERT_TRUE(line.ok()) << line.status();
    ++(*line)->calls;
    ++found[*line];
  }
  EXPECT_THAT(found, SizeIs(PeerLines::kMost));
  EXPECT_THAT(found, Each(Pair(testing::_, 2)));
  EXPECT_TRUE(absl::IsResourceExhausted(lines.Find(peer).status()));
  PeerLine* const first = found.begin()->first;
  --first->calls;
  EXPECT_EQ(lines.Find(peer).value(), first);
  lines.Drop([](const PeerLine&) { return true; });
  EXPECT_TRUE(lines.all().empty());
  EXPECT_TRUE(lines.Find(peer).ok());
}

// --- Limits on messages and answers that nobody reads

class HeldForwardTest : public testing::Test {
 protected:
  static constexpr size_t kHeld = 1 << 20;       // maximum number of bytes of waiting messages
  static constexpr size_t kMessage = 400 << 10;  // more than a client's share

  HeldForwardTest() : server_(Identities()) {
    ServerConfig config = server_->config;
    config.cluster.tls_ca = server_.path("ca.pem");
    config.max_unacked_bytes = kHeld;
    config.list_write_timeout = Duration::Seconds(1);
    front_ = std::make_unique<Front>(config);
    front_->Follow(server_->info.grpc_address);
    server_->info.grpc_address = front_->address;
  }
  ~HeldForwardTest() override {
    for (const auto& stream : streams_) stream->context.TryCancel();
    front_->Stop();
  }

  static GuardedServer::Written Identities() {
    GuardedServer::Written all = {{"one", "    roles: [ingester]\n    items_per_second: 1\n"},
                                  {"two", "    roles: [ingester]\n    items_per_second: 1\n"},
                                  {"loader", "    roles: [ingester]\n"},
                                  {"reader", "    roles: [reader]\n"}};
    for (int i = 0; i < kReaders; ++i) {
      all.emplace_back("reader" + std::to_string(i), "    roles: [reader]\n");
    }
    return all;
  }
  static constexpr int kReaders = 12;

  struct Stream {
    explicit Stream(const std::shared_ptr<grpc::Channel>& channel)
        : stream(v1::PagesService::NewStub(channel)->UpsertPages(&context)) {}
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1::UpsertPagesRequest, v1::UpsertPagesResponse>>
        stream;
  };
  // Uses up the client's item rate, so that its next messages wait unread.
  void Spend(const std::string& name) {
    v1::UpsertPagesRequest request;
    for (int i = 0; i < 1000; ++i) request.add_pages()->set_url(TestServer::Url(i));
    Stream spent(server_.Open(server_.Token(name)));
    v1::UpsertPagesResponse response;
    EXPECT_TRUE(spent.stream->Write(request) && spent.stream->Read(&response));
    spent.context.TryCancel();
    (void)spent.stream->Finish();
  }
  // An export of 5 MB that the client does not read.
  struct Export {
    explicit Export(const std::shared_ptr<grpc::Channel>& channel)
        : stream(v1::PagesService::NewStub(channel)->ExportPages(&context, {})) {}
    ~Export() { context.TryCancel(); }
    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReader<v1::ExportPagesResponse>> stream;
  };
  void Load() {
    Stream load(server_.Open(server_.Token("loader")));
    v1::UpsertPagesResponse response;
    for (int batch = 0; batch < 5; ++batch) {
      v1::UpsertPagesRequest request;
      for (int i = 0; i < 1000; ++i) {
        request.add_pages()->set_url(TestServer::Url(1000 * batch + i) + std::string(1000, 'x'));
      }
      EXPECT_TRUE(load.stream->Write(request) && load.stream->Read(&response));
    }
    load.context.TryCancel();
    (void)load.stream->Finish();
  }
  // Sends a large message that the server does not read yet.
  Stream& Send(const std::string& name) {
    v1::UpsertPagesRequest request;
    request.add_pages()->set_url(std::string(kMessage, 'x'));
    streams_.push_back(std::make_unique<Stream>(server_.Open(server_.Token(name))));
    EXPECT_TRUE(streams_.back()->stream->Write(request));
    return *streams_.back();
  }
  static grpc::Status End(Stream& stream) {
    v1::UpsertPagesResponse response;
    while (stream.stream->Read(&response)) continue;
    return stream.stream->Finish();
  }

  GuardedServer server_;
  std::unique_ptr<Front> front_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

TEST_F(HeldForwardTest, AClientPastItsShareStopsNobodyElse) {
  Spend("one");
  const uint64_t before = front_->counters.forwarded;
  // The first message alone uses up the client's share. There is room for two more messages.
  for (int i = 0; i < 3; ++i) Send("one");
  EXPECT_TRUE(Eventually([&] { return front_->counters.forwarded == before + 3; }));
  const grpc::Status status = End(Send("one"));
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("too many messages of this client"));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(WhoAmI(server_.Open(server_.Token("reader"))), 0);
}

TEST_F(HeldForwardTest, WhatIsNotTakenEndsWhenOthersNeedItsRoom) {
  Spend("one");
  Spend("two");
  const uint64_t before = front_->counters.forwarded;
  Stream& idle = Send("one");
  EXPECT_TRUE(Eventually([&] { return front_->counters.forwarded == before + 1; }));
  for (int i = 0; i < 2; ++i) Send("two");
  const grpc::Status status = End(idle);
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("others need its room"));
}

TEST_F(HeldForwardTest, AnswersThatClientsDoNotTakeHaveAShareAndAnEnd) {
  Load();
  std::vector<std::unique_ptr<Export>> exports;
  const auto open = [&](const std::string& name) {
    exports.push_back(std::make_unique<Export>(server_.Open(server_.Token(name))));
  };
  for (int i = 0; i < 3; ++i) open("reader");
  EXPECT_TRUE(Eventually([&] { return front_->answer_bytes() > kHeld / 4; }));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(WhoAmI(server_.Open(server_.Token("loader"))), 0);
  EXPECT_LE(front_->answer_bytes(), 3 * kHeld / 8);
  EXPECT_EQ(front_->counters.refused, 0U) << "nobody else needs the room";
  // Exports are accepted until there is no room left for a new client. After that, exports whose
  // clients read nothing are ended.
  for (int i = 0; i < kReaders; ++i) open("reader" + std::to_string(i));
  EXPECT_TRUE(Eventually([&] { return front_->counters.refused > 0; }));
  EXPECT_TRUE(Eventually([&] { return WhoAmI(server_.Open(server_.Token("loader"))) == 0; }));
}

// --- On whose behalf calls are made

// A front with TLS and identities, like the server that it forwards to.
class GuardedForwardTest : public testing::Test {
 protected:
  GuardedForwardTest()
      : server_({{"reader", "    roles: [reader]\n"}, {"admin", "    roles: [admin]\n"}}) {
    ServerConfig config = server_->config;
    config.cluster.tls_ca = server_.path("ca.pem");
    front_ = std::make_unique<Front>(config);
    front_->Follow(server_->info.grpc_address);
  }
  ~GuardedForwardTest() override { front_->Stop(); }

  std::shared_ptr<grpc::Channel> Open(const Showing& showing) {
    const std::string own = server_->info.grpc_address;
    server_->info.grpc_address = front_->address;
    auto channel = server_.Open(showing);
    server_->info.grpc_address = own;
    return channel;
  }
  static std::string Name(const std::shared_ptr<grpc::Channel>& channel) {
    v1::WhoAmIResponse response;
    const StatusCode code = WhoAmI(channel, &response);
    return code == StatusCode::OK ? response.identity() : "code " + std::to_string(code);
  }

  GuardedServer server_;
  std::unique_ptr<Front> front_;
};

TEST_F(GuardedForwardTest, AClientIsWhoItIsByTokenAndByCertificate) {
  EXPECT_EQ(Name(Open(server_.Token("reader"))), "reader");
  EXPECT_EQ(Name(Open(server_.Certificate("admin"))), "admin");
  EXPECT_EQ(Name(Open({})), "code 16");
  EXPECT_EQ(Name(Open({.token = "of-nobody"})), "code 16");
  server_->Use(Open(server_.Token("reader")));
  v1::SetCrawlRateRequest request;
  request.set_crawl_rate_per_second(1);
  v1::SetCrawlRateResponse response;
  grpc::ClientContext call;
  EXPECT_EQ(server_->admin->SetCrawlRate(&call, request, &response).error_code(),
            StatusCode::PERMISSION_DENIED);
}

TEST_F(GuardedForwardTest, NobodySaysItselfOnWhoseBehalfItComes) {
  for (const bool forwarded : {false, true}) {
    const Showing reader = server_.Token("reader");
    auto channel = forwarded ? Open(reader) : server_.Open(reader);
    for (const char* key : {"", "a key of nobody"}) {
      grpc::ClientContext call;
      if (*key != '\0') call.AddMetadata("freshet-inside-bin", key);
      call.AddMetadata("freshet-authorization-bin", "Bearer admin-token");
      call.AddMetadata("freshet-certificate", "1");
      call.AddMetadata("freshet-name-bin", "admin.test");
      v1::WhoAmIResponse response;
      const grpc::Status status = v1::AuthService::NewStub(channel)->WhoAmI(&call, {}, &response);
      EXPECT_EQ(response.identity(), status.ok() ? "reader" : "");
    }
  }
}

TEST_F(GuardedForwardTest, TheAuditLogHasTheClient) {
  server_->Use(Open(server_.Token("admin")));
  v1::SetCrawlRateRequest request;
  request.set_crawl_rate_per_second(1);
  v1::SetCrawlRateResponse response;
  grpc::ClientContext call;
  ASSERT_TRUE(server_->admin->SetCrawlRate(&call, request, &response).ok());
  std::ostringstream text;
  text << std::ifstream(server_->config.data_dir + "/audit.jsonl").rdbuf();
  EXPECT_THAT(text.str(), HasSubstr(R"("who":"identity admin")"));
  EXPECT_THAT(text.str(), HasSubstr(R"("from":"127.0.0.1")"));
}

TEST_F(GuardedForwardTest, CertificatesMayBeRenewedAnyNumberOfTimes) {
  for (int i = 0; i < 10; ++i) {
    server_.WriteServerPair(server_.authority.Issue({.names = "IP:127.0.0.1"}));
    front_->Reload();
    ASSERT_EQ(Name(Open(server_.Token("reader"))), "reader") << i;
  }
}

TEST_F(GuardedForwardTest, ARunThatIsNoMoreIsNotTakenForSomebody) {
  front_->Follow(server_->info.grpc_address, "the key of an earlier run");
  EXPECT_TRUE(Eventually([&] {
    return Name(Open(server_.Token("reader"))) == "code " + std::to_string(StatusCode::UNAVAILABLE);
  }));
}

TEST_F(GuardedForwardTest, AServerThatIsNotOfTheAuthorityIsNotBelieved) {
  const TestAuthority other;
  ServerConfig config = server_->config;
  ReplaceFile(server_.path("other.pem"), other.certificate());
  config.cluster.tls_ca = server_.path("other.pem");
  Front front(config);
  front.Follow(server_->info.grpc_address);
  front_->Stop();
  const std::string own = std::exchange(server_->info.grpc_address, front.address);
  server_->Use(server_.Open(server_.Token("reader")));
  grpc::ClientContext call;
  call.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(2));
  EXPECT_FALSE(GetRate(*server_, &call).ok());
  server_->info.grpc_address = own;
}

TEST(Forwarder, NamesTheFileThatCannotBeRead) {
  GuardedServer server({});
  ServerConfig config = server->config;
  config.cluster.tls_ca = server.path("missing.pem");
  SystemClock clock;
  StatusOr<std::unique_ptr<Door>> door = Door::Open(config, clock);
  ASSERT_TRUE(door.ok()) << door.status();
  ForwardCounters counters;
  Forwarder forwarder(config, 10, **door, clock, counters,
                      [] { return StatusOr<std::optional<ServingPeer>>(std::nullopt); });
  const Status status = forwarder.Start().status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("cluster.tls_ca"));
}

}  // namespace
}  // namespace freshet
