// Tests the HTTP port with many clients, and with slow, greedy and faulty clients.
#include "server/ports/http_port.h"

#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "core/base/sanitized.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/ports/listen.h"
#include "tests/support/raw_client.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kHalf[] = "GET /probe HTTP/1.1\r\nHost: half";
constexpr char kProbe[] = "GET /probe HTTP/1.1\r\nHost: localhost\r\n\r\n";

std::string Get(const std::string& path, const std::string& fields = "") {
  return "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + fields + "\r\n";
}

// Returns options with time limits that no test reaches. Tests can lower individual limits.
HttpOptions Patient() {
  const Duration hour = Duration::Seconds(3600);
  return {.request_time = hour, .idle_time = hour, .answer_time = hour};
}

class HttpPortTest : public ::testing::Test {
 protected:
  void Start(HttpOptions options) {
    std::vector<HttpRoute> routes;
    routes.push_back(
        {.path = "/probe", .answer = [](const HttpRequest&) { return TextResponse(200, "ok"); }});
    routes.push_back({.path = "/wait", .answer = [this](const HttpRequest& request) {
                        ++waits_;
                        opened_.wait();
                        peers_.push_back(request.peer);
                        open_.push_back(port_->stats().open);
                        return TextResponse(200, "ok");
                      }});
    routes.push_back({.path = "/big", .slow = true, .answer = [this](const HttpRequest&) {
                        ++big_calls_;
                        if (gate_) opened_.wait();
                        return HttpResponse{.body = big_};
                      }});
    routes.push_back(
        {.path = "/post", .post = true, .slow = true, .answer = [](const HttpRequest& r) {
           return TextResponse(200, std::to_string(r.body.size()));
         }});
    routes.push_back({.path = "/upload",
                      .post = true,
                      .body_bytes = 4'000'000,
                      .answer = [](const HttpRequest& r) {
                        return TextResponse(200, std::to_string(r.body.size()));
                      }});
    routes.push_back({.path = "/throws", .answer = [](const HttpRequest&) -> HttpResponse {
                        throw std::runtime_error("secret");
                      }});
    port_ = std::make_unique<HttpPort>(std::move(routes), options);
    const StatusOr<int> started = port_->Start("127.0.0.1:0");
    ASSERT_TRUE(started.ok()) << started.status();
    number_ = *started;
  }
  RawClient::Answer Ask(const std::string& request) {
    return RawClient(number_, request).ReadAnswer();
  }

  std::shared_ptr<const std::string> big_ = std::make_shared<const std::string>("big");
  // Holds back answers of /big and /wait until the gate opens.
  void CloseGate() {
    gate_.emplace();
    opened_ = gate_->get_future().share();
  }

  std::optional<std::promise<void>> gate_;
  std::shared_future<void> opened_;
  std::atomic<int> big_calls_ = 0;
  std::vector<size_t> open_;        // connections at each call of /wait; port thread only
  std::vector<std::string> peers_;  // peer at each call of /wait; port thread only
  std::atomic<int> waits_ = 0;
  std::unique_ptr<HttpPort> port_;
  int number_ = 0;
};

// --- Other clients

TEST_F(HttpPortTest, AnswersAProbeBesideClientsThatNeverFinish) {
  Start(Patient());
  std::vector<RawClient> slow;
  for (int i = 0; i < 100; ++i) slow.emplace_back(number_, kHalf);
  for (int i = 0; i < 100; ++i) {
    // Each slow client sends a byte between any two probes.
    for (RawClient& client : slow) ASSERT_TRUE(client.Send("x"));
    ASSERT_EQ(Ask(kProbe).status(), 200);
  }
}

