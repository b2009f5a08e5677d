#include "tests/upgrade/release_store.h"

#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <vector>

#include "fmt/format.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"
#include "gtest/gtest.h"
#include "tests/grpc/frontier_client.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using Admin = v1::AdminService::Stub;

template <typename Message>
Message FromText(const std::string& text) {
  Message message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// Clients of all services. Owner thread only.
class Clients {
 public:
  explicit Clients(const std::shared_ptr<grpc::Channel>& channel)
      : admin_(v1::AdminService::NewStub(channel)),
        pages_(v1::PagesService::NewStub(channel)),
        ingest_(v1::IngestService::NewStub(channel)),
        scheduler_(v1::SchedulerService::NewStub(channel)),
        frontier(channel) {}

  template <typename Request, typename Response>
  Response Call(grpc::Status (Admin::*method)(grpc::ClientContext*, const Request&, Response*),
                const std::string& request = "") {
    return Unary<Response>(*admin_, method, FromText<Request>(request));
  }
  v1::NextResponse Next(const std::string& request) {
    return Unary<v1::NextResponse>(*scheduler_, &v1::SchedulerService::Stub::Next,
                                   FromText<v1::NextRequest>(request));
  }
  void Remove(const std::string& request) {
    (void)Unary<v1::RemovePagesResponse>(*pages_, &v1::PagesService::Stub::RemovePages,
                                         FromText<v1::RemovePagesRequest>(request));
  }
  void Recheck(const std::string& request) {
    (void)Unary<v1::RecheckPagesResponse>(*pages_, &v1::PagesService::Stub::RecheckPages,
                                          FromText<v1::RecheckPagesRequest>(request));
  }
  v1::Page Get(const std::string& url) {
    v1::GetPageRequest request;
    request.set_url(url);
    return Unary<v1::GetPageResponse>(*pages_, &v1::PagesService::Stub::GetPage, request).page();
  }
  void Upsert(const std::string& request) {
    Exchange<v1::UpsertPagesRequest, v1::UpsertPagesResponse>(
        [&](grpc::ClientContext* call) { return pages_->UpsertPages(call); }, request);
  }
  void Report(const std::string& request) {
    Exchange<v1::ReportCrawlsRequest, v1::ReportCrawlsResponse>(
        [&](grpc::ClientContext* call) { return ingest_->ReportCrawls(call); }, request);
  }
  void Signal(const std::string& request) {
    Exchange<v1::SignalChangesRequest, v1::SignalChangesResponse>(
        [&](grpc::ClientContext* call) { return ingest_->SignalChanges(call); }, request);
  }
  std::vector<v1::PageRecord> Export() {
    grpc::ClientContext call;
    const auto stream = pages_->ExportPages(&call, {});
    std::vector<v1::PageRecord> records;
    for (v1::ExportPagesResponse part; stream->Read(&part);) {
      records.insert(records.end(), part.pages().begin(), part.pages().end());
    }
    EXPECT_TRUE(stream->Finish().ok());
    return records;
  }

 private:
  template <typename Response, typename Stub, typename Request>
  static Response Unary(Stub& stub,
                        grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&,
                                                     Response*),
                        const Request& request) {
    Response response;
    grpc::ClientContext call;
    const grpc::Status status = (stub.*method)(&call, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message() << "\n" << request.DebugString();
    return response;
  }
  template <typename Request, typename Response, typename Open>
  static void Exchange(const Open& open, const std::string& request) {
    grpc::ClientContext call;
    const auto stream = open(&call);
    Response response;
    EXPECT_TRUE(stream->Write(FromText<Request>(request)));
    EXPECT_TRUE(stream->Read(&response));
    for (const v1::ItemStatus& status : response.ack().statuses()) {
      EXPECT_NE(status.outcome(), v1::ITEM_OUTCOME_REFUSED) << status.DebugString();
    }
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
  }

  std::unique_ptr<v1::AdminService::Stub> admin_;
  std::unique_ptr<v1::PagesService::Stub> pages_;
  std::unique_ptr<v1::IngestService::Stub> ingest_;
  std::unique_ptr<v1::SchedulerService::Stub> scheduler_;

 public:
  FrontierClient frontier;
};

constexpr int64_t kDay = 86400;

// --- Filling

void SetUp(Clients& clients) {
  clients.Call(&Admin::RegisterSource, "source: 'shop'");
  clients.Call(&Admin::UnregisterSource, "source: 'feed'");
  clients.Call(&Admin::SetPolicy, "policy: 'greedy_ncis'");
  clients.Call(&Admin::SetCrawlRate, "crawl_rate_per_second: 200");
  clients.Call(&Admin::SetPolitenessDefaults,
               "min_delay {} max_in_flight: 0 min_page_interval { seconds: 1 }");
  clients.Call(&Admin::SetCrawl,
               "crawl_id: 'shop' share: 0.25 max_rate_per_second: 100 max_pages: 1000 "
               "min_delay { nanos: 5000000 } max_in_flight: 3 min_page_interval { seconds: 2 }");
}

void AddPages(Clients& clients, int64_t now) {
  std::string request;
  for (int i = 0; i < 24; ++i) {
    request += fmt::format("pages {{ url: 'https://site{}.example/page{}' importance: {} }} ",
                           i % 4, i, 1 + i % 3);
  }
  request += fmt::format(
      "pages {{ url: 'https://set.example/all?q=1' importance: 7.5 min_interval {{ seconds: 3600 "
      "}} "
      "max_interval {{ seconds: 864000 }} not_before {{ seconds: {} }} "
      "known_change_rate_per_day: 0.75 complete_signals: true }} ",
      now + 30 * kDay);
  for (int i = 0; i < 6; ++i) {
    request += fmt::format("pages {{ url: 'https://shop.example/{}' crawl_id: 'shop' }} ", i);
  }
  request += "pages { url: 'https://site0.example/removed' }";
  clients.Upsert(request);
  clients.Remove("urls: 'https://site0.example/removed'");
}

// Reports crawls of the last two months that the server did not assign.
void TellPast(Clients& clients, int64_t now) {
  for (int crawl = 8; crawl > 0; --crawl) {
    std::string request;
    for (int page = 0; page < 8; ++page) {
      const bool changed = crawl == 8 || (crawl + page) % 3 == 0;
      request += fmt::format(
          "results {{ url: 'https://site{}.example/page{}' fetch_time {{ seconds: {} }} "
          "outcome: {} http_status: 200 content_digest: 'digest{}' etag: '\"v{}\"' "
          "last_modified {{ seconds: {} }} }} ",
          page % 4, page, now - crawl * 7 * kDay,
          changed ? "CRAWL_OUTCOME_CHANGED" : "CRAWL_OUTCOME_UNCHANGED", crawl, crawl,
          now - (crawl * 7 + 1) * kDay);
    }
    clients.Report(request);
  }
}

std::string Result(const v1::Assignment& page, const std::string& rest) {
  return fmt::format("results {{ url: '{}' crawl_id: '{}' lease_id: {} {} }} ", page.url(),
                     page.crawl_id(), page.lease_id(), rest);
}

// Reports each possible outcome of a lease.
void Crawl(Clients& clients) {
  const std::vector<std::string> outcomes = {
      "outcome: CRAWL_OUTCOME_CHANGED content_digest: 'new' etag: '\"n\"' http_status: 200",
      "outcome: CRAWL_OUTCOME_UNCHANGED http_status: 304",
      "outcome: CRAWL_OUTCOME_ERROR http_status: 500",
      "http_status: 503 retry_after { seconds: 7200 }",
      "http_status: 429",
      "outcome: CRAWL_OUTCOME_GONE http_status: 404",
      "outcome: CRAWL_OUTCOME_MOVED http_status: 301 moved_to: 'https://site1.example/new'",
      "outcome: CRAWL_OUTCOME_ROBOTS_DENIED crawl_delay { seconds: 10 }",
      "outcome: CRAWL_OUTCOME_UNCHANGED server_address: '192.0.2.7'"};
  for (const std::string& outcome : outcomes) {
    const v1::NextResponse next =
        clients.Next("worker: 'golden' max_assignments: 1 max_wait { seconds: 20 }");
    ASSERT_EQ(next.assignments_size(), 1) << outcome;
    clients.Report(Result(next.assignments(0), outcome));
  }
}

// Takes leases that stay open, and one that expires.
void Lease(Clients& clients) {
  const v1::NextResponse lost = clients.Next(
      "worker: 'lost' max_assignments: 1 max_wait { seconds: 20 } lease_duration { seconds: 1 }");
  ASSERT_EQ(lost.assignments_size(), 1);
  WaitUntil([&] { return clients.Get(lost.assignments(0).url()).unanswered_leases() > 0; });
  for (int i = 0; i < 3; ++i) {
    const v1::NextResponse next = clients.Next(
        "worker: 'holder' max_assignments: 1 max_wait { seconds: 20 } "
        "lease_duration { seconds: 86400 }");
    ASSERT_EQ(next.assignments_size(), 1);
  }
}

void SetHosts(Clients& clients, int64_t now) {
  clients.Call(
      &Admin::SetHostPoliteness,
      "host: 'set.example' min_delay { seconds: 5 } max_in_flight: 4 "
      "min_page_interval { seconds: 90 } max_crawls { count: 1000 per { seconds: 86400 } } "
      "hours: '22:00-06:00+02:00'");
  clients.Call(
      &Admin::SetHostPoliteness,
      fmt::format("host: 'shop.example' blocked_until {{ seconds: {} }}", now + 40 * kDay));
}

void SignalPages(Clients& clients, int64_t now) {
  std::string many;
  for (int page = 8; page < 20; ++page) {
    many += fmt::format(
        "signals {{ url: 'https://site{}.example/page{}' source: 'sitemap' "
        "change_time {{ seconds: {} }} }} ",
        page % 4, page, now + 60);
  }
  clients.Signal(many);
  clients.Signal(
      "signals { url: 'https://set.example/all?q=1' source: 'cdn' signal_id: 'ping-1' } "
      "poll_size: 1");
  clients.Recheck("urls: 'https://site3.example/page23'");
}

uf::URLItem Known(const std::string& url, uint64_t date, const std::string& key) {
  uf::URLItem item = KnownUntil(date, url, key, "uf");
  uf::StringList values;
  values.add_values("one");
  values.add_values("two");
  (*item.mutable_known()->mutable_info()->mutable_metadata())["kept"] = values;
  return item;
}

void FillFrontier(FrontierClient& frontier, int64_t now) {
  const auto date = static_cast<uint64_t>(now + 400 * kDay);
  std::vector<uf::URLItem> items;
  for (int i = 0; i < 4; ++i) {
    items.push_back(Discovered(fmt::format("https://due{}.example/x", i), "", "uf"));
    items.push_back(Discovered(fmt::format("https://web{}.example/x", i), "", "web"));
  }
  items.push_back(Known("https://later.example/", date, "key"));
  items.push_back(Known("https://done.example/", 0, "key"));
  for (const auto& [url, outcome] : frontier.Put(items)) EXPECT_EQ(outcome, "OK") << url;
  EXPECT_EQ(frontier.GetInfos(ParamsIn("uf", 1, 2, 86000)).size(), 2U);
  frontier.SetDelay("due3.example", 17, "uf");
  frontier.Block("due2.example", date, "uf");
  EXPECT_TRUE(frontier.SetLimit("key", 5, "uf").ok());
  frontier.SetDelay("", 2);
}

// --- Describe

// Rounds numbers to four digits, because the last digits can differ between compilers.
std::string Rounded(const std::string& json) {
  std::string text;
  bool quoted = false;
  for (size_t at = 0; at < json.size();) {
    const char c = json[at];
    if (c == '"' && (at == 0 || json[at - 1] != '\\')) quoted = !quoted;
    const size_t end = json.find_first_not_of("+-.0123456789e", at);
    if (quoted || end == at || (std::isdigit(c) == 0 && c != '-')) {
      text += c;
      ++at;
      continue;
    }
    const std::string number = json.substr(at, end - at);
    const bool whole = number.find_first_of(".e") == std::string::npos;
    text += whole ? number : fmt::format("{:.4g}", std::stod(number));
    at = end;
  }
  return text;
}

// Owner thread only.
class Description {
 public:
  void Add(const std::string& what, const google::protobuf::Message& message) {
    std::string json;
    EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &json).ok());
    lines_.push_back(what + " " + Rounded(json) + "\n");
  }
  void Add(const std::string& what, const std::string& value) {
    lines_.push_back(what + " " + value + "\n");
  }
  std::string Text() {
    std::sort(lines_.begin(), lines_.end());
    std::string text;
    for (const std::string& line : lines_) text += line;
    return text;
  }

 private:
  std::vector<std::string> lines_;
};

