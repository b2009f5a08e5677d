#include "storage/internal/validate.h"

#include <limits>

#include "core/base/id_limits.h"
#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/base/url.h"
#include "core/model/crawl.h"
#include "core/model/host.h"
#include "core/model/lease.h"
#include "core/model/page.h"
#include "core/model/source.h"
#include "core/schedule/changes.h"
#include "core/schedule/leases.h"
#include "storage/internal/keys.h"

namespace freshet::storage {
namespace {

// Every start validates every page, and failures are rare, so cold functions make the messages.
[[gnu::cold, gnu::noinline]] Status BeforeTheEpoch(std::string_view field, Instant value) {
  return InvalidArgument("{}: {} us is before the epoch", field, value.micros());
}

[[gnu::cold, gnu::noinline]] Status NotFinite(std::string_view field, double value) {
  return InvalidArgument("{}: {} is not a finite number >= 0", field, value);
}

inline Status NotNegative(std::string_view field, Instant value) {
  return value >= Instant() ? absl::OkStatus() : BeforeTheEpoch(field, value);
}

inline Status FiniteSum(std::string_view field, double value) {
  return value >= 0 && value <= std::numeric_limits<double>::max() ? absl::OkStatus()
                                                                   : NotFinite(field, value);
}

Status InInterval(std::string_view field, Duration value) {
  if (value >= Duration() && value <= Duration::Seconds(limits::kMaxIntervalSeconds)) {
    return absl::OkStatus();
  }
  return InvalidArgument("{}: {} us is not in [0, {} s]", field, value.micros(),
                         limits::kMaxIntervalSeconds);
}

Status BoundedText(std::string_view field, std::string_view text, size_t min, size_t max) {
  if (text.size() >= min && text.size() <= max) return absl::OkStatus();
  return InvalidArgument("{}: {} bytes, {} to {} are allowed", field, text.size(), min, max);
}

// Zero bytes separate the parts of keys (storage/internal/keys.h).
Status KeyText(std::string_view field, std::string_view text, size_t max) {
  RETURN_IF_ERROR(BoundedText(field, text, 1, max));
  if (text.find('\0') == std::string_view::npos) return absl::OkStatus();
  return InvalidArgument("{}: holds a zero byte", field);
}

Status ValidateCap(const CrawlCap& cap) {
  if (cap.count == 0 && cap.per == Duration()) return absl::OkStatus();
  if (cap.count > 0 && cap.count <= limits::kMaxCrawlsPerSpan && cap.per > Duration() &&
      cap.per <= Duration::Seconds(limits::kMaxIntervalSeconds)) {
    return absl::OkStatus();
  }
  return InvalidArgument("max_crawls: {} in {} us is no cap", cap.count, cap.per.micros());
}

Status ValidateRecentCrawls(const RecentCrawls& recent) {
  if (recent.size() > kMostCounts) {
    return InvalidArgument("recent_crawls: {}, at most {} are kept", recent.size(), kMostCounts);
  }
  Instant last;
  for (const CountedCrawls& counted : recent) {
    if (counted.count == 0 || counted.last < last) {
      return InvalidArgument("recent_crawls: {} at {} us", counted.count, counted.last.micros());
    }
    last = counted.last;
  }
  return absl::OkStatus();
}

Status ValidateSignals(const SignalCounts& signals) {
  bool used = true;
  for (const SignalCounts::Entry& entry : signals.entries()) {
    if (entry.count == 0) {
      used = false;
      if (entry != SignalCounts::Entry()) return InvalidArgument("signals: class without count");
    } else if (!used) {
      return InvalidArgument("signals: a used entry after an unused one");
    }
    if (entry.source_class.packed() >= kSourceClasses) {
      return InvalidArgument("signals: source class {} is unknown", entry.source_class.packed());
    }
  }
  return absl::OkStatus();
}

Status ValidateSignalMemory(const PageDetail& detail) {
  if (detail.signal_ids.size() > limits::kMaxRememberedSignalIds) {
    return InvalidArgument("signal_ids: {}, at most {} are kept", detail.signal_ids.size(),
                           limits::kMaxRememberedSignalIds);
  }
  for (const SignalId& id : detail.signal_ids) {
    if (id.source >= limits::kMaxSources) return InvalidArgument("signal_ids: of {}", id.source);
  }
  int before = -1;
  for (const SourceClaim& claim : detail.claims) {
    if (claim.source >= limits::kMaxSources || claim.source <= before) {
      return InvalidArgument("claims: of {} behind {}", claim.source, before);
    }
    before = claim.source;
    RETURN_IF_ERROR(NotNegative("claims", claim.newest));
  }
  return absl::OkStatus();
}

}  // namespace

Status ValidateSpec(const PageSpec& spec) {
  if (!(spec.importance >= 0 && spec.importance <= limits::kMaxImportance)) {
    return InvalidArgument("importance: {} is not in [0, {}]", spec.importance,
                           limits::kMaxImportance);
  }
  RETURN_IF_ERROR(InInterval("min_interval", spec.min_interval));
  RETURN_IF_ERROR(InInterval("max_interval", spec.max_interval));
  RETURN_IF_ERROR(NotNegative("not_before", spec.not_before));
  if (!spec.known_change_rate) return absl::OkStatus();
  return FiniteSum("known_change_rate", spec.known_change_rate->per_second());
}

Status ValidateState(const PageState& state) {
  RETURN_IF_ERROR(NotNegative("first_seen", state.first_seen));
  RETURN_IF_ERROR(NotNegative("last_crawl", state.last_crawl));
  RETURN_IF_ERROR(NotNegative("carried_at", state.carried_at));
  RETURN_IF_ERROR(NotNegative("last_event", state.last_event));
  RETURN_IF_ERROR(NotNegative("newest_claim", state.newest_claim));
  RETURN_IF_ERROR(NotNegative("retry_at", state.retry_at));
  if (!(state.staleness >= 0)) return InvalidArgument("staleness: {} < 0", state.staleness);
  RETURN_IF_ERROR(FiniteSum("change_rate", state.rates.change_rate));
  RETURN_IF_ERROR(FiniteSum("unsignalled_rate", state.rates.unsignalled_rate));
  RETURN_IF_ERROR(FiniteSum("signal_rate", state.rates.signal_rate));
  RETURN_IF_ERROR(FiniteSum("staleness_rate", state.rates.staleness_rate));
  if (!(state.rates.signal_weight >= 0)) {
    return InvalidArgument("signal_weight: {} < 0", state.rates.signal_weight);
  }
  RETURN_IF_ERROR(FiniteSum("exposure", state.exposure));
  RETURN_IF_ERROR(FiniteSum("evidence", state.evidence));
  RETURN_IF_ERROR(FiniteSum("evidence_exposure", state.evidence_exposure));
  for (const BurstSignal& signal : state.bursts) {
    if (!std::isfinite(signal.shift)) return InvalidArgument("shift of a burst: is not finite");
    if (signal.source_class.packed() >= kSourceClasses) {
      return InvalidArgument("class of a burst: {}", signal.source_class.packed());
    }
  }
  return ValidateSignals(state.signals);
}

Status ValidateDetail(const PageDetail& detail) {
  RETURN_IF_ERROR(BoundedText("etag", detail.etag, 0, limits::kMaxValidatorBytes));
  RETURN_IF_ERROR(
      BoundedText("last_modified", detail.last_modified, 0, limits::kMaxValidatorBytes));
  RETURN_IF_ERROR(BoundedText("digest", detail.digest, 0, limits::kMaxValidatorBytes));
  RETURN_IF_ERROR(BoundedText("moved_to", detail.moved_to, 0, limits::kMaxUrlBytes));
  if (detail.changes > detail.crawls) {
    return InvalidArgument("changes: {} of {} crawls", detail.changes, detail.crawls);
  }
  if (detail.last_outcome < CrawlOutcome::kUnchanged ||
      detail.last_outcome > CrawlOutcome::kRobotsDenied) {
    return InvalidArgument("last_outcome: {} is unknown", static_cast<int>(detail.last_outcome));
  }
  RETURN_IF_ERROR(NotNegative("last_result", detail.last_result));
  RETURN_IF_ERROR(ValidateSignalMemory(detail));
  if (detail.statistics.recent.size() > limits::kMaxObservations) {
    return InvalidArgument("statistics: {} observations, at most {} are kept",
                           detail.statistics.recent.size(), limits::kMaxObservations);
  }
  RETURN_IF_ERROR(FiniteSum("old_changes", detail.statistics.old_changes));
  RETURN_IF_ERROR(FiniteSum("old_exposure", detail.statistics.old_exposure));
  for (const CrawlObservation& observation : detail.statistics.recent) {
    RETURN_IF_ERROR(FiniteSum("exposure", observation.exposure));
    RETURN_IF_ERROR(ValidateSignals(observation.signals));
  }
  return absl::OkStatus();
}

Status ValidateText(const PageKey& key, std::string_view host) {
  RETURN_IF_ERROR(KeyText("crawl_id", key.crawl_id, limits::kMaxCrawlIdBytes));
  RETURN_IF_ERROR(KeyText("host", host, limits::kMaxUrlBytes));
  return KeyText("url", key.url, limits::kMaxUrlBytes);
}

Status ValidatePage(const PageRecord& page) {
  RETURN_IF_ERROR(ValidateText(page.key, page.host));
  if (SlotOf(page.number) != SlotOfHost(page.host) || SerialOf(page.number) == 0) {
    return InvalidArgument("number: {:#x} is not one of host {}", page.number.value(), page.host);
  }
  RETURN_IF_ERROR(ValidateSpec(page.spec));
  RETURN_IF_ERROR(ValidateState(page.state));
  return ValidateDetail(page.detail);
}

Status ValidateHost(const HostRecord& host) {
  RETURN_IF_ERROR(KeyText("host", host.host, limits::kMaxUrlBytes));
  if (host.max_crawls) RETURN_IF_ERROR(ValidateCap(*host.max_crawls));
  if (host.hours) RETURN_IF_ERROR(Validate(*host.hours));
  RETURN_IF_ERROR(InInterval("crawl_delay", host.crawl_delay));
  RETURN_IF_ERROR(ValidateRecentCrawls(host.recent_crawls));
  if (host.min_delay) RETURN_IF_ERROR(InInterval("min_delay", *host.min_delay));
  if (host.min_page_interval) {
    RETURN_IF_ERROR(InInterval("min_page_interval", *host.min_page_interval));
  }
  RETURN_IF_ERROR(NotNegative("last_throttled", host.last_throttled));
  RETURN_IF_ERROR(NotNegative("blocked_until", host.blocked_until));
  return NotNegative("last_assignment", host.last_assignment);
}

Status ValidateLease(const LeaseRecord& lease) {
  if (lease.id == LeaseId()) return InvalidArgument("lease id: is zero");
  if (SlotOf(lease.page).value() >= limits::kSlots || SerialOf(lease.page) == 0) {
    return InvalidArgument("page: {:#x} is not a page number", lease.page.value());
  }
  if (SlotOfLease(lease.id) != SlotOf(lease.page)) {
    return InvalidArgument("lease id: {:#x} is of another slot than its page", lease.id.value());
  }
  if (lease.reported && !lease.over) return InvalidArgument("reported: of an open lease");
  if (lease.over && (!lease.worker.empty() || !lease.client.empty() || !lease.assigned.is_none() ||
                     !lease.deadline.is_none() || !lease.signals.empty() || !lease.host.empty())) {
    return InvalidArgument("over: a lease that is over has an id and a page alone");
  }
  RETURN_IF_ERROR(BoundedText("worker", lease.worker, 0, limits::kMaxWorkerNameBytes));
  RETURN_IF_ERROR(BoundedText("client", lease.client, 0, limits::kMaxWorkerNameBytes));
  RETURN_IF_ERROR(BoundedText("host", lease.host, 0, limits::kMaxHostBytes));
  if (!lease.host.empty() && SlotOfHost(lease.host) != SlotOf(lease.page)) {
    return InvalidArgument("host: {} is of another slot than the page", lease.host);
  }
  RETURN_IF_ERROR(NotNegative("assigned", lease.assigned));
  if (lease.deadline < lease.assigned) return InvalidArgument("deadline: before the assignment");
  if (lease.signals.size() > limits::kMaxSignalsDuringLease) {
    return InvalidArgument("signals: {}, at most {} are kept", lease.signals.size(),
                           limits::kMaxSignalsDuringLease);
  }
  for (const LeaseSignal& signal : lease.signals) {
    if (signal.source_class.packed() >= kSourceClasses) {
      return InvalidArgument("signals: source class {} is unknown", signal.source_class.packed());
    }
  }
  return absl::OkStatus();
}

Status ValidateSource(const SourceRecord& source) {
  if (source.index >= limits::kMaxSources) {
    return InvalidArgument("index: {}, at most {} sources", source.index, limits::kMaxSources);
  }
  return BoundedText("name", source.name, 1, limits::kMaxSourceNameBytes);
}

Status ValidateCrawl(const CrawlRecord& crawl) {
  RETURN_IF_ERROR(KeyText("crawl_id", crawl.crawl_id, limits::kMaxCrawlIdBytes));
  if (crawl.share && !(*crawl.share > 0 && *crawl.share <= 1)) {
    return InvalidArgument("share: {} is not in (0, 1]", *crawl.share);
  }
  if (crawl.max_rate && !(crawl.max_rate->per_second() > 0 &&
                          crawl.max_rate->per_second() <= limits::kMaxCrawlsPerSecond)) {
    return InvalidArgument("max_rate: {} is not in (0, {}]", crawl.max_rate->per_second(),
                           limits::kMaxCrawlsPerSecond);
  }
  if (crawl.max_pages && *crawl.max_pages > limits::kMaxPageIds) {
    return InvalidArgument("max_pages: {} is more than {}", *crawl.max_pages, limits::kMaxPageIds);
  }
  if (crawl.min_delay) RETURN_IF_ERROR(InInterval("min_delay", *crawl.min_delay));
  if (!crawl.min_page_interval) return absl::OkStatus();
  return InInterval("min_page_interval", *crawl.min_page_interval);
}

Status ValidateSettings(const Settings& settings) {
  if (settings.crawl_rate && !(settings.crawl_rate->per_second() >= 0 &&
                               settings.crawl_rate->per_second() <= limits::kMaxCrawlsPerSecond)) {
    return InvalidArgument("crawl_rate: {} is not in [0, {}]", settings.crawl_rate->per_second(),
                           limits::kMaxCrawlsPerSecond);
  }
  if (settings.policy && settings.policy->empty()) return InvalidArgument("policy: is empty");
  if (!settings.paused && !settings.pause_reason.empty()) {
    return InvalidArgument("pause_reason: is given without a pause");
  }
  RETURN_IF_ERROR(
      freshet::ValidateText("pause_reason", settings.pause_reason, limits::kMaxPauseReasonBytes));
  if (settings.min_delay) RETURN_IF_ERROR(InInterval("min_delay", *settings.min_delay));
  if (settings.min_page_interval) {
    RETURN_IF_ERROR(InInterval("min_page_interval", *settings.min_page_interval));
  }
  return absl::OkStatus();
}

Status ValidateEpoch(const EpochRecord& epoch) {
  if (epoch.shard >= limits::kMaxShards) return InvalidArgument("shard: {}", epoch.shard);
  return NotNegative("finished", epoch.finished);
}

Status ValidateChanges(const Changes& changes) {
  if (changes.shard >= limits::kMaxShards) return InvalidArgument("shard: {}", changes.shard);
  for (const PageWrite& write : changes.pages) RETURN_IF_ERROR(ValidatePage(*write.record));
  for (const PageRecord* page : changes.removed_pages) {
    RETURN_IF_ERROR(ValidateText(page->key, page->host));
    if (SlotOf(page->number) != SlotOfHost(page->host)) {
      return InvalidArgument("number: {:#x} is not one of host {}", page->number.value(),
                             page->host);
    }
  }
  for (const HostRecord& host : changes.hosts) RETURN_IF_ERROR(ValidateHost(host));
  for (const std::string& host : changes.removed_hosts) {
    RETURN_IF_ERROR(KeyText("host", host, limits::kMaxUrlBytes));
  }
  for (const LeaseRecord& lease : changes.leases) RETURN_IF_ERROR(ValidateLease(lease));
  for (const SourceRecord& source : changes.sources) RETURN_IF_ERROR(ValidateSource(source));
  for (const CrawlRecord& crawl : changes.crawls) RETURN_IF_ERROR(ValidateCrawl(crawl));
  for (const std::string& crawl : changes.removed_crawls) {
    RETURN_IF_ERROR(KeyText("crawl_id", crawl, limits::kMaxCrawlIdBytes));
  }
  if (changes.settings) RETURN_IF_ERROR(ValidateSettings(*changes.settings));
  if (changes.epoch) RETURN_IF_ERROR(ValidateEpoch(*changes.epoch));
  return absl::OkStatus();
}

}  // namespace freshet::storage
