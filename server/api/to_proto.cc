#include "server/api/to_proto.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

#include "core/base/check.h"
#include "core/base/units.h"
#include "core/estimate/page_estimate.h"
#include "core/model/host.h"
#include "core/model/lease.h"
#include "core/model/page.h"
#include "core/model/page_statistics.h"
#include "core/schedule/explanation.h"
#include "core/schedule/host_group.h"
#include "core/schedule/host_terms.h"
#include "google/protobuf/util/time_util.h"
#include "server/api/faults.h"
#include "server/api/from_proto.h"

namespace freshet {
namespace {

using google::protobuf::util::TimeUtil;

constexpr double kDay = 86400;

// The range of protobuf's well-known types.
constexpr int64_t kFirstMicros = TimeUtil::kTimestampMinSeconds * 1'000'000;
constexpr int64_t kLastMicros = TimeUtil::kTimestampMaxSeconds * 1'000'000 + 999'999;
constexpr int64_t kLongestMicros = TimeUtil::kDurationMaxSeconds * 1'000'000;

v1::CrawlOutcome OutcomeToProto(CrawlOutcome outcome) {
  switch (outcome) {
    case CrawlOutcome::kUnchanged:
      return v1::CRAWL_OUTCOME_UNCHANGED;
    case CrawlOutcome::kChanged:
      return v1::CRAWL_OUTCOME_CHANGED;
    case CrawlOutcome::kError:
      return v1::CRAWL_OUTCOME_ERROR;
    case CrawlOutcome::kGone:
      return v1::CRAWL_OUTCOME_GONE;
    case CrawlOutcome::kMoved:
      return v1::CRAWL_OUTCOME_MOVED;
    case CrawlOutcome::kRobotsDenied:
      return v1::CRAWL_OUTCOME_ROBOTS_DENIED;
  }
  return v1::CRAWL_OUTCOME_UNSPECIFIED;
}

// Writes the Last-Modified time, which is stored in microseconds. Earlier releases stored any text
// that a site sent. Other texts are left out.
template <typename Message>
void LastModifiedToProto(const std::string& text, Instant last_crawl, Message* out) {
  int64_t us = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), us);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return;
  const Instant modified = Instant::FromMicros(us);
  if (CanBeLastModified(modified, last_crawl)) ToProto(modified, out->mutable_last_modified());
}

template <typename Repeated>
void SignalsToProto(const SignalCounts& signals, const Sources& sources, Repeated* out) {
  for (const SignalCounts::Entry& entry : signals.entries()) {
    if (entry.count == 0) continue;
    v1::PendingSignals* pending = out->Add();
    pending->set_source(sources.NameOf(entry.source_class.source()));
    pending->set_burst_class(ToProto(entry.source_class.burst()));
    pending->set_signals(entry.count);
  }
}

// Whether any result of the page was ever reported.
bool Reported(const PageRecord& page) { return !page.detail.last_result.is_none(); }

void SpecToProto(const PageSpec& spec, v1::Page* out) {
  out->set_importance(spec.importance);
  if (spec.min_interval > Duration()) ToProto(spec.min_interval, out->mutable_min_interval());
  if (spec.max_interval > Duration()) ToProto(spec.max_interval, out->mutable_max_interval());
  if (spec.not_before > Instant()) ToProto(spec.not_before, out->mutable_not_before());
  if (spec.known_change_rate) {
    out->set_known_change_rate_per_day(spec.known_change_rate->per_second() * kDay);
  }
  out->set_complete_signals(spec.complete_signals);
}

v1::TermOrigin ToProto(TermOrigin origin) {
  return static_cast<v1::TermOrigin>(static_cast<int>(origin) + 1);
}
static_assert(static_cast<int>(TermOrigin::kDefault) + 1 == v1::TERM_ORIGIN_DEFAULT &&
              static_cast<int>(TermOrigin::kReported) + 1 == v1::TERM_ORIGIN_REPORTED);

