// Tests limits on what clients may send and hold, each just below and above the limit.
#include <atomic>
#include <thread>

#include "httplib.h"
#include "tests/grpc/frontier_client.h"
#include "tests/grpc/guarded_server.h"
#include "tests/grpc/raw_stream.h"
#include "tests/support/gzip.h"

namespace freshet {
namespace {

using grpc::StatusCode;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

v1::UpsertPagesRequest PagesOf(const std::vector<std::string>& urls) {
  v1::UpsertPagesRequest request;
  for (const std::string& url : urls) request.add_pages()->set_url(url);
  return request;
}

v1::SignalChangesRequest SignalsOf(const std::string& source, int count) {
  v1::SignalChangesRequest request;
  for (int i = 0; i < count; ++i) {
    v1::ChangeSignal& signal = *request.add_signals();
    signal.set_url("http://a.test/" + std::to_string(i));
    signal.set_source(source);
  }
  return request;
}

// Returns the time that a stream takes to send `messages` messages and to get their
// acknowledgements.
Duration TimeOf(TestServer& server, const v1::SignalChangesRequest& request, int messages) {
  grpc::ClientContext call;
  const auto stream = server.ingest->SignalChanges(&call);
  const Instant begin = server.clock.Now();
  for (int i = 0; i < messages; ++i) EXPECT_TRUE(stream->Write(request));
  stream->WritesDone();
  v1::SignalChangesResponse response;
  int acks = 0;
  while (stream->Read(&response)) ++acks;
  EXPECT_EQ(acks, messages);
  EXPECT_TRUE(stream->Finish().ok());
  return server.clock.Now() - begin;
}

// An open stream that has sent 900 signals, so that it has exceeded its rate.
class Owing {
 public:
  Owing(TestServer& server, const std::string& source)
      : stream_(server.ingest->SignalChanges(&call_)) {
    v1::SignalChangesResponse response;
    EXPECT_TRUE(stream_->Write(SignalsOf(source, 900)) && stream_->Read(&response));
  }
  ~Owing() {
    call_.TryCancel();
    (void)stream_->Finish();
  }

