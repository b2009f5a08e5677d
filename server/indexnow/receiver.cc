#include "server/indexnow/receiver.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "fmt/format.h"
#include "server/api/batch.h"
#include "server/api/from_proto.h"
#include "server/logs/loggers.h"
#include "server/ports/http_credentials.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

constexpr size_t kBatch = limits::kMaxItemsPerMessage;
// After which a ping may come again that found too much waiting for keys.
constexpr Duration kBusyTime = Duration::Seconds(10);

HttpResponse TryAgain(int status, std::string_view why, Duration wait) {
  HttpResponse response = TextResponse(status, why);
  const auto seconds = static_cast<int64_t>(std::ceil(std::max(1.0, wait.seconds())));
  response.fields.emplace_back("Retry-After", std::to_string(seconds));
  return response;
}

// The replies to events, once all are durable.
std::vector<Reply> SubmitAndWait(Router& router, std::vector<RoutedEvent> events) {
  struct Waiting {
    Mutex mutex;
    Condition wake;
    bool done FRESHET_GUARDED_BY(mutex) = false;
    std::vector<Reply> replies FRESHET_GUARDED_BY(mutex);
  };
  const auto waiting = std::make_shared<Waiting>();
  (void)router.Submit(std::move(events), [waiting](std::vector<Reply> replies) {
    const MutexLock lock(waiting->mutex);
    waiting->replies = std::move(replies);
    waiting->done = true;
    waiting->wake.NotifyAll();
  });
  const MutexLock lock(waiting->mutex);
  while (!waiting->done) waiting->wake.Wait(waiting->mutex);
  return std::move(waiting->replies);
}

bool MayComeAgain(const Status& status) {
  return absl::IsResourceExhausted(status) || absl::IsUnavailable(status);
}

}  // namespace

IndexNowReceiver::IndexNowReceiver(const ServerContext& context)
    : context_(context), config_(context.config.indexnow), keys_(config_, context.clock) {}

void IndexNowReceiver::Stop() {
  stopping_ = true;
  keys_.Stop();
}

HttpResponse IndexNowReceiver::Answer(const HttpRequest& request) {
  HttpResponse response = Respond(request);
  counters_.Count(response.status);
  return response;
}

HttpResponse IndexNowReceiver::Respond(const HttpRequest& request) {
  if (stopping_) return TryAgain(503, "the server is stopping", kBusyTime);
  if (request.method == "HEAD") return TextResponse(405, "this path takes GET, POST");
  const Instant now = context_.clock.Now();
  const Credentials credentials = CredentialsOf(request);
  const MethodRule* rule = FindMethod(std::string("http:") + kIndexNowPath);
  CHECK(rule != nullptr, "the path has a rule");
  StatusOr<Caller> caller = context_.authoriser.Check(*rule, credentials);
  if (!caller.ok()) return TextResponse(403, std::string(caller.status().message()));
  caller->SetBudget(context_.authoriser.BudgetOf(*caller, credentials, now));
  const std::optional<uint8_t> source = context_.sources.Find(kIndexNowSource);
  if (!source) return TryAgain(503, "the source indexnow is not registered", kBusyTime);
  auto parsed = ParsePing(request, config_);
  if (auto* refusal = std::get_if<HttpResponse>(&parsed)) return std::move(*refusal);
  auto& ping = std::get<Ping>(parsed);
  Duration wait;
  if (const Status admitted = Admit(*caller, ping, *source, now, &wait); !admitted.ok()) {
    if (absl::IsPermissionDenied(admitted)) {
      return TextResponse(403, std::string(admitted.message()));
    }
    return TryAgain(429, std::string(admitted.message()), wait);
  }
  if (config_.verify_keys) {
    const KeyBook::Answer key =
        keys_.Check(ping.file, ping.key, ping.bytes(),
                    [this, urls = ping.urls](bool good) { TakeLater(urls, good); });
    switch (key.standing) {
      case KeyBook::Standing::kGood:
        break;
      case KeyBook::Standing::kBad:
        return TextResponse(403, "key: " + key.why);
      case KeyBook::Standing::kPending:
        counters_.pending += ping.urls.size();
        return TextResponse(202, "the key is being looked up");
      case KeyBook::Standing::kBusy:
        return TryAgain(429, "too much waits for keys to be looked up", kBusyTime);
    }
  }
  const StatusOr<Counts> counts = Take(ping.urls);
  if (!counts.ok()) return TryAgain(503, std::string(counts.status().message()), kBusyTime);
  if (!counts->busy.ok()) {
    const int status = absl::IsResourceExhausted(counts->busy) ? 429 : 503;
    return TryAgain(status, std::string(counts->busy.message()), Duration::Seconds(1));
  }
  return TextResponse(200,
                      fmt::format("{} pages told, {} unknown, {} new, {} refused", counts->applied,
                                  counts->unknown, counts->created, counts->refused));
}

