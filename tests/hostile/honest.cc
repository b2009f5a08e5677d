#include "tests/hostile/honest.h"

#include <algorithm>
#include <unordered_set>

#include "fmt/format.h"
#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"
#include "tests/hostile/socket.h"
#include "tests/support/wall_time.h"

namespace freshet::hostile {
namespace {

double SecondsSince(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

void SetPatience(grpc::ClientContext* call) {
  call->set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(kPatienceSeconds));
}

// Returns "" if the server accepted every item, whatever the outcome; otherwise the reason.
std::string Refusal(const v1::BatchAck& ack) {
  if (ack.has_error()) return ack.error().reason();
  for (const v1::ItemStatus& status : ack.statuses()) {
    if (status.outcome() == v1::ITEM_OUTCOME_REFUSED) return status.error().reason();
  }
  return {};
}

// Sends one message, reads its acknowledgement, and ends the stream.
template <typename Response, typename Stream, typename Request>
std::string Exchange(Stream& stream, const Request& request) {
  Response response;
  const bool answered = stream.Write(request) && stream.Read(&response);
  stream.WritesDone();
  const grpc::Status status = stream.Finish();
  if (!status.ok()) return status.error_message();
  return answered ? Refusal(response.ack()) : "no acknowledgement";
}

}  // namespace

std::string Insist(const std::function<std::string()>& exchange) {
  const SteadyClock::time_point start = SteadyClock::now();
  for (;;) {
    const std::string problem = exchange();
    const double waited = SecondsSince(start);
    if (waited > kPatienceSeconds) {
      return fmt::format("{:.1f} s; {}", waited, problem.empty() ? "then an answer" : problem);
    }
    if (problem.empty()) return {};
    LetPass(Duration::Millis(50));
  }
}

std::string UpsertOnce(const std::shared_ptr<grpc::Channel>& channel,
                       const std::vector<std::string>& urls) {
  grpc::ClientContext call;
  SetPatience(&call);
  const auto stream = v1::PagesService::NewStub(channel)->UpsertPages(&call);
  v1::UpsertPagesRequest request;
  for (const std::string& url : urls) request.add_pages()->set_url(url);
  return Exchange<v1::UpsertPagesResponse>(*stream, request);
}

std::string ProbeOnce(const std::string& http_address, const std::string& path) {
  Socket socket(http_address, kPatienceSeconds * 1000, Opening::kAsServersWant);
  if (!socket.Send("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")) {
    return path + ": no connection";
  }
  const std::string answer = socket.ReceiveAll();
  const bool good = answer.starts_with("HTTP/1.1 200");
  return good ? "" : fmt::format("{}: {}", path, answer.empty() ? "no answer" : answer);
}

Honest::Honest(const Target& target)
    : target_(target),
      worker_channel_(Connect(target.grpc_address, target.honest)),
      ingest_channel_(Connect(target.grpc_address, target.honest)) {}

std::string Honest::Prepare() {
  for (uint64_t start = 0; start < kHonestPages; start += 1000) {
    std::vector<std::string> urls;
    for (uint64_t i = start; i < start + 1000; ++i) urls.push_back(HonestUrl(i));
    const std::string problem = Insist([&] { return UpsertOnce(ingest_channel_, urls); });
    if (!problem.empty()) return "no pages to begin with: " + problem;
    acknowledged_.insert(acknowledged_.end(), urls.begin(), urls.end());
  }
  return {};
}

void Honest::Start() {
  stopping_ = false;
  threads_.emplace_back([this] { Repeat(0, [this] { return Work(); }); });
  threads_.emplace_back([this] { Repeat(1, [this] { return Ingest(); }); });
  threads_.emplace_back([this] { Repeat(2, [this] { return Probe(); }); });
}

void Honest::Stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Honest::Repeat(size_t client, const std::function<std::string()>& exchange) {
  Served& served = served_[client];
  while (!stopping_) {
    const SteadyClock::time_point start = SteadyClock::now();
    const std::string problem = Insist(exchange);
    served.worst_seconds = std::max(served.worst_seconds, SecondsSince(start));
    ++served.exchanges;
    if (!problem.empty()) {
      Fail(fmt::format("the honest {} was not served for {}", served.client, problem));
      return;
    }
    LetPass(Duration::Millis(100));
  }
}

// Takes a few pages and reports them, like a worker that is restarted all the time.
std::string Honest::Work() {
  grpc::ClientContext call;
  SetPatience(&call);
  const auto stream = v1::SchedulerService::NewStub(worker_channel_)->Crawl(&call);
  v1::CrawlRequest request;
  request.mutable_hello()->set_worker("honest");
  stream->Write(request);
  request.mutable_credit()->set_assignments(5);
  stream->Write(request);
  std::vector<uint64_t> leases;
  std::string problem = "no assignment";
  v1::CrawlResponse response;
  while (stream->Read(&response)) {
    if (response.has_result_ack()) {
      problem = Refusal(response.result_ack());
      break;
    }
    for (const v1::Assignment& assignment : response.assignments().assignments()) {
      target_.ledger->Note(assignment);
      leases.push_back(assignment.lease_id());
    }
    if (leases.size() < 5) continue;
    for (const uint64_t lease : leases) {
      v1::CrawlResult& result = *request.mutable_results()->add_results();
      result.set_lease_id(lease);
      result.set_outcome(v1::CRAWL_OUTCOME_UNCHANGED);
    }
    problem = "no acknowledgement of results";
    stream->Write(request);
  }
  stream->WritesDone();
  while (stream->Read(&response)) {
  }
  const grpc::Status status = stream->Finish();
  return status.ok() ? problem : problem + ": " + status.error_message();
}

// Adds new pages on new hosts, so that there is always something to fetch, and signals old ones.
std::string Honest::Ingest() {
  std::vector<std::string> urls;
  const size_t number = acknowledged_.size();
  for (size_t i = 0; i < 20; ++i) {
    urls.push_back(fmt::format("https://new{}.test/{}", number + i % 5, number + i));
  }
  std::string problem = UpsertOnce(ingest_channel_, urls);
  if (!problem.empty()) return "pages: " + problem;
  acknowledged_.insert(acknowledged_.end(), urls.begin(), urls.end());

  grpc::ClientContext call;
  SetPatience(&call);
  const auto stream = v1::IngestService::NewStub(ingest_channel_)->SignalChanges(&call);
  v1::SignalChangesRequest request;
  request.add_signals()->set_url(acknowledged_[number / 2]);
  request.mutable_signals(0)->set_source("sitemap");
  problem = Exchange<v1::SignalChangesResponse>(*stream, request);
  return problem.empty() ? "" : "signals: " + problem;
}

std::string Honest::Probe() {
  const std::string problem = ProbeOnce(target_.http_address, "/healthz");
  return problem.empty() ? ProbeOnce(target_.http_address, "/readyz") : problem;
}

std::string Honest::CheckPages() {
  std::unordered_set<std::string> listed;
  grpc::ClientContext call;
  const auto stream = v1::PagesService::NewStub(ingest_channel_)->ListPages(&call, {});
  v1::ListPagesResponse response;
  while (stream->Read(&response)) {
    for (const v1::Page& page : response.pages()) listed.insert(page.url());
  }
  const grpc::Status status = stream->Finish();
  if (!status.ok()) return "pages cannot be listed: " + status.error_message();
  for (const std::string& url : acknowledged_) {
    if (!listed.contains(url)) return url + " was acknowledged and is not listed";
    if (target_.guarded()) listed.erase(url);
  }
  if (target_.guarded() && !listed.empty()) {
    return *listed.begin() + " came in without an identity";
  }
  return {};
}

void Honest::Fail(const std::string& what) {
  const MutexLock lock(mutex_);
  if (wrong_.empty()) wrong_ = what;
}

std::string Honest::wrong() const {
  const MutexLock lock(mutex_);
  return wrong_;
}

}  // namespace freshet::hostile
