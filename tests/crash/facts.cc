#include "tests/crash/facts.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>

#include "fmt/format.h"

namespace freshet::crash {
namespace {

constexpr int64_t kMicros = 1'000'000;
// Fetches are dated this far ahead of the clock, so that every event that was acknowledged before a
// fetch is also dated before it. If an event comes less than kNear after a fetch, the server can
// treat it as older or as newer than the fetch.
constexpr int64_t kClockAhead = 2'000;
constexpr int64_t kNear = 50'000;
constexpr size_t kMaxAhead = 16;
// The server omits a longer ETag, and takes the rest of the result.
constexpr size_t kMaxEtag = 512;

int64_t SpanMicros(const google::protobuf::Duration& span) {
  return span.seconds() * kMicros + span.nanos() / 1000;
}

bool Fetched(v1::CrawlOutcome outcome) {
  return outcome == v1::CRAWL_OUTCOME_CHANGED || outcome == v1::CRAWL_OUTCOME_UNCHANGED;
}

Facts Merged(Facts page, const Op& op) {
  const v1::PageSpec& spec = op.spec;
  const Facts fresh;
  if (op.reset || !page.exists) {
    page.importance = fresh.importance;
    page.min_interval = page.max_interval = page.not_before = 0;
    page.known_rate.reset();
    page.complete = false;
  }
  if (spec.has_importance()) page.importance = spec.importance();
  if (spec.has_min_interval()) page.min_interval = SpanMicros(spec.min_interval());
  if (spec.has_max_interval()) page.max_interval = SpanMicros(spec.max_interval());
  if (spec.has_not_before()) {
    page.not_before = std::max<int64_t>(0, MicrosOf(spec.not_before()));
  }
  if (spec.has_known_change_rate_per_day()) page.known_rate = spec.known_change_rate_per_day();
  if (spec.has_complete_signals()) page.complete = spec.complete_signals();
  return page;
}

v1::BurstClass BurstOf(uint32_t pages) {
  if (pages < 3) return v1::BURST_CLASS_1_TO_2;
  if (pages < 10) return v1::BURST_CLASS_3_TO_9;
  return pages < 100 ? v1::BURST_CLASS_10_TO_99 : v1::BURST_CLASS_100_OR_MORE;
}

std::vector<v1::ItemOutcome> AllowedSignal(const Facts& page, const Op& op) {
  const bool claims = op.signal.has_change_time();
  const int64_t time = claims ? MicrosOf(op.signal.change_time()) : op.sent;
  if (page.last_crawl != 0 && !claims && time < page.last_crawl + kNear) {
    return {v1::ITEM_OUTCOME_APPLIED, v1::ITEM_OUTCOME_STALE};
  }
  if (page.last_crawl != 0 && time > page.last_crawl_low && time <= page.last_crawl) {
    return {v1::ITEM_OUTCOME_STALE, v1::ITEM_OUTCOME_APPLIED, v1::ITEM_OUTCOME_DUPLICATE};
  }
  if (page.last_crawl != 0 && time <= page.last_crawl) return {v1::ITEM_OUTCOME_STALE};
  const bool heard = std::any_of(page.signals.begin(), page.signals.end(), [&](const auto& one) {
    return one.first.first == op.signal.source() && one.second > 0;
  });
  const auto newest = page.newest.find(op.signal.source());
  const bool repeats = claims && heard && newest != page.newest.end();
  if (repeats && time <= newest->second.low) return {v1::ITEM_OUTCOME_DUPLICATE};
  if (repeats && time <= newest->second.high) {
    return {v1::ITEM_OUTCOME_APPLIED, v1::ITEM_OUTCOME_DUPLICATE};
  }
  return {v1::ITEM_OUTCOME_APPLIED};
}

std::vector<v1::ItemOutcome> AllowedResult(const Facts& page, const Op& op, int64_t now) {
  const uint64_t lease = op.result.lease_id();
  const bool alone = op.result.url().empty();
  const bool open = lease != 0 && lease == page.lease.id;
  if (open && now < page.lease.deadline) return {v1::ITEM_OUTCOME_APPLIED};
  std::vector<v1::ItemOutcome> over;
  if (lease != 0 && lease == page.last_lease) {
    over = {v1::ITEM_OUTCOME_DUPLICATE};
  } else if (lease != 0) {
    over = {v1::ITEM_OUTCOME_OBSERVED_ONLY, v1::ITEM_OUTCOME_DUPLICATE};
  } else if (MicrosOf(op.result.fetch_time()) == page.last_result) {
    over = {v1::ITEM_OUTCOME_DUPLICATE};
  } else {
    over = {v1::ITEM_OUTCOME_APPLIED};
  }
  if (open) over.insert(over.begin(), v1::ITEM_OUTCOME_APPLIED);
  // A lease that ended because its page was removed is not recorded anywhere, so its result can be
  // refused.
  if (alone && lease != page.last_lease && !open) over.push_back(v1::ITEM_OUTCOME_REFUSED);
  return over;
}

void ApplySignal(const Op& op, int64_t now, Facts* page) {
  const Facts::Signal kind(op.signal.source(), BurstOf(op.poll_size));
  const bool claims = op.signal.has_change_time();
  const int64_t time = claims ? MicrosOf(op.signal.change_time()) : op.sent;
  uint32_t& count = page->signals[kind];
  if (count < 255) ++count;
  Facts::Newest& newest = page->newest[op.signal.source()];
  newest.low = std::max(newest.low, time);
  newest.high = std::max(newest.high, claims ? time : now);
  if (page->lease.id == 0 || !claims || time < now) return;
  if (page->ahead.size() >= kMaxAhead) page->ahead.erase(page->ahead.begin());
  page->ahead.push_back(kind);
}

void ApplyResult(const v1::CrawlResult& result, int64_t sent, Facts* page) {
  v1::CrawlOutcome outcome = result.outcome();
  const bool fetched = Fetched(outcome) || outcome == v1::CRAWL_OUTCOME_UNSPECIFIED;
  const std::string& digest = result.content_digest();
  if (fetched && !digest.empty() && digest.size() == page->digest.size()) {
    outcome = digest == page->digest ? v1::CRAWL_OUTCOME_UNCHANGED : v1::CRAWL_OUTCOME_CHANGED;
  }
  const int64_t time = MicrosOf(result.fetch_time());
  page->last_outcome = outcome;
  page->http_status = result.http_status();
  page->last_result = time;
  page->last_lease = result.lease_id();
  page->recheck = false;
  const std::vector<Facts::Signal> ahead = std::exchange(page->ahead, {});
  page->lease = KnownLease();
  if (outcome != v1::CRAWL_OUTCOME_ERROR) page->moved_to.clear();
  if (outcome == v1::CRAWL_OUTCOME_MOVED) page->moved_to = result.moved_to();
  if (!fetched) {
    if (outcome == v1::CRAWL_OUTCOME_ERROR && page->errors < 255) ++page->errors;
    return;
  }
  const bool changed = outcome == v1::CRAWL_OUTCOME_CHANGED;
  if ((page->last_crawl != 0 || page->crawls > 0) && changed) ++page->changes;
  ++page->crawls;
  page->last_crawl = time;
  page->last_crawl_low = std::min(time, sent - kNear);
  page->errors = 0;
  page->signals.clear();
  for (const Facts::Signal& kind : ahead) ++page->signals[kind];
  std::erase_if(page->newest, [&](const auto& of_source) {
    return std::none_of(ahead.begin(), ahead.end(),
                        [&](const Facts::Signal& kind) { return kind.first == of_source.first; });
  });
  const std::string etag = result.etag().size() > kMaxEtag ? "" : result.etag();
  if (changed || !etag.empty()) page->etag = etag;
  const bool can_be = result.has_last_modified() && MicrosOf(result.last_modified()) <= time;
  if (changed || can_be) page->last_modified = can_be ? MicrosOf(result.last_modified()) : 0;
  if (changed || !digest.empty()) page->digest = digest;
}

std::string Mismatch(const char* field, const auto& expected, const auto& seen) {
  if (expected == seen) return {};
  return fmt::format("{} is {}, expected {}; ", field, seen, expected);
}

// Returns only counts by source. The class of a single signal depends on earlier ones, which a
// restart forgets.
std::string SignalsText(const std::map<Facts::Signal, uint32_t>& signals) {
  std::map<std::string, uint32_t> sums;
  for (const auto& [kind, count] : signals) sums[kind.first] += count;
  std::string text;
  for (const auto& [source, count] : sums) {
    if (count > 0) text += fmt::format("{}:{} ", source, count);
  }
  return text;
}

std::string SignalsText(const v1::Page& page) {
  std::map<Facts::Signal, uint32_t> signals;
  for (const v1::PendingSignals& one : page.pending_signals()) {
    signals[{one.source(), one.burst_class()}] += one.signals();
  }
  return SignalsText(signals);
}

std::string DifferenceOfSettings(const Facts& page, const v1::Page& seen) {
  const double rate = seen.has_known_change_rate_per_day() ? seen.known_change_rate_per_day() : -1;
  // The server stores the rate per second, so the conversion rounds twice.
  const bool same_rate = std::abs(rate - page.known_rate.value_or(-1)) <= 1e-9 * (1 + rate);
  std::string all = Mismatch("importance", page.importance, seen.importance());
  all += Mismatch("min_interval", page.min_interval, SpanMicros(seen.min_interval()));
  all += Mismatch("max_interval", page.max_interval, SpanMicros(seen.max_interval()));
  all += Mismatch("not_before", page.not_before, MicrosOf(seen.not_before()));
  if (!same_rate) all += Mismatch("known_change_rate", page.known_rate.value_or(-1), rate);
  all += Mismatch("complete_signals", page.complete, seen.complete_signals());
  return all;
}

}  // namespace

int64_t NowMicros() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

int64_t UniqueMicros() {
  static std::atomic<int64_t> last{0};
  const int64_t now = NowMicros() + kClockAhead;
  int64_t before = last;
  while (!last.compare_exchange_weak(before, std::max(now, before + 1))) {
  }
  return std::max(now, before + 1);
}

int64_t MicrosOf(const google::protobuf::Timestamp& time) {
  return time.seconds() * kMicros + time.nanos() / 1000;
}

void SetMicros(int64_t micros, google::protobuf::Timestamp* time) {
  time->set_seconds(micros / kMicros);
  time->set_nanos(static_cast<int32_t>(micros % kMicros * 1000));
}

void SetMicros(int64_t micros, google::protobuf::Duration* span) {
  span->set_seconds(micros / kMicros);
  span->set_nanos(static_cast<int32_t>(micros % kMicros * 1000));
}

std::vector<v1::ItemOutcome> Allowed(const Facts& page, const Op& op, int64_t now) {
  if (op.kind == Op::Kind::kUpsert) {
    const Facts merged = Merged(page, op);
    const bool refused = merged.max_interval > 0 && merged.max_interval < merged.min_interval;
    return {refused ? v1::ITEM_OUTCOME_REFUSED : v1::ITEM_OUTCOME_APPLIED};
  }
  if (op.kind == Op::Kind::kReturn) {
    const bool open = page.exists && page.lease.id == op.lease;
    if (open && now < page.lease.deadline) return {v1::ITEM_OUTCOME_APPLIED};
    if (open) return {v1::ITEM_OUTCOME_APPLIED, v1::ITEM_OUTCOME_DUPLICATE};
    return {v1::ITEM_OUTCOME_DUPLICATE};
  }
  if (!page.exists) return {v1::ITEM_OUTCOME_REFUSED};
  if (op.kind == Op::Kind::kSignal) return AllowedSignal(page, op);
  if (op.kind == Op::Kind::kResult) return AllowedResult(page, op, now);
  return {v1::ITEM_OUTCOME_APPLIED};
}

void Apply(const Op& op, v1::ItemOutcome outcome, int64_t now, Facts* page) {
  const bool ends = op.kind == Op::Kind::kResult || op.kind == Op::Kind::kReturn;
  const uint64_t lease = op.kind == Op::Kind::kResult ? op.result.lease_id() : op.lease;
  if (outcome != v1::ITEM_OUTCOME_APPLIED) {
    if (ends && lease != 0 && lease == page->lease.id) {
      page->lease = KnownLease();
      page->ahead.clear();
    }
    return;
  }
  switch (op.kind) {
    case Op::Kind::kUpsert:
      if (!page->exists) {
        *page = Merged(Facts(), op);
        page->exists = true;
        if (op.spec.has_last_crawl_time()) {
          page->first_seen = page->last_crawl = MicrosOf(op.spec.last_crawl_time());
          page->last_crawl_low = page->last_crawl;
        }
      } else {
        *page = Merged(*page, op);
      }
      return;
    case Op::Kind::kRemove:
      *page = Facts();
      return;
    case Op::Kind::kRecheck:
      page->recheck = true;
      return;
    case Op::Kind::kSignal:
      ApplySignal(op, now, page);
      return;
    case Op::Kind::kResult:
      ApplyResult(op.result, op.sent, page);
      return;
    case Op::Kind::kReturn:
      page->lease = KnownLease();
      page->ahead.clear();
      return;
  }
}

std::string Difference(const Facts& page, const v1::Page* seen) {
  if (seen == nullptr) return page.exists ? "is lost" : "";
  if (!page.exists) return "is there, expected none";
  std::string all = DifferenceOfSettings(page, *seen);
  if (page.first_seen != 0) {
    all += Mismatch("first_seen", page.first_seen, MicrosOf(seen->first_seen_time()));
  }
  const int64_t last_crawl = MicrosOf(seen->last_crawl_time());
  if (last_crawl < page.last_crawl_low) {
    all += Mismatch("last_crawl", page.last_crawl, last_crawl);
  } else if (last_crawl > page.last_crawl) {
    all += Mismatch("last_crawl", page.last_crawl_low, last_crawl);
  }
  all += Mismatch("last_outcome", static_cast<int>(page.last_outcome),
                  static_cast<int>(seen->last_outcome()));
  all += Mismatch("http_status", page.http_status, seen->http_status());
  all += Mismatch("etag", page.etag, seen->etag());
  all += Mismatch("last_modified", page.last_modified, MicrosOf(seen->last_modified()));
  all += Mismatch("digest", page.digest, seen->content_digest());
  all += Mismatch("moved_to", page.moved_to, seen->moved_to());
  all += Mismatch("crawls", page.crawls, seen->crawls());
  all += Mismatch("changes", page.changes, seen->changes());
  all += Mismatch("errors", page.errors, seen->consecutive_errors());
  all += Mismatch("recheck", page.recheck, seen->recheck_pending());
  all += Mismatch("signals", SignalsText(page.signals), SignalsText(*seen));
  return all;
}

}  // namespace freshet::crash
