#include "server/api/from_proto.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/check.h"
#include "core/base/duration_text.h"
#include "core/base/fingerprint.h"
#include "core/base/id_limits.h"
#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/base/url.h"
#include "core/base/wrong_value.h"
#include "core/schedule/http_status.h"
#include "core/schedule/leases.h"
#include "server/api/faults.h"
#include "server/base/limits.h"

namespace freshet {
namespace {

constexpr int64_t kYear1990 = 631'152'000;
constexpr Duration kMaxSkew = Duration::Seconds(limits::kMaxClockSkewSeconds);
constexpr Duration kMaxInterval = Duration::Seconds(limits::kMaxIntervalSeconds);
constexpr Duration kMaxBlock = Duration::Seconds(limits::kMaxBlockSeconds);

Status CheckNumber(std::string_view field, double value, double max) {
  if (std::isnan(value)) return InvalidArgument("{}: is not a number (NaN)", field);
  if (value < 0) return InvalidArgument("{}: {} is negative", field, value);
  if (value > max) return InvalidArgument("{}: {} is over the limit of {}", field, value, max);
  return absl::OkStatus();
}

// Converts a duration from zero to `max`.
StatusOr<Duration> ConvertSpan(std::string_view field, const google::protobuf::Duration& span,
                               Duration max) {
  const StatusOr<Duration> duration = FromProto(span);
  if (!duration.ok()) return InField(field, duration.status());
  if (*duration < Duration()) return InvalidArgument("{}: is negative", field);
  if (*duration > max) {
    return InvalidArgument("{}: {} is over the limit of {}", field, SecondsText(*duration),
                           SecondsText(max));
  }
  return *duration;
}

// The durations in a request about politeness.
struct PolitenessSpans {
  std::optional<Duration> min_delay;
  std::optional<Duration> min_page_interval;
};
template <typename Request>
StatusOr<PolitenessSpans> ConvertSpans(const Request& request) {
  PolitenessSpans spans;
  if (request.has_min_delay()) {
    ASSIGN_OR_RETURN(spans.min_delay, ConvertSpan("min_delay", request.min_delay(), kMaxInterval));
  }
  if (request.has_min_page_interval()) {
    ASSIGN_OR_RETURN(spans.min_page_interval,
                     ConvertSpan("min_page_interval", request.min_page_interval(), kMaxInterval));
  }
  return spans;
}

StatusOr<CrawlCap> ConvertCap(const v1::CrawlCap& cap) {
  if (cap.count() == 0) return CrawlCap();
  if (cap.count() > limits::kMaxCrawlsPerSpan) {
    return InvalidArgument("max_crawls: {} crawls are over the limit of {}", cap.count(),
                           limits::kMaxCrawlsPerSpan);
  }
  ASSIGN_OR_RETURN(const Duration per, ConvertSpan("max_crawls", cap.per(), kMaxInterval));
  if (per == Duration()) return InvalidArgument("max_crawls: per is not set");
  return CrawlCap{.count = cap.count(), .per = per};
}

// Converts an instant in the past: from 1990 to kMaxSkew after now.
StatusOr<Instant> ConvertPast(std::string_view field, const google::protobuf::Timestamp& time,
                              Instant now) {
  const StatusOr<Instant> instant = FromProto(time);
  if (!instant.ok()) return InField(field, instant.status());
  if (*instant < Instant::FromUnixSeconds(kYear1990)) {
    return InvalidArgument("{}: is before 1990", field);
  }
  if (*instant > now + kMaxSkew) {
    return InvalidArgument("{}: is {:.0f} s ahead of the server's clock, at most {} s are allowed",
                           field, (*instant - now).seconds(), limits::kMaxClockSkewSeconds);
  }
  return *instant;
}

// Adds a note about a fault in a field that comes from the site or from a worker's clock. Such a
// fault is no reason to refuse the result.
void Note(std::string_view field, std::string_view reason, std::vector<std::string>* notes) {
  notes->push_back(fmt::format("{}: {}", field, reason));
}
void NoteDropped(std::string_view field, const Status& fault, std::vector<std::string>* notes) {
  Note(field, fmt::format("{}; left out", ReasonOf(fault)), notes);
}

// Converts the time of a fetch. If the result has a lease, an impossible time is replaced instead
// of refused, because the time of the lease bounds it.
StatusOr<Instant> ConvertFetchTime(const v1::CrawlResult& result, Instant now,
                                   std::vector<std::string>* notes) {
  if (!result.has_fetch_time()) return now;
  const StatusOr<Instant> time = ConvertPast("fetch_time", result.fetch_time(), now);
  if (time.ok() || LeaseId(result.lease_id()) == LeaseId()) return time;
  const bool early =
      FromProto(result.fetch_time()).ok() && result.fetch_time().seconds() < kYear1990;
  const std::string_view taken = early ? "; taken as then" : "; taken as now";
  Note("fetch_time", fmt::format("{}{}", ReasonOf(time.status()), taken), notes);
  return early ? Instant::FromUnixSeconds(kYear1990) : now;
}

// Converts the outcome that a worker reports; unset = the digest or the status decides it.
StatusOr<std::optional<CrawlOutcome>> ConvertOutcome(const v1::CrawlResult& result,
                                                     const ReportCrawl& report,
                                                     std::vector<std::string>* notes) {
  const bool leased = report.lease != LeaseId();
  switch (result.outcome()) {
    case v1::CRAWL_OUTCOME_UNSPECIFIED:
      // If the result has an open lease, the server can decide the outcome in any case.
      if (report.digest.empty() && report.http_status != 304 && !leased &&
          !IsFailure(report.http_status)) {
        return InvalidArgument(
            "outcome: is missing, and the server cannot tell it without a digest: report the "
            "outcome or a digest");
      }
      return std::nullopt;
    case v1::CRAWL_OUTCOME_CHANGED:
      return CrawlOutcome::kChanged;
    case v1::CRAWL_OUTCOME_UNCHANGED:
      return CrawlOutcome::kUnchanged;
    case v1::CRAWL_OUTCOME_ERROR:
      return CrawlOutcome::kError;
    case v1::CRAWL_OUTCOME_GONE:
      return CrawlOutcome::kGone;
    case v1::CRAWL_OUTCOME_MOVED:
      return CrawlOutcome::kMoved;
    case v1::CRAWL_OUTCOME_ROBOTS_DENIED:
      return CrawlOutcome::kRobotsDenied;
    default:
      break;
  }
  Status unknown =
      InvalidArgument("outcome: {} is not a known outcome", static_cast<int>(result.outcome()));
  if (!leased) return unknown;
  NoteDropped("outcome", unknown, notes);
  return std::nullopt;
}

// Drops a digest that is too long. Without a digest, the server cannot compare the content, and
// counts it as changed unless the result says otherwise.
void DropDigest(const v1::CrawlResult& result, ReportCrawl* report,
                std::vector<std::string>* notes) {
  Note("content_digest",
       fmt::format("{} bytes, at most {} are allowed; left out", result.content_digest().size(),
                   limits::kMaxValidatorBytes),
       notes);
  if (report->outcome || report->http_status == 304) return;
  report->outcome = CrawlOutcome::kChanged;
  Note("outcome", "is missing, and there is no digest to decide it; counts as changed", notes);
}

// Converts the validators for the next assignment. `report` already has the time of the fetch.
void ConvertValidators(const v1::CrawlResult& result, ReportCrawl* report,
                       std::vector<std::string>* notes) {
  Status etag = ValidateText("etag", result.etag(), limits::kMaxValidatorBytes);
  // RFC 9110 allows other characters, too. But programs read these differently, and many programs
  // cannot send them back.
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (etag.ok() && !std::all_of(result.etag().begin(), result.etag().end(), printable)) {
    etag = InvalidArgument("etag: has characters that are not ASCII");
  }
  if (etag.ok()) {
    report->etag = result.etag();
  } else {
    NoteDropped("etag", etag, notes);
  }
  if (!result.has_last_modified()) return;
  const StatusOr<Instant> time = FromProto(result.last_modified());
  if (!time.ok()) return NoteDropped("last_modified", time.status(), notes);
  if (CanBeLastModified(*time, report->fetched)) {
    report->last_modified = std::to_string(time->micros());
  } else {
    const bool early = *time < report->fetched;
    Note("last_modified", early ? "is before 1990; left out" : "is after the fetch; left out",
         notes);
  }
}

void ConvertStatus(const v1::CrawlResult& result, ReportCrawl* report,
                   std::vector<std::string>* notes) {
  if (!result.has_http_status()) return;
  if (result.http_status() < 100 || result.http_status() > 599) {
    Note("http_status", fmt::format("{} is not 100 to 599; left out", result.http_status()), notes);
    return;
  }
  report->http_status = static_cast<uint16_t>(result.http_status());
}

void ConvertRetryAfter(const v1::CrawlResult& result, ReportCrawl* report,
                       std::vector<std::string>* notes) {
  if (!result.has_retry_after()) return;
  const StatusOr<Duration> wait = ConvertSpan("retry_after", result.retry_after(), kMaxBlock);
  if (wait.ok()) {
    report->retry_after = *wait;
    return;
  }
  const StatusOr<Duration> span = FromProto(result.retry_after());
  if (!span.ok() || *span < Duration()) return NoteDropped("retry_after", wait.status(), notes);
  report->retry_after = kMaxBlock;
  Note("retry_after", fmt::format("{}, which counts", ReasonOf(wait.status())), notes);
}

// Converts what the worker reports about the host.
void ConvertHostFacts(const v1::CrawlResult& result, ReportCrawl* report,
                      std::vector<std::string>* notes) {
  if (result.has_crawl_delay()) {
    const StatusOr<Duration> delay = FromProto(result.crawl_delay());
    const StatusOr<Duration> bounded = ConvertSpan("crawl_delay", result.crawl_delay(), kMaxBlock);
    if (!delay.ok() || *delay < Duration()) {
      NoteDropped("crawl_delay", bounded.status(), notes);
    } else {
      report->crawl_delay = std::min(*delay, kMaxBlock);
      if (!bounded.ok()) {
        Note("crawl_delay", fmt::format("{}, which counts", ReasonOf(bounded.status())), notes);
      }
    }
  }
  if (result.server_address().empty()) return;
  if (const std::optional<IpAddress> address = ParseIpAddress(result.server_address())) {
    report->address = *address;
  } else {
    Note("server_address", "is not an IP address; left out", notes);
  }
}

// Converts the new address of a moved page. `report` already has all other fields.
void ConvertMovedTo(const v1::CrawlResult& result, ReportCrawl* report,
                    std::vector<std::string>* notes) {
  if (result.moved_to().empty()) return;
  if (report->outcome != CrawlOutcome::kMoved) {
    return Note("moved_to", "is not of a page that has moved; left out", notes);
  }
  StatusOr<CanonicalUrl> url = Canonicalise(result.moved_to());
  if (!url.ok()) return NoteDropped("moved_to", url.status(), notes);
  if (report->key && report->key->url == url->text) {
    return Note("moved_to", "is the page itself; left out", notes);
  }
  report->moved_to = std::move(url->text);
}

// Makes a key from the URL as the client sent it.
StatusOr<PageKey> ConvertAsSent(std::string_view url, std::string_view crawl_id) {
  RETURN_IF_ERROR(ValidateText("url", url, limits::kMaxUrlBytes));
  ASSIGN_OR_RETURN(std::string id, CanonicalCrawlId(crawl_id));
  return PageKey{.crawl_id = std::move(id), .url = std::string(url)};
}

// Sets the page that a result names. Returns the slot of the lease, or of the URL's host if there
// is no lease. Earlier releases made other canonical URLs, so the named URL can differ in text or
// host from that of the leased page, or can be invalid. The shard compares the names.
StatusOr<Slot> ConvertResultKey(const v1::CrawlResult& result, ReportCrawl* report) {
  const bool leased = report->lease != LeaseId();
  const Slot slot_of_lease = SlotOfLease(report->lease);
  if (leased && result.url().empty()) return slot_of_lease;
  StatusOr<HostedKey> named = ConvertKey(result.url(), result.crawl_id());
  if (!leased && !named.ok()) return named.status();
  const Slot slot = leased ? slot_of_lease : SlotOfHost(named->host);
  const bool found = named.ok() && SlotOfHost(named->host) == slot;
  if (!found || named->key.url != result.url()) {
    ASSIGN_OR_RETURN(report->as_sent, ConvertAsSent(result.url(), result.crawl_id()));
  }
  if (found) report->key = std::move(named->key);
  return slot;
}

}  // namespace

bool CanBeLastModified(Instant modified, Instant fetched) {
  return modified >= Instant::FromUnixSeconds(kYear1990) && modified <= fetched;
}

StatusOr<Duration> FromProto(const google::protobuf::Duration& duration) {
  constexpr int64_t kMost = 315'576'000'000;  // 10,000 years, as the type defines
  const bool fits = duration.seconds() >= -kMost && duration.seconds() <= kMost &&
                    duration.nanos() > -1'000'000'000 && duration.nanos() < 1'000'000'000 &&
                    (duration.seconds() == 0 || duration.nanos() == 0 ||
                     (duration.seconds() > 0) == (duration.nanos() > 0));
  if (!fits) {
    return InvalidArgument("{} s and {} ns are not a valid duration", duration.seconds(),
                           duration.nanos());
  }
  return Duration::Seconds(duration.seconds()) + Duration::Micros(duration.nanos() / 1000);
}

StatusOr<Instant> FromProto(const google::protobuf::Timestamp& time) {
  // Years 1 to 9999, as the type defines.
  const bool fits = time.seconds() >= -62'135'596'800 && time.seconds() <= 253'402'300'799 &&
                    time.nanos() >= 0 && time.nanos() < 1'000'000'000;
  if (!fits) {
    return InvalidArgument("{} s and {} ns are not a valid time", time.seconds(), time.nanos());
  }
  return Instant::FromUnixSeconds(time.seconds()) + Duration::Micros(time.nanos() / 1000);
}

StatusOr<HostedKey> ConvertKey(std::string_view url, std::string_view crawl_id) {
  ASSIGN_OR_RETURN(CanonicalUrl canonical, Canonicalise(url));
  ASSIGN_OR_RETURN(std::string id, CanonicalCrawlId(crawl_id));
  return HostedKey{.key = {.crawl_id = std::move(id), .url = std::move(canonical.text)},
                   .host = std::move(canonical.host)};
}

std::optional<Slot> SlotOf(std::string_view url) {
  const StatusOr<CanonicalUrl> canonical = Canonicalise(url);
  if (!canonical.ok()) return std::nullopt;
  return SlotOfHost(canonical->host);
}

std::optional<Slot> SlotOf(uint64_t lease_id) {
  if (lease_id == 0) return std::nullopt;
  return SlotOfLease(LeaseId(lease_id));
}

std::optional<Slot> SlotOf(const v1::CrawlResult& result) {
  return result.lease_id() != 0 ? SlotOf(result.lease_id()) : SlotOf(result.url());
}

std::optional<Slot> SlotOf(const v1::ChangeSignal& signal) { return SlotOf(signal.url()); }
std::optional<Slot> SlotOf(const v1::PageSpec& page) { return SlotOf(page.url()); }

StatusOr<RoutedEvent> ConvertPage(const v1::PageSpec& page, bool reset, Instant now) {
  ASSIGN_OR_RETURN(HostedKey named, ConvertKey(page.url(), page.crawl_id()));
  const Slot slot = SlotOfHost(named.host);
  UpsertPage upsert;
  upsert.key = std::move(named.key);
  upsert.host = std::move(named.host);
  upsert.reset = reset;
  if (page.has_importance()) {
    RETURN_IF_ERROR(CheckNumber("importance", page.importance(), limits::kMaxImportance));
    upsert.importance = page.importance();
  }
  if (page.has_min_interval()) {
    ASSIGN_OR_RETURN(upsert.min_interval,
                     ConvertSpan("min_interval", page.min_interval(), kMaxInterval));
  }
  if (page.has_max_interval()) {
    ASSIGN_OR_RETURN(upsert.max_interval,
                     ConvertSpan("max_interval", page.max_interval(), kMaxInterval));
  }
  if (page.has_not_before()) {
    const StatusOr<Instant> time = FromProto(page.not_before());
    if (!time.ok()) return InField("not_before", time.status());
    upsert.not_before = std::max(*time, Instant());
  }
  if (page.has_known_change_rate_per_day()) {
    const double rate = page.known_change_rate_per_day();
    RETURN_IF_ERROR(CheckNumber("known_change_rate_per_day", rate, limits::kMaxChangesPerDay));
    upsert.known_change_rate = Rate::PerDay(rate);
  }
  if (page.has_complete_signals()) upsert.complete_signals = page.complete_signals();
  if (page.has_last_crawl_time()) {
    ASSIGN_OR_RETURN(upsert.last_crawl,
                     ConvertPast("last_crawl_time", page.last_crawl_time(), now));
  }
  return RoutedEvent{.slot = slot, .event = std::move(upsert), .notes = {}};
}

StatusOr<RoutedEvent> ConvertRemove(std::string_view url, std::string_view crawl_id) {
  ASSIGN_OR_RETURN(HostedKey named, ConvertKey(url, crawl_id));
  RemovePage remove;
  if (named.key.url != url) {
    ASSIGN_OR_RETURN(remove.as_sent, ConvertAsSent(url, crawl_id));
  }
  remove.key = std::move(named.key);
  return RoutedEvent{.slot = SlotOfHost(named.host), .event = std::move(remove), .notes = {}};
}

StatusOr<RoutedEvent> ConvertRecheck(std::string_view url, std::string_view crawl_id) {
  ASSIGN_OR_RETURN(HostedKey named, ConvertKey(url, crawl_id));
  RecheckPage recheck;
  recheck.key = std::move(named.key);
  return RoutedEvent{.slot = SlotOfHost(named.host), .event = std::move(recheck), .notes = {}};
}

StatusOr<RoutedEvent> ConvertResult(const v1::CrawlResult& result, uint32_t generation,
                                    Instant now) {
  DCHECK(generation > 0, "every run has a number");
  ReportCrawl report;
  report.lease = LeaseId(result.lease_id());
  if (report.lease != LeaseId() && !MayHaveIssued(generation, report.lease)) {
    return NotFound("lease_id: {} was never issued", result.lease_id());
  }
  std::vector<std::string> notes;
  ASSIGN_OR_RETURN(const Slot slot, ConvertResultKey(result, &report));
  ASSIGN_OR_RETURN(report.fetched, ConvertFetchTime(result, now, &notes));
  ConvertStatus(result, &report, &notes);
  const bool long_digest = result.content_digest().size() > limits::kMaxValidatorBytes;
  if (!long_digest) report.digest = result.content_digest();
  if (!long_digest || result.outcome() != v1::CRAWL_OUTCOME_UNSPECIFIED) {
    ASSIGN_OR_RETURN(report.outcome, ConvertOutcome(result, report, &notes));
  }
  if (long_digest) DropDigest(result, &report, &notes);
  ConvertValidators(result, &report, &notes);
  ConvertRetryAfter(result, &report, &notes);
  ConvertHostFacts(result, &report, &notes);
  ConvertMovedTo(result, &report, &notes);
  return RoutedEvent{.slot = slot, .event = std::move(report), .notes = std::move(notes)};
}

Status UnknownSource(const Sources& sources, std::string_view name) {
  std::vector<std::string> names;
  for (const SourceRecord& source : sources.All()) names.push_back(source.name);
  const std::string meant = DidYouMean(name, names);
  return NotFound("source: {} is not registered{}", name,
                  meant.empty() ? "; `freshet sources` lists all, --add adds one" : meant);
}

StatusOr<RoutedEvent> ConvertSignal(const v1::ChangeSignal& signal, const Sources& sources,
                                    Instant now) {
  ASSIGN_OR_RETURN(HostedKey named, ConvertKey(signal.url(), signal.crawl_id()));
  if (signal.source().empty()) return InvalidArgument("source: is empty");
  if (const Status name = ValidateSourceName(signal.source()); !name.ok()) {
    return InField("source", name);
  }
  const std::optional<uint8_t> source = sources.Find(signal.source());
  if (!source) return UnknownSource(sources, signal.source());
  SignalChange change;
  change.key = std::move(named.key);
  change.source = *source;
  if (signal.has_change_time()) {
    ASSIGN_OR_RETURN(change.changed, ConvertPast("change_time", signal.change_time(), now));
  }
  RETURN_IF_ERROR(ValidateText("signal_id", signal.signal_id(), limits::kMaxSignalIdBytes));
  if (!signal.signal_id().empty()) {
    // An id is unique only within a source and a page, so their names are hashed with it.
    const std::string scope =
        fmt::format("{} {} {}", signal.source(), change.key.crawl_id, change.key.url);
    change.signal_id_hash = std::max<uint64_t>(1, HashOfTexts(scope, signal.signal_id()));
  }
  return RoutedEvent{.slot = SlotOfHost(named.host), .event = std::move(change), .notes = {}};
}

StatusOr<RoutedEvent> ConvertReturn(uint64_t lease_id) {
  if (lease_id == 0) return InvalidArgument("lease_ids: a lease id is never 0");
  const LeaseId lease(lease_id);
  return RoutedEvent{.slot = SlotOfLease(lease), .event = ReturnLease{lease}, .notes = {}};
}

StatusOr<std::string> ConvertHost(std::string_view text) {
  if (text.empty()) return InvalidArgument("host: is empty");
  const bool url = text.find("://") != std::string_view::npos;
  const StatusOr<CanonicalUrl> canonical =
      Canonicalise(url ? std::string(text) : fmt::format("http://{}/", text));
  if (canonical.ok()) return canonical->host;
  // The reason begins with "host ", because it is about a part of a URL. Here the whole field is
  // the host, so the word is removed.
  std::string_view reason = ReasonOf(canonical.status());
  constexpr std::string_view kPart = "host ";
  if (reason.starts_with(kPart)) reason.remove_prefix(kPart.size());
  return InvalidArgument("host: {}", reason);
}

StatusOr<SetHost> ConvertPoliteness(const v1::SetHostPolitenessRequest& request, Instant now) {
  SetHost event;
  ASSIGN_OR_RETURN(event.host, ConvertHost(request.host()));
  if (request.reset()) {
    event.min_delay.emplace();
    event.max_in_flight.emplace();
    event.min_page_interval.emplace();
    event.max_crawls.emplace();
    event.hours.emplace();
    event.blocked_until = Instant();
  }
  ASSIGN_OR_RETURN(const PolitenessSpans spans, ConvertSpans(request));
  if (spans.min_delay) event.min_delay.emplace(spans.min_delay);
  if (request.has_max_in_flight()) event.max_in_flight.emplace(request.max_in_flight());
  if (spans.min_page_interval) event.min_page_interval.emplace(spans.min_page_interval);
  if (request.has_max_crawls()) {
    ASSIGN_OR_RETURN(const CrawlCap cap, ConvertCap(request.max_crawls()));
    event.max_crawls.emplace(cap);
  }
  if (request.has_hours()) {
    const StatusOr<DayHours> hours = ParseDayHours(request.hours());
    if (!hours.ok()) return InField("hours", hours.status());
    event.hours.emplace(*hours);
  }
  if (request.has_blocked_until()) {
    const StatusOr<Instant> until = FromProto(request.blocked_until());
    if (!until.ok()) return InField("blocked_until", until.status());
    if (*until > now + kMaxBlock) {
      return InvalidArgument("blocked_until: is more than {} days ahead",
                             limits::kMaxBlockSeconds / 86400);
    }
    event.blocked_until = *until <= now ? Instant() : *until;
  }
  return event;
}

StatusOr<std::function<void(Settings*)>> ConvertDefaults(
    const v1::SetPolitenessDefaultsRequest& request) {
  ASSIGN_OR_RETURN(const PolitenessSpans spans, ConvertSpans(request));
  std::optional<uint32_t> limit;
  if (request.has_max_in_flight()) limit = request.max_in_flight();
  return [reset = request.reset(), spans, limit](Settings* settings) {
    const auto put = [reset](const auto& value, auto* setting) {
      if (reset || value) *setting = value;
    };
    put(spans.min_delay, &settings->min_delay);
    put(limit, &settings->max_in_flight);
    put(spans.min_page_interval, &settings->min_page_interval);
  };
}

static_assert(v1::FRONTIER_MODE_SHADOW == static_cast<int>(FrontierMode::kShadow) + 1);
static_assert(v1::FRONTIER_MODE_SCHEDULED == static_cast<int>(FrontierMode::kScheduled) + 1);

StatusOr<std::function<void(CrawlRecord*)>> ConvertCrawl(const v1::SetCrawlRequest& request) {
  const auto in = [](double value, double most) { return value >= 0 && value <= most; };
  if (request.has_share() && !in(request.share(), 1)) {
    return InvalidArgument("share: {} is not from 0 to 1", request.share());
  }
  if (request.has_max_rate_per_second() &&
      !in(request.max_rate_per_second(), limits::kMaxCrawlsPerSecond)) {
    return InvalidArgument("max_rate_per_second: {} is not from 0 to {:.0f}",
                           request.max_rate_per_second(), limits::kMaxCrawlsPerSecond);
  }
  if (request.has_max_pages() && request.max_pages() > limits::kMaxPageIds) {
    return InvalidArgument("max_pages: {} is above the maximum of {}", request.max_pages(),
                           limits::kMaxPageIds);
  }
  if (!v1::FrontierMode_IsValid(request.frontier_mode())) {
    return InvalidArgument("frontier_mode: {} is not a known mode",
                           static_cast<int>(request.frontier_mode()));
  }
  ASSIGN_OR_RETURN(const PolitenessSpans spans, ConvertSpans(request));
  return [request, spans](CrawlRecord* crawl) {
    if (request.reset()) *crawl = {.crawl_id = crawl->crawl_id, .deleting = crawl->deleting};
    // Zero removes the limit.
    if (request.has_share()) crawl->share.reset();
    if (request.share() > 0) crawl->share = request.share();
    if (request.has_max_rate_per_second()) crawl->max_rate.reset();
    if (request.max_rate_per_second() > 0) {
      crawl->max_rate = Rate::PerSecond(request.max_rate_per_second());
    }
    if (request.has_max_pages()) crawl->max_pages.reset();
    if (request.max_pages() > 0) crawl->max_pages = request.max_pages();
    if (spans.min_delay) crawl->min_delay = spans.min_delay;
    if (request.has_max_in_flight()) crawl->max_in_flight = request.max_in_flight();
    if (spans.min_page_interval) crawl->min_page_interval = spans.min_page_interval;
    if (request.frontier_mode() != v1::FRONTIER_MODE_UNSPECIFIED) {
      crawl->frontier_mode = static_cast<FrontierMode>(request.frontier_mode() - 1);
    }
  };
}

StatusOr<Duration> ConvertLease(bool has, const google::protobuf::Duration& lease, Duration unset,
                                Duration max) {
  DCHECK(max >= Duration::Seconds(1), "no lease is allowed");
  if (!has) return unset;
  const StatusOr<Duration> duration = FromProto(lease);
  if (!duration.ok()) return InField("lease_duration", duration.status());
  if (*duration < Duration::Seconds(1) || *duration > max) {
    return InvalidArgument("lease_duration: {} is out of range: it must be from 1 s to {}",
                           SecondsText(*duration), SecondsText(max));
  }
  return *duration;
}

void SetPolls(const PollOrigin& origin, std::vector<RoutedEvent>* signals) {
  constexpr uint64_t kMost = UINT32_MAX;
  // If the poll has fewer than two items, the signals stay unrelated single pings, as ConvertSignal
  // has made them.
  if (origin.size && *origin.size < 2) return;
  // Pages of one slot can have different hosts, so the host is taken from the URL.
  const auto part_of = [](const SignalChange& signal) {
    return std::pair(signal.source, HostOfCanonical(signal.key.url));
  };
  absl::flat_hash_map<std::pair<uint8_t, std::string_view>, std::vector<SignalChange*>> parts;
  for (RoutedEvent& event : *signals) {
    auto& signal = std::get<SignalChange>(event.event);
    parts[part_of(signal)].push_back(&signal);
  }
  for (const auto& [part, members] : parts) {
    uint64_t pages = origin.size.value_or(0);
    if (!origin.size) {
      absl::flat_hash_set<PageKey> distinct;
      for (const SignalChange* signal : members) distinct.insert(signal->key);
      pages = distinct.size();
    }
    uint64_t poll = 0;
    if (pages > 1) {
      poll = std::max<uint64_t>(
          1, HashOfTexts(fmt::format("{} {}", part.first, part.second), origin.name));
    }
    for (SignalChange* signal : members) {
      signal->pages_in_poll = static_cast<uint32_t>(std::min(pages, kMost));
      signal->poll = poll;
    }
  }
}

}  // namespace freshet