Status IndexNowReceiver::Admit(const Caller& caller, const Ping& ping, uint8_t source, Instant now,
                               Duration* wait) {
  RETURN_IF_ERROR(caller.CheckSource(kIndexNowSource));
  ASSIGN_OR_RETURN(const std::string crawl_id, CanonicalCrawlId(config_.crawl_id));
  RETURN_IF_ERROR(caller.CheckPage(crawl_id, ping.file.host));
  *wait = caller.PayForCall(now);
  if (*wait > Duration()) {
    ++context_.counters.refused_by_client;
    return caller.TooEarly(*wait);
  }
  // What others have sent counts too. What this sends is counted when it is taken: whoever has no
  // key takes nothing away from those that have.
  *wait = context_.sources.TakeSignals(source, 0, now);
  if (*wait > Duration()) {
    ++context_.counters.slowed_by_source;
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "source: {} signals come too fast: try again in {:.3f} s", kIndexNowSource,
                      wait->seconds());
  }
  // It owes what it has sent beyond its rate.
  (void)caller.Pay(ping.urls.size() - 1, now);
  return absl::OkStatus();
}

StatusOr<IndexNowReceiver::Counts> IndexNowReceiver::Take(const std::vector<std::string>& urls) {
  const Instant now = context_.clock.Now();
  std::vector<RoutedEvent> events;
  events.reserve(urls.size());
  v1::ChangeSignal signal;
  signal.set_source(kIndexNowSource);
  signal.set_crawl_id(config_.crawl_id);
  for (const std::string& url : urls) {
    signal.set_url(url);
    ASSIGN_OR_RETURN(RoutedEvent event, ConvertSignal(signal, context_.sources, now));
    events.push_back(std::move(event));
  }
  if (const std::optional<uint8_t> source = context_.sources.Find(kIndexNowSource)) {
    (void)context_.sources.TakeSignals(*source, urls.size(), now);
  }
  // A list is one poll, of which each part shows how far the whole is to be believed.
  SetPolls({.size = urls.size(), .name = fmt::format("indexnow {}", ++serial_)}, &events);
  Counts counts;
  std::vector<size_t> unknown;
  Apply(std::move(events), &counts, &unknown);
  if (config_.create_pages && !unknown.empty()) Create(urls, unknown, &counts);
  Count(counts);
  return counts;
}

void IndexNowReceiver::Apply(std::vector<RoutedEvent> events, Counts* counts,
                             std::vector<size_t>* unknown) {
  for (size_t start = 0; start < events.size(); start += kBatch) {
    const auto begin = events.begin() + static_cast<std::ptrdiff_t>(start);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(kBatch, events.size() - start));
    const std::vector<Reply> replies = SubmitAndWait(
        context_.router, {std::make_move_iterator(begin), std::make_move_iterator(end)});
    for (size_t i = 0; i < replies.size(); ++i) {
      const Status& status = replies[i].status;
      if (!status.ok()) ++context_.counters.signals_refused;
      if (status.ok()) {
        ++counts->applied;
      } else if (absl::IsNotFound(status)) {
        ++counts->unknown;
        unknown->push_back(start + i);
      } else {
        ++counts->refused;
        if (MayComeAgain(status)) counts->busy = status;
      }
    }
  }
}

void IndexNowReceiver::Create(const std::vector<std::string>& urls,
                              const std::vector<size_t>& unknown, Counts* counts) {
  const Instant now = context_.clock.Now();
  std::vector<RoutedEvent> events;
  v1::PageSpec page;
  page.set_crawl_id(config_.crawl_id);
  const auto send = [this, counts, &events] {
    for (const Reply& reply : SubmitAndWait(context_.router, std::exchange(events, {}))) {
      if (reply.status.ok()) {
        ++context_.counters.upserts_applied;
        ++counts->created;
        --counts->unknown;
      } else {
        ++context_.counters.upserts_refused;
        if (MayComeAgain(reply.status)) counts->busy = reply.status;
      }
    }
  };
  for (const size_t place : unknown) {
    page.set_url(urls[place]);
    if (!CheckUrlSize(urls[place], context_.config).ok()) continue;
    StatusOr<RoutedEvent> event = ConvertPage(page, false, now);
    if (!event.ok()) continue;
    events.push_back(*std::move(event));
    if (events.size() == kBatch) send();
  }
  if (!events.empty()) send();
}

void IndexNowReceiver::TakeLater(const std::vector<std::string>& urls, bool good) {
  if (!good) {
    counters_.dropped += urls.size();
    return;
  }
  // Nobody is there any more to be told.
  const StatusOr<Counts> counts = Take(urls);
  if (!counts.ok()) {
    counters_.dropped += urls.size();
    Logger(LogModule::kIndexnow)
        .warn("indexnow: {} URLs are dropped: {}", urls.size(),
              std::string(counts.status().message()));
  }
}

void IndexNowReceiver::Count(const Counts& counts) {
  counters_.applied += counts.applied;
  counters_.unknown += counts.unknown;
  counters_.created += counts.created;
  counters_.refused += counts.refused;
}

IndexNowStats IndexNowReceiver::stats() const {
  const KeyStats keys = keys_.stats();
  IndexNowStats stats;
  for (size_t i = 0; i < kIndexNowStatuses.size(); ++i) {
    stats.requests[kIndexNowStatuses[i]] = counters_.requests[i];
  }
  stats.applied = counters_.applied;
  stats.unknown = counters_.unknown;
  stats.created = counters_.created;
  stats.refused = counters_.refused;
  stats.pending = counters_.pending;
  stats.dropped = counters_.dropped;
  stats.keys_good = keys.good;
  stats.keys_bad = keys.bad;
  stats.keys_unreachable = keys.unreachable;
  stats.pending_bytes = keys.pending_bytes;
  return stats;
}

}  // namespace freshet