// Previously, each time the port took one new connection, it then answered a request of every busy
// connection. So a new connection waited for this once for each new connection before it.
TEST_F(HttpPortTest, TakesNewConnectionsTogether) {
  CloseGate();
  HttpOptions options = Patient();
  options.max_connections = 80;
  Start(options);
  RawClient busy(number_, kProbe);
  EXPECT_EQ(busy.ReadAnswer().status(), 200);
  std::string requests;
  for (int i = 0; i < 60; ++i) requests += Get("/wait");
  ASSERT_TRUE(busy.Send(requests));
  WaitUntil([this] { return waits_ > 0; });
  // A network may have 60 waiting connections. The next connection takes the place of the first.
  const RawClient first(number_, kProbe);
  std::vector<RawClient> clients;
  for (int i = 0; i < 60; ++i) clients.emplace_back(number_, kProbe);
  WaitUntil([this] { return port_->stats().evicted > 0; });
  gate_->set_value();
  for (RawClient& client : clients) EXPECT_EQ(client.ReadAnswer().status(), 200);
  port_->Stop();
  // The port took all of them between the first two requests of the busy connection.
  ASSERT_GE(open_.size(), 2U);
  EXPECT_GE(open_[1], 60U) << ::testing::PrintToString(open_);
}

// Previously, a new connection waited for all earlier connections of all networks.
TEST_F(HttpPortTest, TakesNewConnectionsByTurnsOfNetworks) {
  CloseGate();
  HttpOptions options = Patient();
  options.max_connections = 40;
  Start(options);
  RawClient busy(number_, Get("/wait"));
  WaitUntil([this] { return waits_ > 0; });
  std::vector<RawClient> many;
  for (int i = 0; i < 150; ++i) many.emplace_back(number_, Get("/wait"), "127.0.0.2");
  RawClient other(number_, Get("/wait"), "127.0.0.3");
  many.emplace_back(number_, Get("/wait"), "127.0.0.2");
  // A network may have three quarters of the places. Beyond that, its oldest connection is closed.
  WaitUntil([this] { return port_->stats().evicted >= 121; });
  EXPECT_TRUE(many.front().Ended());
  gate_->set_value();
  EXPECT_EQ(other.ReadAnswer().status(), 200);
  EXPECT_EQ(many.back().ReadAnswer().status(), 200);
  port_->Stop();
  EXPECT_EQ(port_->stats().evicted, 121u);
  const auto at = std::find(peers_.begin(), peers_.end(), "127.0.0.3") - peers_.begin();
  EXPECT_LE(at, 3);
}

TEST_F(HttpPortTest, AnswersAProbeBesideMoreClientsThanItHolds) {
  HttpOptions options = Patient();
  options.max_connections = 16;
  Start(options);
  std::vector<RawClient> idle;
  for (int i = 0; i < 200; ++i) {
    idle.emplace_back(number_);
    if (i % 20 == 0) {
      ASSERT_EQ(Ask(kProbe).status(), 200);
    }
  }
  EXPECT_TRUE(idle.front().Ended());
}

TEST_F(HttpPortTest, ClosesTheOneThatIsWithoutARequestTheLongest) {
  HttpOptions options = Patient();
  options.max_connections = 3;
  Start(options);
  RawClient first(number_, kProbe);
  EXPECT_EQ(first.ReadAnswer().status(), 200);
  RawClient second(number_, kProbe);
  EXPECT_EQ(second.ReadAnswer().status(), 200);
  RawClient third(number_, kProbe);
  EXPECT_EQ(third.ReadAnswer().status(), 200);
  first.Send(kProbe);
  EXPECT_EQ(first.ReadAnswer().status(), 200);
  EXPECT_EQ(Ask(kProbe).status(), 200);
  EXPECT_TRUE(second.Ended());
  EXPECT_EQ(port_->stats().evicted, 1u);
  EXPECT_EQ(port_->stats().taken, 4u);
  EXPECT_LE(port_->stats().open, 3u);
  EXPECT_EQ(port_->stats().limit, 3u);
  for (RawClient* alive : {&first, &third}) {
    alive->Send(kProbe);
    EXPECT_EQ(alive->ReadAnswer().status(), 200);
  }
}

TEST_F(HttpPortTest, AnswersAProbeWhileAnotherAnswerIsMade) {
  CloseGate();
  Start(Patient());
  RawClient slow(number_, Get("/big"));
  EXPECT_EQ(Ask(kProbe).status(), 200);
  gate_->set_value();
  EXPECT_EQ(slow.ReadAnswer().body, "big");
}

// --- Time