// Returns the crawl without the counts since the start of the server.
v1::Crawl Stored(const v1::Crawl& crawl) {
  v1::Crawl stored;
  stored.set_crawl_id(crawl.crawl_id());
  *stored.mutable_settings() = crawl.settings();
  stored.set_deleting(crawl.deleting());
  stored.set_pages(crawl.pages());
  stored.set_hosts(crawl.hosts());
  stored.set_out(crawl.out());
  return stored;
}

// Returns the counts in sorted order, because JSON has the entries of a map in any order.
std::string Counts(const uf::Stats& stats) {
  std::string text = fmt::format("size={} in_process={} queues={}", stats.size(), stats.inprocess(),
                                 stats.numberofqueues());
  const std::map<std::string, uint64_t> sorted(stats.counts().begin(), stats.counts().end());
  for (const auto& [name, count] : sorted) text += fmt::format(" {}={}", name, count);
  return text;
}

void DescribeFrontier(FrontierClient& frontier, Description& text) {
  for (const std::string& crawl : frontier.Crawls()) {
    text.Add("frontier crawl", crawl);
    text.Add("frontier statistics of " + crawl, Counts(frontier.Stats(crawl)));
    uf::Pagination page;
    page.set_crawlid(crawl);
    page.set_include_inactive(true);
    for (const std::string& queue : frontier.Queues(page)) {
      text.Add("frontier queue of " + crawl + " " + queue, Counts(frontier.Stats(crawl, queue)));
    }
    uf::ListUrlParams list;
    list.set_crawlid(crawl);
    list.set_size(1000);
    for (const uf::URLItem& item : frontier.List(list)) text.Add("frontier URL of " + crawl, item);
  }
  text.Add("frontier active", frontier.IsActive() ? "yes" : "no");
}

}  // namespace