void TermsToProto(const HostTerms& terms, v1::HostState* out) {
  ToProto(terms.min_delay.value, out->mutable_min_delay());
  out->set_min_delay_origin(ToProto(terms.min_delay.origin));
  out->set_max_in_flight(terms.max_in_flight.value);
  out->set_max_in_flight_origin(ToProto(terms.max_in_flight.origin));
  ToProto(terms.min_page_interval.value, out->mutable_min_page_interval());
  out->set_min_page_interval_origin(ToProto(terms.min_page_interval.origin));
  const CrawlCap& cap = terms.max_crawls.value;
  out->mutable_max_crawls()->set_count(cap.count);
  if (cap.count > 0) ToProto(cap.per, out->mutable_max_crawls()->mutable_per());
  out->set_max_crawls_origin(ToProto(terms.max_crawls.origin));
  out->set_hours(DayHoursText(terms.hours.value));
  out->set_hours_origin(ToProto(terms.hours.origin));
}

v1::Decision DecisionOf(Verdict verdict, bool paused) {
  switch (verdict) {
    case Verdict::kLeased:
      return v1::DECISION_LEASED;
    case Verdict::kNever:
      return v1::DECISION_NEVER;
    case Verdict::kHostBusy:
      return paused ? v1::DECISION_PAUSED : v1::DECISION_HOST_BUSY;
    case Verdict::kTooEarly:
      return paused ? v1::DECISION_PAUSED : v1::DECISION_TOO_EARLY;
    case Verdict::kForced:
      return paused ? v1::DECISION_PAUSED : v1::DECISION_FORCED;
    case Verdict::kDue:
      return paused ? v1::DECISION_PAUSED : v1::DECISION_DUE;
    case Verdict::kBelowPrice:
      return paused ? v1::DECISION_PAUSED : v1::DECISION_BELOW_PRICE;
  }
  return v1::DECISION_UNSPECIFIED;
}

}  // namespace

void ToProto(Instant time, google::protobuf::Timestamp* out) {
  const int64_t micros = std::clamp(time.micros(), kFirstMicros, kLastMicros);
  int64_t seconds = micros / 1'000'000;
  int64_t us = micros % 1'000'000;
  if (us < 0) {
    --seconds;
    us += 1'000'000;
  }
  out->set_seconds(seconds);
  out->set_nanos(static_cast<int32_t>(us * 1000));
}

void ToProto(Duration duration, google::protobuf::Duration* out) {
  const int64_t micros = std::clamp(duration.micros(), -kLongestMicros, kLongestMicros);
  out->set_seconds(micros / 1'000'000);
  out->set_nanos(static_cast<int32_t>(micros % 1'000'000 * 1000));
}

v1::BurstClass ToProto(BurstClass burst) {
  return static_cast<v1::BurstClass>(static_cast<int>(burst) + 1);
}
static_assert(static_cast<int>(BurstClass::kFew) + 1 == v1::BURST_CLASS_1_TO_2 &&
              static_cast<int>(BurstClass::kMass) + 1 == v1::BURST_CLASS_100_OR_MORE);

void ToProto(const Assignment& assignment, v1::Assignment* out) {
  out->set_url(assignment.key.url);
  out->set_crawl_id(assignment.key.crawl_id);
  out->set_lease_id(assignment.lease.value());
  ToProto(assignment.deadline, out->mutable_deadline());
  if (!assignment.last_crawl.is_none()) {
    ToProto(assignment.last_crawl, out->mutable_last_crawl_time());
  }
  out->set_etag(assignment.etag);
  LastModifiedToProto(assignment.last_modified, assignment.last_crawl, out);
  out->set_content_digest(assignment.digest);
  out->set_forced(std::isinf(assignment.value));
  out->set_expected_value(std::isinf(assignment.value) ? 0 : assignment.value);
  out->set_importance(assignment.importance);
}

std::optional<v1::ItemStatus> ToProto(const Reply& reply, uint32_t index) {
  v1::ItemStatus status;
  status.set_index(index);
  for (const std::string& note : reply.notes) status.add_notes(note);
  switch (reply.disposition) {
    case Disposition::kApplied:
    case Disposition::kCreated:
      if (reply.notes.empty()) return std::nullopt;
      status.set_outcome(v1::ITEM_OUTCOME_APPLIED);
      break;
    case Disposition::kDuplicate:
      status.set_outcome(v1::ITEM_OUTCOME_DUPLICATE);
      break;
    case Disposition::kObservedOnly:
      status.set_outcome(v1::ITEM_OUTCOME_OBSERVED_ONLY);
      break;
    case Disposition::kStale:
      status.set_outcome(v1::ITEM_OUTCOME_STALE);
      break;
    case Disposition::kRefused:
      status.set_outcome(v1::ITEM_OUTCOME_REFUSED);
      *status.mutable_error() = FaultOf(reply.status);
      break;
  }
  return status;
}

