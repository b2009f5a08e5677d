// Tests limits on the memory of calls of any method, and fairness among clients.
#include <atomic>
#include <deque>
#include <memory>
#include <thread>

#include "google/protobuf/wrappers.pb.h"
#include "server/api/call_reactor.h"
#include "server/api/wire.h"
#include "server/base/answer_limits.h"
#include "server/base/places.h"
#include "tests/grpc/frontier_client.h"
#include "tests/grpc/guarded_server.h"
#include "tests/grpc/raw_stream.h"
#include "tests/support/ahead_of_clock.h"

namespace freshet {
namespace {

using grpc::StatusCode;
using testing::HasSubstr;

constexpr const char* kWatch = "/grpc.health.v1.Health/Watch";
constexpr const char* kCheck = "/grpc.health.v1.Health/Check";

void WithFrontier(ServerConfig* config) { config->frontier_enabled = true; }

// Puts a batch of `count` URLs, each in a separate queue. The key of a queue is `prefix` and a
// number.
void PutQueues(FrontierClient& client, const std::string& crawl, const std::string& prefix,
               int count) {
  uf::DiscoveredBatch batch;
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    *batch.add_items() = Info("http://a.test/" + number, prefix + number, crawl);
  }
  (void)client.PutBatches({batch});
}

uf::QueueList ListQueues(FrontierClient& client, const std::string& crawl, uint32_t start) {
  uf::Pagination request;
  request.set_crawlid(crawl);
  request.set_start(start);
  request.set_size(UINT32_MAX);
  request.set_include_inactive(true);
  uf::QueueList list;
  grpc::ClientContext call;
  const grpc::Status status = client.stub->ListQueues(&call, request, &list);
  EXPECT_TRUE(status.ok()) << status.error_message();
  EXPECT_EQ(list.size(), static_cast<uint32_t>(list.values_size()));
  return list;
}

// Calls that send no message.
class SilentCalls {
 public:
  ~SilentCalls() {
    for (const auto& call : calls_) call->context.TryCancel();
    queue_.Shutdown();
    void* tag = nullptr;
    bool ok = false;
    while (queue_.Next(&tag, &ok)) {
    }
  }
  void Open(const std::shared_ptr<grpc::Channel>& channel, const std::string& method) {
    Call& call = *calls_.emplace_back(std::make_unique<Call>());
    call.stream = grpc::GenericStub(channel).PrepareCall(&call.context, method, &queue_);
    call.stream->StartCall(nullptr);
    while (Call* ended = Await()) ended_.push_back(ended);
    call.stream->Finish(&call.status, &call);
  }
  // Returns the status of the next call that has ended. The server might have seen the calls in
  // another order.
  grpc::Status NextEnd() {
    if (ended_.empty()) ended_.push_back(Await());
    const grpc::Status status = ended_.front()->status;
    ended_.pop_front();
    return status;
  }

 private:
  struct Call {
    grpc::ClientContext context;
    std::unique_ptr<grpc::GenericClientAsyncReaderWriter> stream;
    grpc::Status status;
  };
  // Returns the next call that has ended; nullptr = a call has started.
  Call* Await() {
    void* tag = nullptr;
    bool ok = false;
    EXPECT_TRUE(queue_.Next(&tag, &ok));
    return static_cast<Call*>(tag);
  }