TEST_F(HttpPortTest, ARequestThatTakesTooLongIsEndedHoweverItDrips) {
  HttpOptions options = Patient();
  options.request_time = Duration::Millis(100);
  Start(options);
  RawClient silent(number_);
  RawClient dripping(number_, kHalf);
  while (!dripping.Readable(5)) dripping.Send("x");
  EXPECT_THAT(dripping.ReadAll(), StartsWith("HTTP/1.1 408 "));
  EXPECT_EQ(silent.ReadAll(), "");
  RawClient body(number_,
                 "POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10000\r\n\r\n");
  while (!body.Readable(5)) body.Send("x");
  EXPECT_THAT(body.ReadAll(), StartsWith("HTTP/1.1 408 "));
  EXPECT_EQ(port_->stats().timed_out, 2u);
  EXPECT_EQ(port_->stats().idle, 1u);
}

TEST_F(HttpPortTest, AConnectionThatIsKeptIsEndedWhenItIsIdle) {
  HttpOptions options = Patient();
  options.idle_time = Duration::Millis(50);
  Start(options);
  RawClient client(number_, kProbe);
  EXPECT_EQ(client.ReadAnswer().status(), 200);
  EXPECT_TRUE(client.Ended());
  EXPECT_EQ(port_->stats().idle, 1u);
  EXPECT_EQ(port_->stats().open, 0u);
}