void ToProto(const PageRecord& page, const std::optional<LeaseRecord>& lease,
             const Sources& sources, v1::Page* out) {
  out->set_url(page.key.url);
  out->set_crawl_id(page.key.crawl_id);
  SpecToProto(page.spec, out);
  out->set_host(page.host);
  ToProto(page.state.first_seen, out->mutable_first_seen_time());
  if (page.state.crawled()) ToProto(page.state.last_crawl, out->mutable_last_crawl_time());
  const auto& recent = page.detail.statistics.recent;
  const auto change = std::find_if(recent.rbegin(), recent.rend(),
                                   [](const CrawlObservation& crawl) { return crawl.changed; });
  if (change != recent.rend()) ToProto(change->fetched, out->mutable_last_change_time());
  if (Reported(page)) out->set_last_outcome(OutcomeToProto(page.detail.last_outcome));
  if (page.detail.last_http_status != 0) out->set_http_status(page.detail.last_http_status);
  out->set_etag(page.detail.etag);
  LastModifiedToProto(page.detail.last_modified, page.state.last_crawl, out);
  out->set_content_digest(page.detail.digest);
  out->set_crawls(page.detail.crawls);
  out->set_changes(page.detail.changes);
  out->set_consecutive_errors(page.state.errors);
  SignalsToProto(page.state.signals, sources, out->mutable_pending_signals());
  if (lease) {
    out->mutable_lease()->set_lease_id(lease->id.value());
    out->mutable_lease()->set_worker(lease->worker);
    ToProto(lease->assigned, out->mutable_lease()->mutable_start_time());
    ToProto(lease->deadline, out->mutable_lease()->mutable_deadline());
  }
  out->set_recheck_pending(page.state.recheck);
  out->set_moved_to(page.detail.moved_to);
  out->set_unanswered_leases(page.state.unanswered);
}

void ToProto(const PageEstimate& estimate, const PageRecord& page, v1::PageEstimates* out) {
  out->set_basis(page.spec.known_change_rate ? v1::ESTIMATE_BASIS_KNOWN
                 : estimate.observations > 0 ? v1::ESTIMATE_BASIS_POOLED
                                             : v1::ESTIMATE_BASIS_PRIOR);
  out->mutable_change_rate_per_day()->set_value(estimate.rates.change_rate * kDay);
  const auto [low, high] = estimate.Interval95();
  out->mutable_change_rate_per_day()->set_low(low * kDay);
  out->mutable_change_rate_per_day()->set_high(high * kDay);
  out->set_unsignalled_rate_per_day(estimate.rates.unsignalled_rate * kDay);
  out->set_signal_rate_per_day(estimate.rates.signal_rate * kDay);
  out->set_signal_weight(estimate.rates.signal_weight);
  out->set_observations(estimate.observations);
}

void ToProto(const CrawlObservation& observation, const Sources& sources, v1::Observation* out) {
  ToProto(observation.fetched, out->mutable_fetch_time());
  if (observation.elapsed > Duration()) ToProto(observation.elapsed, out->mutable_elapsed());
  SignalsToProto(observation.signals, sources, out->mutable_signals());
  out->set_changed(observation.changed);
}

void ToProto(const PolitenessDefaults& defaults, v1::PolitenessDefaults* out) {
  ToProto(defaults.min_delay, out->mutable_min_delay());
  out->set_max_in_flight(defaults.max_in_flight);
  ToProto(defaults.min_page_interval, out->mutable_min_page_interval());
}