 private:
  grpc::ClientContext call_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::SignalChangesRequest, v1::SignalChangesResponse>>
      stream_;
};

double Metric(TestServer& server, const std::string& name) {
  const auto answer = httplib::Client("http://" + server.info.http_address).Get("/metrics");
  const std::string text = answer ? answer->body : "";
  const size_t at = text.find("\n" + name + " ");
  EXPECT_NE(at, std::string::npos) << name;
  return at == std::string::npos ? -1 : std::stod(text.substr(at + name.size() + 2));
}

TEST(Limits, OfMessagesItemsAndUrls) {
  TestServer server([](ServerConfig* config) {
    config->max_message_bytes = 4096;
    config->max_message_items = 3;
    config->max_url_bytes = 64;
  });
  const std::string longest = "http://a.test/" + std::string(50, 'x');
  ASSERT_THAT(longest, SizeIs(64));
  const v1::BatchAck ack = server.Upsert(PagesOf({longest, longest + "x", "http://a.test/1"}));
  ASSERT_THAT(ack.statuses(), SizeIs(1));
  EXPECT_EQ(ack.statuses(0).error().reason(), "has 65 bytes, at most 64 are allowed here");
  EXPECT_THAT(
      server
          .Upsert(PagesOf({"http://a.test/", "http://b.test/", "http://c.test/", "http://d.test/"}))
          .error()
          .reason(),
      HasSubstr("4 items, at most 3 are allowed in a message"));
  grpc::ClientContext call;
  const auto stream = server.pages->UpsertPages(&call);
  v1::UpsertPagesResponse response;
  (void)stream->Write(PagesOf({std::string(5000, 'x')}));
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(server.Get("http://a.test/1").page().url(), "http://a.test/1");
}

TEST(Limits, OfMetadata) {
  TestServer server([](ServerConfig* config) { config->max_metadata_bytes = 2048; });
  server.UpsertMany(1);
  const auto get = [&](size_t bytes) {
    grpc::ClientContext call;
    call.AddMetadata("x-large", std::string(bytes, 'x'));
    v1::GetPageRequest request;
    request.set_url(TestServer::Url(0));
    v1::GetPageResponse response;
    return server.pages->GetPage(&call, request, &response).error_code();
  };
  EXPECT_EQ(get(1000), StatusCode::OK);
  EXPECT_EQ(get(3000), StatusCode::RESOURCE_EXHAUSTED);
  // After this much metadata, gRPC can close the connection. The next connection works.
  StatusCode after = get(1000);
  for (int tries = 0; after == StatusCode::UNAVAILABLE && tries < 100; ++tries) after = get(1000);
  EXPECT_EQ(after, StatusCode::OK);
}

TEST(Limits, OfHostsAndTheirPages) {
  TestServer server([](ServerConfig* config) {
    config->shards = 2;
    config->max_hosts = 2;
    config->max_pages_per_host = 2;
  });
  const v1::BatchAck ack =
      server.Upsert(PagesOf({"http://a.test/1", "http://a.test/2", "http://a.test/3",
                             "http://b.test/1", "http://c.test/1"}));
  ASSERT_THAT(ack.statuses(), SizeIs(2)) << ack.DebugString();
  EXPECT_EQ(ack.statuses(0).error().reason(), "host a.test already has 2 pages, the maximum");
  EXPECT_EQ(ack.statuses(1).error().code(), v1::ERROR_CODE_RESOURCE_EXHAUSTED);
  EXPECT_THAT(ack.statuses(1).error().reason(), HasSubstr("already has 2 hosts"));
  // Trying again does not help, so the error is not retryable.
  for (const v1::ItemStatus& status : ack.statuses()) EXPECT_FALSE(status.error().retryable());
  // After a restart pages are counted again, and freed room can be used.
  server.Restart();
  const v1::BatchAck again = server.Upsert(PagesOf({"http://c.test/1", "http://b.test/1"}));
  EXPECT_THAT(again.statuses(), SizeIs(1)) << again.DebugString();
  v1::RemovePagesRequest remove;
  remove.add_urls("http://a.test/1");
  grpc::ClientContext call;
  v1::RemovePagesResponse removed;
  ASSERT_TRUE(server.pages->RemovePages(&call, remove, &removed).ok());
  EXPECT_THAT(server.Upsert(PagesOf({"http://a.test/3"})).statuses(), IsEmpty());
  EXPECT_EQ(Metric(server, "freshet_limit{name=\"hosts\"}"), 2);
}

// Hosts have no owners. A maximum of pages that an operator sets for a team's crawl id also limits
// the number of hosts that the team can add.
TEST(Limits, OfHostsAreNotUsedUpByACrawlIdWithAMaximumOfPages) {
  GuardedServer server({{"team", "    roles: [ingester]\n    crawl_ids: [team]\n"},
                        {"other", "    roles: [ingester]\n"},
                        {"root", "    roles: [admin]\n"}},
                       [](ServerConfig* config) {
                         config->shards = 2;
                         config->max_hosts = 20;
                       });
  v1::SetCrawlRequest set;
  set.set_crawl_id("team");
  set.set_max_pages(5);
  v1::SetCrawlResponse was_set;
  grpc::ClientContext call;
  ASSERT_TRUE(v1::AdminService::NewStub(server.Open(server.Token("root")))
                  ->SetCrawl(&call, set, &was_set)
                  .ok());
  const auto refused = [&server](const std::string& name, const std::string& crawl_id, int hosts) {
    v1::UpsertPagesRequest request;
    for (int i = 0; i < hosts; ++i) {
      v1::PageSpec& page = *request.add_pages();
      page.set_url(fmt::format("http://{}{}.test/", name, i));
      page.set_crawl_id(crawl_id);
    }
    grpc::ClientContext upserting;
    const auto stream =
        v1::PagesService::NewStub(server.Open(server.Token(name)))->UpsertPages(&upserting);
    v1::UpsertPagesResponse response;
    EXPECT_TRUE(stream->Write(request) && stream->Read(&response));
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    return response.ack().statuses_size();
  };
  EXPECT_EQ(refused("team", "team", 1000), 995);
  EXPECT_EQ(refused("team", "another", 10), 10) << "and it may name no other";
  EXPECT_EQ(refused("other", "DEFAULT", 15), 0);
  EXPECT_EQ(refused("other", "DEFAULT", 20), 5) << "the server has 20 hosts";
}

TEST(Limits, OfCredit) {
  TestServer server([](ServerConfig* config) {
    config->max_credit = 3;
    config->crawl_rate = Rate::PerSecond(1000);
  });
  server.UpsertMany(20);
  grpc::ClientContext call;
  const auto stream = server.scheduler->Crawl(&call);
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker("w");
  ASSERT_TRUE(stream->Write(hello));
  v1::CrawlRequest credit;
  credit.mutable_credit()->set_assignments(10);
  ASSERT_TRUE(stream->Write(credit));
  stream->WritesDone();
  v1::CrawlResponse response;
  int assignments = 0;
  while (stream->Read(&response)) assignments += response.assignments().assignments_size();
  EXPECT_EQ(assignments, 3);
  EXPECT_TRUE(stream->Finish().ok());
}

TEST(Limits, OfStreamsOfAClient) {
  GuardedServer server({{"a", "    roles: [ingester]\n"}, {"b", "    roles: [ingester]\n"}},
                       [](ServerConfig* config) { config->max_streams_per_client = 2; });
  struct Open {
    std::unique_ptr<v1::IngestService::Stub> stub;
    grpc::ClientContext call;
    std::unique_ptr<grpc::ClientReaderWriter<v1::SignalChangesRequest, v1::SignalChangesResponse>>
        stream;
  };
  v1::SignalChangesResponse response;
  const auto open = [&](const std::string& who) {
    auto one = std::make_unique<Open>();
    one->stub = v1::IngestService::NewStub(server.Open(server.Token(who)));
    one->stream = one->stub->SignalChanges(&one->call);
    (void)one->stream->Write(SignalsOf("cdn", 1));
    return one;
  };
  const auto first = open("a");
  EXPECT_TRUE(first->stream->Read(&response));
  const auto second = open("a");
  EXPECT_TRUE(second->stream->Read(&response));
  // The same client opens a stream over another connection.
  const auto third = open("a");
  EXPECT_FALSE(third->stream->Read(&response));
  const grpc::Status refused = third->stream->Finish();
  EXPECT_EQ(refused.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(),
              HasSubstr("2 streams of this client are open, the most that one may have"));
  const auto other = open("b");
  EXPECT_TRUE(other->stream->Read(&response)) << "it is another client";
  // A stream that ends frees its place.
  second->stream->WritesDone();
  EXPECT_TRUE(second->stream->Finish().ok());
  for (int tries = 0;; ++tries) {
    const auto again = open("a");
    if (again->stream->Read(&response)) break;
    ASSERT_LT(tries, 100) << "the place of a stream that has ended is not given again";
  }
}

// A client without an identity is identified by its address.
TEST(Limits, OfItemsASecondOfAClient) {
  TestServer server([](ServerConfig* config) { config->items_per_second_per_client = 100; });
  // The 300 items take 1.5 s: the first 100 are free, and the client does not wait after its last
  // message, which has 50 items.
  EXPECT_GE(TimeOf(server, SignalsOf("cdn", 50), 6), Duration::Millis(1450));
  EXPECT_GE(Metric(server,
                   "freshet_over_limit_total{name=\"items_per_second_per_client\","
                   "outcome=\"slowed\"}"),
            1);
  // Unary calls share the debt of the client's streams. Their refusals tell when to try again.
  const Owing owing(server, "cdn");
  grpc::ClientContext call;
  v1::GetPageRequest request;
  request.set_url("http://a.test/");
  v1::GetPageResponse response;
  const grpc::Status refused = server.pages->GetPage(&call, request, &response);
  EXPECT_EQ(refused.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_THAT(refused.error_message(), HasSubstr("this client may send 100 items a second: try "));
  const auto& trailers = call.GetServerTrailingMetadata();
  const auto pushback = trailers.find("grpc-retry-pushback-ms");
  ASSERT_NE(pushback, trailers.end());
  EXPECT_GT(std::stoi(std::string(pushback->second.data(), pushback->second.size())), 0);
  grpc::ClientContext next_call;
  v1::NextResponse next;
  EXPECT_EQ(server.scheduler->Next(&next_call, {}, &next).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
}

// After two clients have opened all streams that they may, there are places for others and for
// admins.
TEST(Limits, OfStreamsLeavePlacesForNewClients) {
  const std::string ingester = "    roles: [ingester]\n";
  GuardedServer server(
      {{"one", ingester}, {"two", ingester}, {"new", ingester}, {"admin", "    roles: [admin]\n"}},
      [](ServerConfig* config) {
        config->max_streams = 64;
        config->max_streams_per_client = 64;
      });
  struct Stream {
    grpc::ClientContext call;
    std::unique_ptr<grpc::ClientReaderWriter<v1::UpsertPagesRequest, v1::UpsertPagesResponse>> half;
  };
  std::vector<std::unique_ptr<Stream>> open;
  const auto opened = [&](const std::string& who) {
    const auto pages = v1::PagesService::NewStub(server.Open(server.Token(who)));
    int count = 0;
    while (count < 100) {
      auto stream = std::make_unique<Stream>();
      stream->half = pages->UpsertPages(&stream->call);
      v1::UpsertPagesResponse response;
      (void)stream->half->Write(PagesOf({"http://a.test/"}));
      if (!stream->half->Read(&response)) {
        EXPECT_EQ(stream->half->Finish().error_code(), StatusCode::RESOURCE_EXHAUSTED);
        return count;
      }
      open.push_back(std::move(stream));
      ++count;
    }
    return count;
  };
  EXPECT_EQ(opened("one"), 48);
  EXPECT_EQ(opened("two"), 8) << "it has few";
  EXPECT_EQ(opened("new"), 1) << "it has none";
  EXPECT_EQ(opened("admin"), 7);
  for (const auto& stream : open) {
    stream->call.TryCancel();
    (void)stream->half->Finish();
  }
}

// Lists and pulls count like other calls. Otherwise, a client could make any number of them.
TEST(Limits, OfItemsASecondWithCallsThatOnlyTake) {
  TestServer server([](ServerConfig* config) { config->items_per_second_per_client = 10; });
  FrontierClient frontier(server.channel);
  const auto ends = [](const std::function<StatusCode()>& call) {
    for (int i = 0; i < 100; ++i) {
      if (call() == StatusCode::RESOURCE_EXHAUSTED) return true;
    }
    return false;
  };
  EXPECT_TRUE(ends([&] {
    grpc::ClientContext call;
    const auto list = server.pages->ListPages(&call, v1::ListPagesRequest());
    v1::ListPagesResponse page;
    while (list->Read(&page)) {
    }
    return list->Finish().error_code();
  }));
  EXPECT_TRUE(ends([&] {
    grpc::ClientContext call;
    const auto urls = frontier.stub->GetURLs(&call, urlfrontier::GetParams());
    urlfrontier::URLInfo url;
    while (urls->Read(&url)) {
    }
    return urls->Finish().error_code();
  }));
}

// An unreadable message counts, too, according to its size after inflation.
TEST(Limits, OfItemsASecondWithMessagesThatAreRefused) {
  TestServer server([](ServerConfig* config) { config->items_per_second_per_client = 100; });
  RawStream stream(server, "/freshet.v1.PagesService/UpsertPages");
  // Each unreadable message of 4 MiB counts as 64 items; the first 100 items are free.
  const std::string bytes = Gzip(std::string(4 << 20, '\xff'));
  const Instant begin = server.clock.Now();
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(stream.Exchange<v1::UpsertPagesResponse>(bytes).ack().has_error());
  }
  EXPECT_GE(server.clock.Now() - begin, Duration::Millis(1450));
}

// Opening several streams, one after the other or at the same time, does not raise a client's rate.
TEST(Limits, OfItemsASecondOverManyStreams) {
  TestServer server([](ServerConfig* config) { config->items_per_second_per_client = 100; });
  const Instant begin = server.clock.Now();
  for (int i = 0; i < 5; ++i) (void)TimeOf(server, SignalsOf("cdn", 50), 1);
  // The 250 items take 1.5 s: the first 100 are free, and the last stream waits, too.
  EXPECT_GE(server.clock.Now() - begin, Duration::Millis(1450));
  const Instant again = server.clock.Now();
  // A cancelled stream leaves its debt to the next stream.
  for (int i = 0; i < 3; ++i) {
    grpc::ClientContext call;
    const auto stream = server.ingest->SignalChanges(&call);
    v1::SignalChangesResponse response;
    EXPECT_TRUE(stream->Write(SignalsOf("cdn", 100)) && stream->Read(&response));
    call.TryCancel();
    (void)stream->Finish();
  }
  EXPECT_GE(server.clock.Now() - again, Duration::Millis(1450));
}

// Some crawlers open a stream for each URL.
TEST(Limits, OfItemsASecondOverAStreamForEachUrl) {
  TestServer server([](ServerConfig* config) { config->items_per_second_per_client = 100; });
  FrontierClient client(server.channel);
  const Instant begin = server.clock.Now();
  for (int i = 0; i < 250; ++i) {
    EXPECT_EQ(client.Put(Discovered("http://a.test/" + std::to_string(i))), "OK");
  }
  // The first 100 items are free, and the last stream waits, too.
  EXPECT_GE(server.clock.Now() - begin, Duration::Millis(1450));
}

TEST(Limits, OfItemsASecondOfASource) {
  TestServer server([](ServerConfig* config) {
    config->items_per_second_per_source = 1e6;
    config->items_per_second_of_source = {{"cdn", 100}};
  });
  EXPECT_GE(TimeOf(server, SignalsOf("cdn", 50), 6), Duration::Millis(1450));
  EXPECT_GE(Metric(server,
                   "freshet_over_limit_total{name=\"items_per_second_per_source\","
                   "outcome=\"slowed\"}"),
            1);
  // The debt of this source does not delay others.
  const Owing owing(server, "cdn");
  EXPECT_LT(TimeOf(server, SignalsOf("sitemap", 50), 6), Duration::Seconds(7));
}

// Ingesters can keep one stream for ever. If no grace period is configured, the server does not end
// a stream because its connection is old.
TEST(Limits, OfTheAgeOfConnections) {
  TestServer server([](ServerConfig* config) {
    config->max_connection_age = Duration::Millis(300);
    config->max_connection_idle = Duration::Millis(300);
  });
  grpc::ClientContext call;
  const auto stream = server.ingest->SignalChanges(&call);
  v1::SignalChangesResponse response;
  const Instant end = server.clock.Now() + Duration::Millis(1500);
  while (server.clock.Now() < end) {
    ASSERT_TRUE(stream->Write(SignalsOf("cdn", 1)) && stream->Read(&response));
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Finish().ok());
  // Other calls of the channel use newer connections, which the server closes after a short time.
  const auto connections = [&] { return Metric(server, "freshet_connections"); };
  EXPECT_TRUE(Eventually([&] { return connections() == 0; }));
}

TEST(Limits, OfTheGraceOfOldConnections) {
  TestServer server([](ServerConfig* config) {
    config->max_connection_age = Duration::Millis(200);
    config->connection_grace = Duration::Millis(200);
  });
  grpc::ClientContext call;
  const auto stream = server.ingest->SignalChanges(&call);
  v1::SignalChangesResponse response;
  ASSERT_TRUE(stream->Write(SignalsOf("cdn", 1)) && stream->Read(&response));
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAVAILABLE) << "it may be tried again";
}

// One of a thousand clients sends as much as it can. It gets only its share, and the other clients
// are always answered.
TEST(Limits, AFloodIsNotNoticedByOthers) {
  constexpr int kGood = 999;
  constexpr int kRounds = 3;
  constexpr double kRate = 200;
  std::vector<std::pair<std::string, std::string>> identities;
  for (int i = 0; i <= kGood; ++i) {
    identities.emplace_back("c" + std::to_string(i), "    roles: [ingester]\n");
  }
  GuardedServer server(identities, [](ServerConfig* config) {
    config->items_per_second_per_client = kRate;
    config->mailbox_events = 1000;
  });
  SystemClock clock;
  std::atomic<bool> done = false;
  uint64_t flooded = 0;
  const Instant begin = clock.Now();
  grpc::ClientContext flooding;
  std::thread flood([&, stub = v1::IngestService::NewStub(server.Open(server.Token("c0")))] {
    const auto stream = stub->SignalChanges(&flooding);
    std::thread reader([&] {
      v1::SignalChangesResponse response;
      while (stream->Read(&response)) flooded += response.ack().item_count();
    });
    const v1::SignalChangesRequest request = SignalsOf("cdn", 100);
    while (!done && stream->Write(request)) {
    }
    reader.join();
    (void)stream->Finish();
  });
  // The well-behaved clients share connections. Their identities distinguish them.
  const auto channel = server.Open(Showing{});
  const auto stub = v1::IngestService::NewStub(channel);
  std::vector<std::unique_ptr<grpc::ClientContext>> calls;
  std::vector<std::unique_ptr<
      grpc::ClientReaderWriter<v1::SignalChangesRequest, v1::SignalChangesResponse>>>
      streams;
  for (int i = 1; i <= kGood; ++i) {
    calls.push_back(std::make_unique<grpc::ClientContext>());
    calls.back()->AddMetadata("authorization", "Bearer c" + std::to_string(i) + "-token");
    streams.push_back(stub->SignalChanges(calls.back().get()));
  }
  const v1::SignalChangesRequest request = SignalsOf("feed", 2);
  for (int round = 0; round < kRounds; ++round) {
    for (const auto& stream : streams) ASSERT_TRUE(stream->Write(request));
    v1::SignalChangesResponse response;
    for (const auto& stream : streams) {
      ASSERT_TRUE(stream->Read(&response));
      // These pages do not exist, so the server had to look for each of them.
      ASSERT_EQ(response.ack().statuses_size(), 2) << response.DebugString();
    }
  }
  done = true;
  for (const auto& stream : streams) stream->WritesDone();
  for (const auto& stream : streams) EXPECT_TRUE(stream->Finish().ok());
  // A Write can wait for minutes, because the server reads at the permitted rate.
  flooding.TryCancel();
  flood.join();
  const double seconds = (clock.Now() - begin).seconds();
  EXPECT_GE(flooded, 100U);
  EXPECT_LE(static_cast<double>(flooded), kRate * (seconds + 1) + 200) << seconds << " s";
}

}  // namespace
}  // namespace freshet