TEST_F(HttpPortTest, AClientThatDoesNotReadIsDropped) {
  // More bytes than the system's buffers of a connection can hold.
  big_ = std::make_shared<const std::string>(32 << 20, 'x');
  HttpOptions options = Patient();
  options.answer_time = Duration::Millis(300);
  options.max_unsent_bytes = 1 << 30;
  Start(options);
  RawClient client(number_, Get("/big"));
  EXPECT_TRUE(client.Reset(60'000));
  EXPECT_EQ(Ask(kProbe).status(), 200);
  EXPECT_EQ(port_->stats().timed_out, 1u);
}

TEST_F(HttpPortTest, AnAnswerThatIsNotMadeInTimeIsRefused) {
  CloseGate();
  HttpOptions options = Patient();
  options.answer_time = Duration::Millis(50);
  Start(options);
  const RawClient::Answer answer = Ask(Get("/big"));
  EXPECT_EQ(answer.status(), 503);
  EXPECT_THAT(answer.head, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_EQ(port_->stats().refused, 1u);
  gate_->set_value();
}

// --- Size

TEST_F(HttpPortTest, RefusesWhatIsTooLarge) {
  Start(Patient());
  const auto with_header = [](size_t bytes) {
    const std::string start = "GET /probe HTTP/1.1\r\nHost: localhost\r\nX: ";
    return start + std::string(bytes - start.size() - 4, 'x') + "\r\n\r\n";
  };
  EXPECT_EQ(Ask(with_header(limits::kMaxHttpHeaderBytes)).status(), 200);
  EXPECT_EQ(Ask(with_header(limits::kMaxHttpHeaderBytes + 1)).status(), 431);
  EXPECT_EQ(Ask("GET /" + std::string(100'000, 'x')).status(), 431);
  const auto with_body = [](size_t bytes) {
    return "POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + std::to_string(bytes) +
           "\r\n\r\n" + std::string(bytes, 'x');
  };
  EXPECT_EQ(Ask(with_body(limits::kMaxHttpBodyBytes)).body, "16384\n");
  EXPECT_EQ(Ask(with_body(limits::kMaxHttpBodyBytes + 1)).status(), 413);
  // The port refuses this request by its header, which announces a gigabyte.
  EXPECT_EQ(
      Ask("POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000000\r\n\r\n").status(),
      413);
}

TEST_F(HttpPortTest, BoundsBodiesInChunks) {
  Start(Patient());
  const std::string head =
      "POST /post HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n";
  EXPECT_EQ(Ask(head + "4\r\nabcd\r\n5;note=x\r\nefghi\r\n0\r\n\r\n").body, "9\n");
  std::string many = head;
  for (int i = 0; i < 20'000; ++i) many += "1\r\nx\r\n";
  EXPECT_EQ(Ask(many).status(), 413);
  EXPECT_EQ(Ask(head + "FFFFFFFF\r\n" + std::string(20'000, 'x')).status(), 413);
  EXPECT_EQ(Ask(head + "1;" + std::string(20'000, 'x')).status(), 431);
}

constexpr size_t kUpload = 50'000;  // more than an ordinary body may have
constexpr char kUploadHead[] =
    "POST /upload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000\r\n";
const std::string kWholeUpload = kUploadHead + ("\r\n" + std::string(kUpload, 'x'));
const std::string kUploadBegun = kUploadHead + std::string("Expect: 100-continue\r\n\r\n");

// Clients are identities or networks; here a header of the request names the client.
HttpOptions PatientWithClients() {
  HttpOptions options = Patient();
  options.large_body_time = Duration::Seconds(3600);
  options.recognise = [](HttpRequest* request) { request->client = request->Field("X-Client"); };
  return options;
}

std::string OfClient(const std::string& client, std::string request) {
  return request.insert(request.find("\r\n") + 2, "X-Client: " + client + "\r\n");
}

TEST_F(HttpPortTest, AFewBodiesMayBeLargeAtATime) {
  HttpOptions options = PatientWithClients();
  options.max_large_bodies = 2;
  Start(options);
  RawClient first(number_, OfClient("a", kUploadBegun));
  EXPECT_EQ(first.ReadAnswer().status(), 100);
  RawClient second(number_, OfClient("b", kUploadBegun));
  EXPECT_EQ(second.ReadAnswer().status(), 100);
  const RawClient::Answer refused = Ask(OfClient("c", kWholeUpload));
  EXPECT_EQ(refused.status(), 503);
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: 1\r\n"));
  EXPECT_EQ(Ask(kProbe).status(), 200);
  ASSERT_TRUE(first.Send(std::string(kUpload, 'x')));
  EXPECT_EQ(first.ReadAnswer().body, "50000\n");
  EXPECT_EQ(Ask(OfClient("c", kWholeUpload)).body, "50000\n");
  EXPECT_EQ(port_->stats().evicted, 0u);
}

TEST_F(HttpPortTest, LargeBodiesOfOneClientLeavePlacesToOthers) {
  Start(PatientWithClients());
  std::vector<RawClient> greedy;
  std::vector<int> statuses;
  for (int i = 0; i < 20; ++i) {
    greedy.emplace_back(number_, OfClient("greedy", kUploadBegun));
    statuses.push_back(greedy.back().ReadAnswer().status());
  }
  EXPECT_EQ(std::count(statuses.begin(), statuses.end(), 100), 3) << "of 8";
  EXPECT_EQ(std::count(statuses.begin(), statuses.end(), 503), 17);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Ask(OfClient("another", kWholeUpload)).body, "50000\n");
  }
  // The places of a client are free again once its uploads are answered.
  ASSERT_TRUE(greedy.front().Send(std::string(kUpload, 'x')));
  EXPECT_EQ(greedy.front().ReadAnswer().body, "50000\n");
  EXPECT_EQ(Ask(OfClient("greedy", kWholeUpload)).body, "50000\n");
  EXPECT_EQ(port_->stats().evicted, 0u);
}

TEST_F(HttpPortTest, ALargeBodyThatComesTooSlowlyEnds) {
  HttpOptions options = Patient();
  options.large_body_time = Duration::Millis(100);
  Start(options);
  RawClient slow(number_, kUploadBegun);
  EXPECT_EQ(slow.ReadAnswer().status(), 100);
  // Sends a byte at a time, for at most ten seconds.
  for (int i = 0; i < 1000 && !slow.Readable(10); ++i) ASSERT_TRUE(slow.Send("x"));
  EXPECT_EQ(slow.ReadAnswer().status(), 408);
  EXPECT_TRUE(slow.Ended());
  EXPECT_EQ(port_->stats().timed_out, 1u);
  EXPECT_EQ(port_->stats().evicted, 0u);
}

// Opens an upload that has a place, and sends all but its last byte. After so many bytes, the port
// lets the rest take minutes.
RawClient NearlyUpload(int port, const std::string& of) {
  RawClient client(port, OfClient(of,
                                  "POST /upload HTTP/1.1\r\nHost: localhost\r\n"
                                  "Content-Length: 4000000\r\nExpect: 100-continue\r\n\r\n"));
  EXPECT_EQ(client.ReadAnswer().status(), 100);
  EXPECT_TRUE(client.Send(std::string(3'999'999, 'x')));
  return client;
}

TEST_F(HttpPortTest, ALargeBodyThatTakesLongGivesItsPlaceToTheNext) {
  HttpOptions options = PatientWithClients();
  options.max_large_bodies = 4;
  options.large_body_time = Duration::Seconds(1);
  Start(options);
  RawClient oldest = NearlyUpload(number_, "a");
  RawClient second = NearlyUpload(number_, "b");
  const auto upload = [this](const std::string& of) {
    while (Ask(OfClient(of, kWholeUpload)).body != "50000\n") {
    }
  };
  // The upload of a client that uses its whole share can replace only an upload of this client.
  upload("b");
  EXPECT_TRUE(second.Ended());
  EXPECT_EQ(port_->stats().evicted, 1u);
  // A new client gets a free place, or else the place of the oldest upload.
  std::vector<RawClient> others;
  for (const char* of : {"c", "d", "e"}) others.push_back(NearlyUpload(number_, of));
  upload("f");
  EXPECT_TRUE(oldest.Ended());
  EXPECT_EQ(port_->stats().evicted, 2u);
  ASSERT_TRUE(others[0].Send("x"));
  EXPECT_EQ(others[0].ReadAnswer().body, "4000000\n");
}

uint64_t ResidentBytes() {
  uint64_t size = 0;
  uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

TEST_F(HttpPortTest, HoldsLittleOfWhatManyClientsSend) {
  if (kSanitized) GTEST_SKIP() << "sanitizers take memory of their own";
  Start(Patient());
  std::string fields = "GET /probe HTTP/1.1\r\nHost: localhost\r\n";
  while (fields.size() < limits::kMaxHttpHeaderBytes - 10) fields += "a:b\r\n";
  const uint64_t before = ResidentBytes();
  std::vector<RawClient> clients;
  // Half of the clients stop just below the limit; the others send more.
  for (int i = 0; i < 600; ++i) {
    clients.emplace_back(number_, fields);
    if (i % 2 == 0) clients.back().Send(std::string(100'000, 'x'));
  }
  EXPECT_EQ(Ask(kProbe).status(), 200);
  EXPECT_LT(ResidentBytes(), before + (60 << 20)) << "30 MB were sent";
}

TEST_F(HttpPortTest, ClosesSlowReadersWhenTooMuchIsUnsent) {
  big_ = std::make_shared<const std::string>(16 << 20, 'x');
  HttpOptions options = Patient();
  options.max_unsent_bytes = 40 << 20;
  Start(options);
  RawClient first(number_, Get("/big"));
  RawClient second(number_, Get("/big"));
  RawClient third(number_, Get("/big"));
  EXPECT_TRUE(first.Reset(60'000));
  EXPECT_EQ(third.ReadAnswer().body.size(), big_->size());
  EXPECT_EQ(second.ReadAnswer().body.size(), big_->size());
  EXPECT_EQ(port_->stats().evicted, 1u);
}

// The port tells networks apart by the client's address.
TEST_F(HttpPortTest, AnswersThatOneClientDoesNotReadCloseNobodyElses) {
  big_ = std::make_shared<const std::string>(16 << 20, 'x');
  HttpOptions options = Patient();
  options.max_unsent_bytes = 40 << 20;
  Start(options);
  RawClient bystander(number_, Get("/big"), "127.0.0.9");
  EXPECT_TRUE(bystander.Readable(60'000));
  std::vector<RawClient> greedy;
  for (int i = 0; i < 8; ++i) {
    greedy.emplace_back(number_, Get("/big"));
    EXPECT_TRUE(greedy.back().Readable(60'000));
  }
  EXPECT_EQ(bystander.ReadAnswer().body.size(), big_->size());
  EXPECT_GT(port_->stats().evicted, 5u);
}

TEST_F(HttpPortTest, OneCallAnswersAllThatWaitAndTooMuchIsRefused) {
  CloseGate();
  HttpOptions options = Patient();
  options.max_waiting = 4;  // half of them for one client
  Start(options);
  RawClient running(number_, Get("/big"));
  WaitUntil([this] { return big_calls_ > 0; });
  std::vector<RawClient> waiting;
  for (int i = 0; i < 20; ++i) waiting.emplace_back(number_, Get("/big"));
  const std::string post = "POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx";
  // The port reads in order. So the answer to a probe shows that the port has read all earlier
  // requests.
  EXPECT_EQ(Ask(kProbe).status(), 200);
  RawClient second_call(number_, post);
  EXPECT_EQ(Ask(kProbe).status(), 200);
  const RawClient::Answer refused = Ask(post);
  EXPECT_EQ(refused.status(), 503);
  EXPECT_EQ(port_->stats().refused, 1u);
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: 1\r\n"));
  gate_->set_value();
  EXPECT_EQ(running.ReadAnswer().body, "big");
  for (RawClient& client : waiting) EXPECT_EQ(client.ReadAnswer().body, "big");
  EXPECT_EQ(second_call.ReadAnswer().body, "1\n");
  EXPECT_EQ(big_calls_, 2);
}

// --- Messages

TEST_F(HttpPortTest, KeepsConnectionsAndTakesRequestsInARow) {
  Start(Patient());
  RawClient client(number_, std::string(kProbe) + Get("/nothing") + kProbe);
  EXPECT_EQ(client.ReadAnswer().status(), 200);
  EXPECT_EQ(client.ReadAnswer().status(), 404);
  EXPECT_EQ(client.ReadAnswer().status(), 200);
  client.Send(Get("/probe", "Connection: close\r\n"));
  const RawClient::Answer last = client.ReadAnswer();
  EXPECT_THAT(last.head, HasSubstr("Connection: close\r\n"));
  EXPECT_TRUE(client.Ended());
}

TEST_F(HttpPortTest, EndsConnectionsOfOldClients) {
  Start(Patient());
  RawClient client(number_, "GET /probe HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.ReadAnswer().status(), 200);
  EXPECT_TRUE(client.Ended());
  RawClient half_closed(number_, kProbe);
  half_closed.EndSending();
  EXPECT_EQ(half_closed.ReadAnswer().status(), 200);
  EXPECT_TRUE(half_closed.Ended());
}

TEST_F(HttpPortTest, KnowsItsMethodsAndPaths) {
  Start(Patient());
  RawClient head(number_, "HEAD /probe HTTP/1.1\r\nHost: localhost\r\n\r\n" + std::string(kProbe));
  EXPECT_THAT(head.ReadAnswer(true).head, HasSubstr("Content-Length: 3\r\n"));
  EXPECT_EQ(head.ReadAnswer().body, "ok\n");
  EXPECT_EQ(Ask(Get("/probe?verbose=1")).status(), 200);
  EXPECT_EQ(Ask("GET http://localhost/probe HTTP/1.1\r\nHost: localhost\r\n\r\n").status(), 200);
  const RawClient::Answer wrong = Ask("PUT /probe HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_EQ(wrong.status(), 405);
  EXPECT_THAT(wrong.head, HasSubstr("Allow: GET, HEAD\r\n"));
  EXPECT_THAT(Ask(Get("/post")).head, HasSubstr("Allow: POST\r\n"));
  EXPECT_EQ(Ask("OPTIONS * HTTP/1.1\r\nHost: localhost\r\n\r\n").status(), 400);
}

TEST_F(HttpPortTest, RefusesWhatIsNoRequest) {
  Start(Patient());
  for (const char* wrong :
       {"nonsense\r\n\r\n", "\x16\x03\x01\x02\x01\x01", "GET /probe HTTP/1.1\r\n\r\n",
        "GET /probe HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /probe HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /post HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n",
        "GET /probe HTTP/1.1\r\nHost : a\r\n\r\n"}) {
    RawClient client(number_, wrong);
    client.EndSending();
    const RawClient::Answer answer = client.ReadAnswer();
    EXPECT_EQ(answer.status(), 400) << wrong;
    EXPECT_THAT(answer.head, HasSubstr("Connection: close\r\n")) << wrong;
    EXPECT_TRUE(client.Ended()) << wrong;
  }
  EXPECT_EQ(Ask("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").status(), 505);
}

// RFC 9112, 6.1: a proxy between client and port might see a different end of the body.
TEST_F(HttpPortTest, TransferCodingsThatItDoesNotKnowEndTheConnection) {
  Start(Patient());
  const std::string rest = "4\r\nabcd\r\n0\r\n\r\nGET /probe HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const std::string codings :
       {"xchunked", "chunked, identity", "identity", "gzip", "gzip, chunked", "chunked, chunked",
        "chunked\r\nTransfer-Encoding: chunked", "", "\"chunked\"", "chunked;q=1",
        "xchunked\r\nContent-Length: 4", "identity\r\nContent-Length: 4"}) {
    RawClient client(number_, "POST /post HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: " + codings +
                                  "\r\n\r\n" + rest);
    client.EndSending();
    const RawClient::Answer answer = client.ReadAnswer();
    EXPECT_TRUE(answer.status() == 501 || answer.status() == 400) << codings << answer.head;
    EXPECT_THAT(answer.head, HasSubstr("Connection: close\r\n")) << codings;
    EXPECT_TRUE(client.Ended()) << codings;
  }
  EXPECT_EQ(
      Ask("POST /post HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + rest).status(),
      400);
  EXPECT_EQ(Ask("POST /post HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: CHUNKED\r\n\r\n" + rest).body,
            "4\n");
}

TEST_F(HttpPortTest, TellsAClientToGoOn) {
  Start(Patient());
  RawClient client(number_,
                   "POST /post HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nExpect: "
                   "100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadAnswer().head, "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("abc");
  EXPECT_EQ(client.ReadAnswer().body, "3\n");
}

TEST_F(HttpPortTest, KeepsItsFailuresToItself) {
  Start(Patient());
  const RawClient::Answer answer = Ask(Get("/throws"));
  EXPECT_EQ(answer.status(), 500);
  EXPECT_EQ(answer.body.find("secret"), std::string::npos);
}

// --- The port itself

TEST_F(HttpPortTest, IsNotShared) {
  Start(Patient());
  const std::string address = "127.0.0.1:" + std::to_string(number_);
  HttpPort second({}, Patient());
  const StatusOr<int> started = second.Start(address);
  EXPECT_EQ(started.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(started.status().message(), "cannot listen at " + address + ": Address already in use");
  EXPECT_FALSE(CheckListen(address).ok());
  port_->Stop();
  EXPECT_TRUE(CheckListen(address).ok());
}

TEST(Listen, TakesNamesAndBothKindsOfAddresses) {
  for (const char* address : {"127.0.0.1:0", "localhost:0", "[::1]:0", "[::]:0", "0.0.0.0:0"}) {
    if (address[0] == '[' && !std::ifstream("/proc/net/if_inet6").good()) continue;
    EXPECT_TRUE(CheckListen(address).ok()) << CheckListen(address);
  }
  EXPECT_THAT(std::string(CheckListen("no-such-host.invalid:1").message()),
              StartsWith("cannot listen at no-such-host.invalid:1: "));
  EXPECT_TRUE(absl::IsInvalidArgument(CheckListen("nonsense")));
}

TEST_F(HttpPortTest, LetsAnAnswerLeaveWhenItStops) {
  CloseGate();
  Start(Patient());
  RawClient idle(number_, kProbe);
  EXPECT_EQ(idle.ReadAnswer().status(), 200);
  RawClient asking(number_, Get("/big"));
  WaitUntil([this] { return big_calls_ > 0; });
  const auto stopped = std::async(std::launch::async, [this] { port_->Stop(); });
  gate_->set_value();
  const RawClient::Answer answer = asking.ReadAnswer();
  EXPECT_EQ(answer.body, "big");
  asking.EndSending();
  stopped.wait();
  EXPECT_TRUE(idle.Ended());
}

// Without descriptors nothing can be accepted. The system reports the waiting connection again and
// again, which must not cost processor time.
TEST_F(HttpPortTest, WaitsForDescriptors) {
  if (kSanitized) GTEST_SKIP() << "UBSan looks at objects through a pipe, and there is none";
  Start(Patient());
  RawClient client;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 3;  // open descriptors stay open; poll accepts at most this many
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  client.Connect(number_);
  client.Send(kProbe);
  const auto processor_ms = [] {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
  };
  const auto used = processor_ms();
  LetPass(Duration::Millis(500));
  EXPECT_LT(processor_ms() - used, 250);
  EXPECT_GT(port_->stats().failed, 0u);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(client.ReadAnswer().status(), 200);
}

}  // namespace
}  // namespace freshet