void ToProto(const HostStatus& host, const HostContext& context, v1::HostState* out) {
  const HostRecord& record = host.record;
  out->set_host(record.host);
  TermsToProto(host.terms, out);
  if (record.blocked_until > context.now) {
    ToProto(record.blocked_until, out->mutable_blocked_until());
  }
  out->set_in_flight(host.in_flight);
  if (context.tells_pages) out->set_pages(host.pages);
  out->set_deleting(record.deleting);
  if (host.allowed_at > context.now) ToProto(host.allowed_at, out->mutable_next_allowed_time());
  out->set_customised(record.min_delay || record.max_in_flight || record.min_page_interval ||
                      record.max_crawls || record.hours);
  out->set_throttled_answers(static_cast<uint32_t>(context.throttles));
  if (!record.last_throttled.is_none()) {
    ToProto(record.last_throttled, out->mutable_last_throttled_time());
  }
  out->set_crawls_counted(CountsAt(host.terms.max_crawls.value, record.recent_crawls, context.now));
  if (record.crawl_delay > Duration()) ToProto(record.crawl_delay, out->mutable_crawl_delay());
  out->set_server_address(IpAddressText(record.address));
  out->set_rule(host.rule);
  if (host.group == nullptr) return;
  out->mutable_group()->set_name(host.group->name);
  ToProto(host.group->terms.min_delay, out->mutable_group()->mutable_min_delay());
  out->mutable_group()->set_max_in_flight(host.group->terms.max_in_flight);
}

v1::FrontierMode ToProto(FrontierMode mode) {
  return static_cast<v1::FrontierMode>(static_cast<int>(mode) + 1);
}

void ToProto(const CrawlRecord& crawl, FrontierMode mode, const CrawlCounters& counters,
             v1::Crawl* out) {
  out->set_crawl_id(crawl.crawl_id);
  v1::CrawlSettings* settings = out->mutable_settings();
  if (crawl.share) settings->set_share(*crawl.share);
  if (crawl.max_rate) settings->set_max_rate_per_second(crawl.max_rate->per_second());
  if (crawl.max_pages) settings->set_max_pages(*crawl.max_pages);
  if (crawl.min_delay) ToProto(*crawl.min_delay, settings->mutable_min_delay());
  if (crawl.max_in_flight) settings->set_max_in_flight(*crawl.max_in_flight);
  if (crawl.min_page_interval) {
    ToProto(*crawl.min_page_interval, settings->mutable_min_page_interval());
  }
  if (crawl.frontier_mode) settings->set_frontier_mode(ToProto(*crawl.frontier_mode));
  out->set_frontier_mode(ToProto(mode));
  out->set_deleting(crawl.deleting);
  out->set_pages(counters.pages);
  out->set_hosts(counters.hosts);
  out->set_out(counters.out);
  out->set_assignments(counters.assignments);
  out->set_crawls(counters.crawls);
  out->set_changes(counters.changes);
  out->set_errors(counters.errors);
  out->set_gone(counters.gone);
  out->set_robots_denied(counters.robots_denied);
}

void ToProto(const Explanation& explanation, const PageRecord& page,
             const ExplanationContext& context, const Sources& sources, v1::Explanation* out) {
  ToProto(context.now, out->mutable_as_of());
  const bool standstill = !context.standstill.empty();
  out->set_decision(DecisionOf(explanation.verdict, standstill));
  out->set_why(out->decision() == v1::DECISION_PAUSED ? context.standstill + "; " + explanation.why
                                                      : explanation.why);
  out->set_policy(context.policy);
  out->set_value(std::isinf(explanation.value) ? 0 : explanation.value);
  out->set_value_share(explanation.value_share);
  out->set_price(explanation.price);
  if (std::isfinite(explanation.effective_elapsed_seconds)) {
    ToProto(Duration::FromSeconds(explanation.effective_elapsed_seconds),
            out->mutable_effective_elapsed());
  }
  out->set_staleness(explanation.staleness);
  out->set_staleness_rate_per_day(explanation.estimate.rates.staleness_rate * kDay);
  out->set_probability_fresh(std::exp(-explanation.staleness));
  ToProto(explanation.estimate, page, out->mutable_estimates());
  if (!explanation.next_crawl.infinite() && !standstill) {
    ToProto(explanation.next_crawl, out->mutable_next_expected_crawl_time());
  }
  ToProto(explanation.host,
          {.tells_pages = false, .throttles = explanation.host_throttles, .now = context.now},
          out->mutable_host_state());
  for (const CrawlObservation& observation : page.detail.statistics.recent) {
    ToProto(observation, sources, out->add_observations());
  }
}

}  // namespace freshet