  grpc::CompletionQueue queue_;
  std::vector<std::unique_ptr<Call>> calls_;
  std::deque<Call*> ended_;
};

TEST(Answers, OfQueuesHaveAMostOfRows) {
  TestServer server(WithFrontier);
  FrontierClient client(server.channel);
  PutQueues(client, "x", "a", 7000);
  PutQueues(client, "x", "b", 7000);
  const uf::QueueList first = ListQueues(client, "x", 0);
  EXPECT_EQ(first.values_size(), 10'000);
  EXPECT_EQ(ListQueues(client, "x", first.size()).values_size(), 4000);
}

TEST(Answers, OfQueuesHaveAMostOfBytes) {
  TestServer server(WithFrontier);
  FrontierClient client(server.channel);
  std::string key;
  while (key.size() < 800) key += "\xf0\x9f\x98\x80";
  PutQueues(client, "x", key, 4000);
  int found = 0;
  int answers = 0;
  while (found < 4000) {
    const uf::QueueList list = ListQueues(client, "x", static_cast<uint32_t>(found));
    ASSERT_GT(list.values_size(), 0);
    EXPECT_LT(list.ByteSizeLong(), 3u << 20);
    found += list.values_size();
    ++answers;
  }
  EXPECT_EQ(found, 4000);
  EXPECT_GT(answers, 1);
}

TEST(Answers, ThatAreTooLargeAreRefused) {
  google::protobuf::StringValue message;
  message.set_value(std::string(limits::kMaxAnswerBytes, 'x'));
  EXPECT_EQ(SerialiseAnswer(message).status().code(), absl::StatusCode::kResourceExhausted);
  message.set_value("x");
  EXPECT_TRUE(SerialiseAnswer(message).ok());
}

// --- Calls that the server ends because their client has lost its rights

const GuardedServer::Written kTwo = {{"evil", "    roles: [worker, ingester, reader]\n"},
                                     {"ops", "    roles: [admin]\n"}};
const GuardedServer::Written kOne = {{"ops", "    roles: [admin]\n"}};

// Adds pages whose list is larger than the buffers of any connection.
void FillWithPages(TestServer& server, int count) {
  for (int start = 0; start < count; start += 1000) {
    v1::UpsertPagesRequest request;
    for (int i = start; i < start + 1000; ++i) {
      request.add_pages()->set_url("http://host" + std::to_string(i % 7) + ".test/" +
                                   std::string(1500, 'x') + std::to_string(i));
    }
    EXPECT_EQ(server.Upsert(request).statuses_size(), 0);
  }
}

TEST(Dismissed, ListsOfPagesEnd) {
  GuardedServer guarded(kTwo);
  guarded->Use(guarded.Open(guarded.Token("ops")));
  FillWithPages(*guarded, 8000);
  const auto stub = v1::PagesService::NewStub(guarded.Open(guarded.Token("evil")));
  grpc::ClientContext call;
  const auto stream = stub->ExportPages(&call, {});
  v1::ExportPagesResponse response;
  ASSERT_TRUE(stream->Read(&response));
  int pages = response.pages_size();
  guarded.WriteIdentities(kOne);
  guarded->Reload();
  while (stream->Read(&response)) pages += response.pages_size();
  EXPECT_LT(pages, 8000);
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAUTHENTICATED);
}

TEST(Dismissed, GetUrlsEnd) {
  GuardedServer guarded(kTwo, WithFrontier);
  FrontierClient evil(guarded.Open(guarded.Token("evil")));
  constexpr int kUrls = 2000;
  std::vector<uf::URLItem> items;
  for (int i = 0; i < kUrls; ++i) {
    uf::URLItem item = Discovered("http://a.test/" + std::to_string(i));
    uf::StringList& values =
        (*item.mutable_discovered()->mutable_info()->mutable_metadata())["note"];
    values.add_values(std::string(8000, 'x'));
    items.push_back(std::move(item));
  }
  (void)evil.Put(items);
  grpc::ClientContext call;
  const auto stream = evil.stub->GetURLs(&call, Params(kUrls));
  uf::URLInfo url;
  ASSERT_TRUE(stream->Read(&url));
  int urls = 1;
  guarded.WriteIdentities(kOne);
  guarded->Reload();
  while (stream->Read(&url)) ++urls;
  EXPECT_LT(urls, kUrls);
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAUTHENTICATED);
}

TEST(Dismissed, CallsThatWaitEnd) {
  GuardedServer guarded(kTwo);
  const auto channel = guarded.Open(guarded.Token("evil"));
  const auto stub = v1::SchedulerService::NewStub(channel);
  std::atomic<int> code = -1;
  std::atomic<bool> begun = false;
  std::thread waiter([&] {
    begun = true;
    v1::NextRequest request;
    request.set_worker("evil");
    ToProto(Duration::Seconds(60), request.mutable_max_wait());
    v1::NextResponse response;
    grpc::ClientContext call;
    code = stub->Next(&call, request, &response).error_code();
  });
  // The following calls must arrive while this one waits.
  EXPECT_TRUE(Eventually([&] { return begun.load(); }));
  for (int i = 0; i < 50; ++i) EXPECT_EQ(WhoAmI(channel), StatusCode::OK);
  guarded.WriteIdentities(kOne);
  guarded->Reload();
  waiter.join();
  EXPECT_EQ(code, StatusCode::UNAUTHENTICATED);
}