void FillStore(const std::shared_ptr<grpc::Channel>& channel, Instant now) {
  Clients clients(channel);
  const int64_t seconds = now.micros() / 1'000'000;
  SetUp(clients);
  AddPages(clients, seconds);
  TellPast(clients, seconds);
  SetHosts(clients, seconds);
  Crawl(clients);
  Lease(clients);
  SignalPages(clients, seconds);
  FillFrontier(clients.frontier, seconds);
  clients.Call(&Admin::RunEpoch);
  clients.Call(&Admin::SetCrawlRate, "crawl_rate_per_second: 12.5");
  clients.Call(&Admin::Pause, "reason: 'kept for tests'");
}

std::string DescribeStore(const std::shared_ptr<grpc::Channel>& channel) {
  Clients clients(channel);
  Description text;
  std::set<std::string> hosts;
  for (const v1::PageRecord& record : clients.Export()) {
    text.Add("page", record);
    hosts.insert(record.page().host());
  }
  for (const std::string& host : hosts) {
    text.Add("host", clients.Call(&Admin::GetHost, "host: '" + host + "'").host_state());
  }
  const v1::ListSourcesResponse sources = clients.Call(&Admin::ListSources);
  const v1::ListCrawlsResponse crawls = clients.Call(&Admin::ListCrawls);
  for (const v1::Crawl& crawl : crawls.crawls()) text.Add("crawl", Stored(crawl));
  for (const v1::Source& source : sources.sources()) text.Add("source", source.source());
  text.Add("trust", clients.Call(&Admin::GetTrustReport, "limit: 1000"));
  text.Add("rate", clients.Call(&Admin::GetCrawlRate));
  text.Add("policy", clients.Call(&Admin::GetPolicy).policy());
  text.Add("politeness", clients.Call(&Admin::GetPolitenessDefaults));
  const v1::GetStatisticsResponse now = clients.Call(&Admin::GetStatistics);
  text.Add("counts", fmt::format("pages={} hosts={} gone={} leases={} epoch={}",
                                 now.pages().pages(), now.pages().hosts(), now.pages().gone_pages(),
                                 now.schedule().open_leases(), now.pages().epoch()));
  text.Add("pause", now.schedule().paused() ? now.schedule().pause_reason() : "none");
  DescribeFrontier(clients.frontier, text);
  return text.Text();
}

}  // namespace freshet