TEST(Dismissed, CertificatesThatHaveEndedProveNothing) {
  AheadOfClock clock;
  GuardedServer guarded(kTwo, {}, &clock);
  const auto channel = guarded.Open(guarded.Certificate("evil"));
  EXPECT_EQ(WhoAmI(channel), StatusCode::OK);
  const auto stub = v1::IngestService::NewStub(channel);
  grpc::ClientContext call;
  const auto stream = stub->SignalChanges(&call);
  v1::SignalChangesRequest request;
  v1::SignalChangesResponse response;
  ASSERT_TRUE(stream->Write(request) && stream->Read(&response));
  clock.Advance(Duration::Days(31));
  EXPECT_EQ(WhoAmI(channel), StatusCode::UNAUTHENTICATED);
  // The stream sends nothing, so the server must check the certificate by itself.
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAUTHENTICATED);
}

// --- What the limits count

TEST(OpenCalls, StreamsOfAllMethodsCount) {
  TestServer server([](ServerConfig* config) {
    config->max_streams = 3;
    config->max_streams_per_client = 2;
  });
  RawStream first(server, kWatch);
  EXPECT_EQ(first.ExchangeBytes(""), std::string("\x08\x01", 2));
  RawStream second(server, kWatch);
  EXPECT_EQ(second.ExchangeBytes(""), std::string("\x08\x01", 2));
  const grpc::Status status = CallRaw(server.channel, kWatch, "");
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(status.error_message(), HasSubstr("of this client are open"));
  // There are places for other clients, and for unary calls.
  EXPECT_TRUE(CallRaw(server.channel, kCheck, "").ok());
}

TEST(OpenCalls, ThatSayNothingMakeRoomForOthers) {
  TestServer server([](ServerConfig* config) { config->max_streams = 4; });
  SilentCalls calls;
  for (int i = 0; i < 6; ++i) {
    calls.Open(server.channel, i % 2 == 0 ? kWatch : "/freshet.v1.PagesService/ListPages");
  }
  for (int i = 0; i < 2; ++i) {
    const grpc::Status status = calls.NextEnd();
    EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_THAT(status.error_message(), HasSubstr("said nothing"));
  }
  EXPECT_TRUE(CallRaw(server.channel, kCheck, "").ok());
}

TEST(OpenCalls, HealthIsToldOfServicesAndOfWatchers) {
  TestServer server;
  EXPECT_EQ(CallRaw(server.channel, kCheck, "\x0a\x04none").error_code(), StatusCode::NOT_FOUND);
  RawStream unknown(server, kWatch);
  EXPECT_EQ(unknown.ExchangeBytes("\x0a\x04none"), std::string("\x08\x03", 2));
}

// --- Lists

TEST(Lists, OfOneClientLeavePlacesToOthers) {
  GuardedServer guarded(kTwo);
  guarded->Use(guarded.Open(guarded.Token("ops")));
  // The list has more bytes than may be in flight to a client that does not read.
  FillWithPages(*guarded, 20'000);
  const auto stub = v1::PagesService::NewStub(guarded.Open(guarded.Token("evil")));
  struct Stalled {
    grpc::ClientContext call;
    std::unique_ptr<grpc::ClientReader<v1::ExportPagesResponse>> stream;
  };
  std::vector<std::unique_ptr<Stalled>> lists;
  for (size_t i = 0; i < limits::kMaxListings * 3 / 8; ++i) {
    lists.push_back(std::make_unique<Stalled>());
    lists.back()->stream = stub->ExportPages(&lists.back()->call, {});
    v1::ExportPagesResponse response;
    EXPECT_TRUE(lists.back()->stream->Read(&response));
  }
  grpc::ClientContext call;
  call.set_deadline(std::chrono::system_clock::now() + std::chrono::minutes(1));
  v1::ExportPagesResponse response;
  const auto one_more = stub->ExportPages(&call, {});
  EXPECT_FALSE(one_more->Read(&response));
  EXPECT_EQ(one_more->Finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
  v1::ListPagesRequest request;
  request.set_limit(1);
  v1::ListPagesResponse own;
  grpc::ClientContext own_call;
  const auto list = guarded->pages->ListPages(&own_call, request);
  EXPECT_TRUE(list->Read(&own));
  EXPECT_TRUE(list->Finish().ok());
  for (const auto& each : lists) {
    each->call.TryCancel();
    (void)each->stream->Finish();
  }
}

TEST(Lists, ThatFitNothingHoldUpNobody) {
  TestServer server;
  server.UpsertMany(40'000);
  std::atomic<int> begun = 0;
  std::atomic<int> over = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 12; ++i) {
    threads.emplace_back([&] {
      ++begun;
      v1::ListPagesRequest request;
      request.mutable_filter()->set_crawl_id("none");
      v1::ListPagesResponse response;
      grpc::ClientContext call;
      const auto list = server.pages->ListPages(&call, request);
      while (list->Read(&response)) {
      }
      EXPECT_TRUE(list->Finish().ok());
      ++over;
    });
  }
  // While these lists are made, a list of one page must not wait for all of them.
  EXPECT_TRUE(Eventually([&] { return begun == 12; }));
  v1::ListPagesRequest request;
  request.set_limit(1);
  v1::ListPagesResponse response;
  int lists = 0;
  while (over < 12) {
    grpc::ClientContext call;
    const auto list = server.pages->ListPages(&call, request);
    EXPECT_TRUE(list->Read(&response));
    EXPECT_TRUE(list->Finish().ok());
    ++lists;
  }
  EXPECT_GE(lists, 2);
  for (std::thread& thread : threads) thread.join();
}

TEST(Lists, OfSlowClientsAreCutOff) {
  using Clock = Patience::Clock;
  const Clock::time_point start;
  Patience patience(Duration::Seconds(30));
  Clock::time_point now = start;
  // A client that reads slowly has 30 s for all messages together. If it takes 20 s for the first
  // message, 10 s remain for the second.
  patience.Begin(0, now);
  EXPECT_EQ(patience.Until(), now + std::chrono::seconds(30));
  now += std::chrono::seconds(20);
  patience.End(now);
  patience.Begin(0, now);
  EXPECT_EQ(patience.Until(), now + std::chrono::seconds(10));
  // A client that reads 16 KiB a second can continue for ever. A faster client does not save up
  // time: it never has more than the 30 s that it had at the start.
  patience.End(now);
  for (int i = 0; i < 100; ++i) {
    patience.Begin(65'536, now);
    EXPECT_GT(patience.Until(), now + std::chrono::seconds(13));
    now += std::chrono::seconds(4);
    patience.End(now);
  }
  for (int i = 0; i < 100; ++i) {
    patience.Begin(1 << 20, now);
    patience.End(now);
  }
  patience.Begin(0, now);
  EXPECT_EQ(patience.Until(), now + std::chrono::seconds(30));
}

TEST(Lists, OfSlowClientsAreCutOffSoonerWhereOthersNeedTheRoom) {
  using std::chrono::seconds;
  const Patience::Clock::time_point now;
  Patience patience(Duration::Seconds(30));
  patience.Begin(65'536, now);
  EXPECT_EQ(patience.Until(0), now + seconds(34));
  EXPECT_EQ(patience.Until(0.5), now + seconds(19));
  EXPECT_EQ(patience.Until(1), now + seconds(5)) << "the rate of 16 KiB a second, and a second";
  // A client that has used up its time gets no more.
  patience.End(now + seconds(34));
  patience.Begin(0, now + seconds(34));
  EXPECT_EQ(patience.Until(1), now + seconds(34));
}

// --- Answers that clients do not read

// Thread-compatible.
class SomeCall final : public OpenCall {
 public:
  explicit SomeCall(std::string client, bool admin = false, CallKind kind = CallKind::kStream)
      : client_(std::move(client)), admin_(admin), kind_(kind) {}
  [[nodiscard]] const std::string& client() const override { return client_; }
  [[nodiscard]] bool admin() const override { return admin_; }
  void Dismiss(grpc::Status) override {}
  [[nodiscard]] CallKind kind() const override { return kind_; }
  [[nodiscard]] bool stranger() const override { return is_stranger; }
  void Resume() override { resumed = true; }

  bool resumed = false;
  bool is_stranger = false;

 private:
  const std::string client_;
  const bool admin_;
  const CallKind kind_;
};

// Clients need no identity to watch the health of the server, and have any number of networks.
TEST(StreamSet, StrangersHaveASmallPartOfThePlaces) {
  constexpr size_t kMost = 80;
  StreamSet streams({.streams = kMost});
  std::vector<std::shared_ptr<OpenCall>> open;
  const auto admit = [&](const std::string& client, bool stranger) {
    auto call = std::make_shared<SomeCall>(client);
    call->is_stranger = stranger;
    EXPECT_FALSE(streams.Add(std::shared_ptr<OpenCall>(call)));
    const grpc::Status status = streams.Admit(call);
    if (status.ok()) {
      open.push_back(call);
    } else {
      EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
      streams.Remove(call);
    }
    return status.ok();
  };
  for (int network = 0; network < 20; ++network) {
    while (admit("network " + std::to_string(network), /*stranger=*/true)) {
    }
  }
  EXPECT_GE(open.size(), kMost / 10);
  EXPECT_LE(open.size(), kMost / 8);
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(admit("identity worker", /*stranger=*/false)) << i;
  streams.Remove(open.front());
  EXPECT_TRUE(admit("network 99", /*stranger=*/true)) << "a place is free again";
  open.erase(open.begin());
  for (const auto& call : open) streams.Remove(call);
}

class UntakenTest : public ::testing::Test {
 protected:
  std::shared_ptr<SomeCall> Open(const std::string& client, bool admin = false) {
    auto call = std::make_shared<SomeCall>(client, admin);
    EXPECT_FALSE(streams_.Add(std::shared_ptr<OpenCall>(call)));
    return call;
  }

  // All clients share 1,200 of the 1,600 bytes. Another 300 bytes are for newcomers, and 100 for
  // admins.
  StreamSet streams_{{.unacked_bytes = 1600}};
};

TEST_F(UntakenTest, AnswersHaveAShareOfEachClient) {
  const auto greedy = Open("greedy");
  const auto other = Open("greedy");
  EXPECT_TRUE(streams_.HasRoom(greedy, 1, 1));
  EXPECT_TRUE(streams_.SetAnswers(*greedy, 0, 600).empty());
  EXPECT_FALSE(streams_.HasRoom(other, 1, 1)) << "not even over another stream";
  const auto second = Open("second");
  EXPECT_TRUE(streams_.TryHold(second, 0, 900)) << "the first that a client asks for";
  const auto late = Open("late");
  EXPECT_FALSE(streams_.TryHold(late, 0, 50));
  EXPECT_TRUE(streams_.TryHold(Open("ops", true), 0, 100));
  EXPECT_EQ(streams_.stats().answer_bytes, 1600U);
  // Once answers have been read, the waiting calls continue, each client within its share.
  EXPECT_THAT(streams_.SetAnswers(*greedy, 600, 0), testing::UnorderedElementsAre(other, late));
  EXPECT_EQ(streams_.stats().answer_bytes, 1000U);
  EXPECT_THAT(streams_.SetAnswers(*second, 900, 0), testing::IsEmpty()) << "each is told once";
}

TEST_F(UntakenTest, MessagesHaveAShareOfEachClient) {
  const auto greedy = Open("greedy");
  const auto other = Open("greedy");
  EXPECT_TRUE(streams_.TryHold(greedy, 600));
  EXPECT_FALSE(streams_.TryHold(other, 1)) << "not even over another stream";
  EXPECT_FALSE(streams_.HasRoom(greedy, 1, 1));
  const auto second = Open("second");
  EXPECT_TRUE(streams_.HasRoom(second, 1, 1));
  EXPECT_TRUE(streams_.TryHold(second, 900)) << "its only one";
  EXPECT_FALSE(streams_.TryHold(second, 1));
  EXPECT_FALSE(streams_.TryHold(Open("late"), 1));
  EXPECT_TRUE(streams_.TryHold(Open("ops", true), 100));
  EXPECT_EQ(streams_.stats().unacked_bytes, 1600U);
  // Answers and messages have separate shares.
  EXPECT_TRUE(streams_.TryHold(greedy, 0, 600));
  EXPECT_THAT(streams_.Release(*second, 900), testing::SizeIs(2)) << "it, and the late one";
  EXPECT_THAT(streams_.SetAnswers(*greedy, 600, 0), testing::IsEmpty());
  EXPECT_THAT(streams_.Release(*greedy, 600), testing::UnorderedElementsAre(greedy, other));
  EXPECT_EQ(streams_.stats().unacked_bytes, 100U);
}

// Thousands of messages may wait for their turns, so each message that is held also reserves room
// for its answer.
TEST_F(UntakenTest, AMessageIsHeldWithRoomForItsAnswer) {
  const auto greedy = Open("greedy");
  const auto other = Open("greedy");
  EXPECT_TRUE(streams_.TryHold(greedy, 10, 600));
  EXPECT_FALSE(streams_.TryHold(other, 10, 600));
  EXPECT_EQ(streams_.stats().unacked_bytes, 10U) << "nothing is held of what waits";
  EXPECT_EQ(streams_.stats().answer_bytes, 600U);
  EXPECT_THAT(streams_.SetAnswers(*greedy, 600, 0), testing::ElementsAre(other));
}

// Even if thousands of clients wait, a message must not become expensive. So only some of the
// waiting calls resume at once, and the others soon afterwards.
TEST_F(UntakenTest, ManyClientsThatWaitAreToldInTurns) {
  const auto greedy = Open("greedy");
  EXPECT_TRUE(streams_.TryHold(greedy, 0, 1500));
  std::vector<std::shared_ptr<SomeCall>> waiting;
  for (int i = 0; i < 300; ++i) {
    waiting.push_back(Open(std::to_string(i)));
    EXPECT_FALSE(streams_.HasRoom(waiting.back(), 0, 1));
  }
  const StreamSet::Calls first = streams_.SetAnswers(*greedy, 1500, 1400);
  const StreamSet::Calls second = streams_.SetAnswers(*greedy, 1400, 0);
  EXPECT_EQ(first.size(), 64U);
  EXPECT_EQ(second.size(), 64U) << "others";
  EXPECT_THAT(streams_.Look(Instant()), testing::IsEmpty());
  const auto resumed = std::ranges::count_if(waiting, [](const auto& one) { return one->resumed; });
  EXPECT_EQ(resumed, 300 - 128);
}

// Returns the processor seconds that it takes to add 2,000 calls next to `silent` silent streams
// and as many silent unary calls.
double SecondsBesideSilent(size_t silent) {
  StreamSet streams({.streams = silent});
  std::vector<std::shared_ptr<OpenCall>> calls;
  const auto add = [&](CallKind kind) {
    calls.push_back(std::make_shared<SomeCall>("client", /*admin=*/false, kind));
    (void)streams.Add(calls.back());
  };
  for (size_t i = 0; i < silent; ++i) add(CallKind::kStream);
  for (size_t i = 0; i < silent; ++i) add(CallKind::kUnary);
  const std::clock_t begun = std::clock();
  for (int i = 0; i < 2000; ++i) add(CallKind::kUnary);
  return static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
}

TEST(StreamSet, ACallCostsNoMoreBesideSilentOnes) {
  EXPECT_LT(SecondsBesideSilent(20'000), 10 * std::max(SecondsBesideSilent(1000), 0.002));
}

// Streams that keep sending the same message and ignore the answers. Each stream has two messages
// in flight.
class BusyStreams {
 public:
  BusyStreams(const std::shared_ptr<grpc::Channel>& channel, const std::string& method, int count,
              const std::string& bytes) {
    const grpc::Slice slice(bytes);
    message_ = grpc::ByteBuffer(&slice, 1);
    grpc::GenericStub stub(channel);
    for (int i = 0; i < count; ++i) {
      One& one = streams_.emplace_back();
      one.stream = stub.PrepareCall(&one.call, method, &queue_);
      one.stream->StartCall(&one.opened);
    }
    thread_ = std::thread([this] { Run(); });
  }
  ~BusyStreams() {
    over_ = true;
    for (One& one : streams_) one.call.TryCancel();
    thread_.join();
  }
  [[nodiscard]] int answers() const { return answers_; }

 private:
  struct One;
  struct Step {
    One* of = nullptr;
    enum { kOpened, kWritten, kRead } kind = kOpened;
  };
  struct One {
    grpc::ClientContext call;
    std::unique_ptr<grpc::ClientAsyncReaderWriter<grpc::ByteBuffer, grpc::ByteBuffer>> stream;
    grpc::ByteBuffer answer;
    int unanswered = 0;
    bool writing = false;
    Step opened{this, Step::kOpened};
    Step written{this, Step::kWritten};
    Step read{this, Step::kRead};
  };

  void Write(One& one) {
    if (one.writing || one.unanswered == 2) return;
    one.writing = true;
    ++one.unanswered;
    ++steps_;
    one.stream->Write(message_, &one.written);
  }
  void Read(One& one) {
    ++steps_;
    one.stream->Read(&one.answer, &one.read);
  }
  void Run() {
    steps_ = streams_.size();
    void* tag = nullptr;
    bool ok = false;
    while (steps_ > 0 && queue_.Next(&tag, &ok)) {
      --steps_;
      const Step& step = *static_cast<Step*>(tag);
      One& one = *step.of;
      if (step.kind == Step::kWritten) one.writing = false;
      if (!ok || over_) continue;
      if (step.kind == Step::kRead) {
        ++answers_;
        --one.unanswered;
      }
      if (step.kind != Step::kWritten) Read(one);
      Write(one);
    }
    queue_.Shutdown();
    while (queue_.Next(&tag, &ok)) {
    }
  }

  grpc::ByteBuffer message_;
  grpc::CompletionQueue queue_;
  std::deque<One> streams_;
  size_t steps_ = 0;  // in flight; owned by the thread
  std::atomic<bool> over_{false};
  std::atomic<int> answers_{0};
  std::thread thread_;
};

std::string PagesOf(const std::string& crawl_id, int pages) {
  v1::UpsertPagesRequest request;
  request.set_sequence(1);
  for (int i = 0; i < pages; ++i) {
    v1::PageSpec& page = *request.add_pages();
    page.set_url("https://" + crawl_id + std::to_string(i) + ".test/");
    page.set_crawl_id(crawl_id);
  }
  return request.SerializeAsString();
}

// The test counts instead of timing, since a slow machine slows both clients.
TEST(CallsTest, AClientWithManyStreamsDelaysAnotherByFewOfItsMessages) {
  const std::string method = "/freshet.v1.PagesService/UpsertPages";
  GuardedServer server({{"greedy", "    roles: [ingester]\n    crawl_ids: [greedy]\n"},
                        {"small", "    roles: [ingester]\n    crawl_ids: [small]\n"}});
  RawStream small(server.Open(server.Token("small")), method);
  const std::string message = PagesOf("small", 10);
  (void)small.Exchange<v1::UpsertPagesResponse>(message);
  const BusyStreams greedy(server.Open(server.Token("greedy")), method, 200,
                           PagesOf("greedy", 500));
  // By then all streams have sent something.
  ASSERT_TRUE(Eventually([&] { return greedy.answers() >= 400; }));
  constexpr int kExchanges = 10;
  const int before = greedy.answers();
  for (int i = 0; i < kExchanges; ++i) {
    const auto answer = small.Exchange<v1::UpsertPagesResponse>(message);
    EXPECT_EQ(answer.ack().item_count(), 10U);
    EXPECT_TRUE(answer.ack().statuses().empty()) << answer.ShortDebugString();
  }
  EXPECT_LE(greedy.answers() - before, 60 * kExchanges);
}

TEST_F(UntakenTest, PatienceShrinksAsNewcomersFindNoRoom) {
  EXPECT_EQ(streams_.stats().crowding.answers, 0);
  EXPECT_TRUE(streams_.SetAnswers(*Open("greedy"), 0, 1199).empty());
  EXPECT_EQ(streams_.stats().crowding.answers, 0);
  EXPECT_TRUE(streams_.SetAnswers(*Open("one"), 0, 150).empty());
  EXPECT_NEAR(streams_.stats().crowding.answers, 0.5, 0.01);
  EXPECT_TRUE(streams_.TryHold(Open("two"), 0, 1)) << "a newcomer still finds room";
  EXPECT_TRUE(streams_.SetAnswers(*Open("three"), 0, 150).empty());
  EXPECT_FALSE(streams_.TryHold(Open("four"), 0, 1));
  EXPECT_EQ(streams_.stats().crowding.answers, 1);
  EXPECT_EQ(streams_.stats().crowding.messages, 0) << "of another table";
  streams_.Hold(*Open("greedy"), 1350);
  EXPECT_NEAR(streams_.stats().crowding.messages, 0.5, 0.01);
}

TEST_F(UntakenTest, WhatHasComeTakesNoPlaceBeyondAShare) {
  const auto greedy = Open("greedy");
  for (const bool answers : {false, true}) {
    const auto kept = streams_.Keep(*greedy, answers, 600);
    ASSERT_TRUE(kept);
    EXPECT_FALSE(kept->beside);
  }
  const auto beside = streams_.Keep(*greedy, /*answers=*/true, 900);
  ASSERT_TRUE(beside && beside->beside);
  EXPECT_EQ(streams_.stats().answer_bytes, 600U);
  EXPECT_TRUE(streams_.Keep(*greedy, /*answers=*/false, 700)) << "1,600 in all";
  EXPECT_FALSE(streams_.Keep(*greedy, /*answers=*/true, 1));
  EXPECT_TRUE(streams_.Keep(*Open("second"), /*answers=*/true, 300)) << "of its share";
  EXPECT_FALSE(streams_.HasRoom(greedy, 1, 1));
  EXPECT_THAT(streams_.Drop(*greedy, *beside), testing::IsEmpty());
  EXPECT_TRUE(streams_.Keep(*greedy, /*answers=*/true, 900));
}

// A call can wait for both kinds of room. It resumes when one of them is free.
TEST_F(UntakenTest, ACallWaitsForWhateverComesFirst) {
  const auto call = Open("one");
  EXPECT_TRUE(streams_.TryHold(call, 600));
  EXPECT_TRUE(streams_.SetAnswers(*call, 0, 600).empty());
  EXPECT_FALSE(streams_.HasRoom(call, 0, 1));
  EXPECT_FALSE(streams_.HasRoom(call, 1, 1));
  EXPECT_THAT(streams_.SetAnswers(*call, 600, 0), testing::ElementsAre(call));
}

// The call was dismissed while it ended.
TEST_F(UntakenTest, ACallThatIsGoneWaitsForNothing) {
  EXPECT_TRUE(streams_.SetAnswers(*Open("greedy"), 0, 1600).empty());
  const auto gone = Open("one");
  streams_.Remove(gone);
  EXPECT_FALSE(streams_.StopWaiting(gone));
  EXPECT_FALSE(streams_.TryHold(gone, 0, 10));
  EXPECT_FALSE(streams_.StopWaiting(gone));
}

TEST_F(UntakenTest, ACallThatIsOverWaitsNoMore) {
  const auto greedy = Open("greedy");
  EXPECT_TRUE(streams_.SetAnswers(*greedy, 0, 1600).empty());
  const auto one = Open("one");
  const auto two = Open("two");
  const auto three = Open("three");
  for (const auto& call : {one, two, three}) EXPECT_FALSE(streams_.TryHold(call, 0, 10));
  EXPECT_TRUE(streams_.StopWaiting(one));
  EXPECT_FALSE(streams_.StopWaiting(one));
  streams_.Remove(two);
  EXPECT_THAT(streams_.SetAnswers(*greedy, 1600, 0), testing::ElementsAre(three));
  EXPECT_EQ(streams_.stats().answer_bytes, 0U);
}

TEST(Places, AreGivenBack) {
  Places places(5);
  std::optional<Places::Place> first = places.Take("a", false);
  std::optional<Places::Place> second = places.Take("a", false);
  EXPECT_TRUE(first && second);
  EXPECT_FALSE(places.Take("a", false));
  std::optional<Places::Place> third = places.Take("b", false);
  EXPECT_TRUE(third);
  EXPECT_FALSE(places.Take("b", false));
  EXPECT_EQ(places.taken(), 3);
  first.reset();
  EXPECT_EQ(places.taken(), 2);
  const std::optional<Places::Place> fourth = places.Take("b", false);
  EXPECT_TRUE(fourth);
  // A newcomer gets the last place, and an admin gets the place that is reserved for admins. After
  // that, nobody gets a place.
  const std::optional<Places::Place> others = places.Take("c", false);
  EXPECT_TRUE(others);
  const std::optional<Places::Place> last = places.Take("a", true);
  EXPECT_TRUE(last);
  EXPECT_FALSE(places.Take("d", true));
}

}  // namespace
}  // namespace freshet
