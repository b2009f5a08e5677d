#include "server/api/convert.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/fingerprint.h"
#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/base/url.h"
#include "core/schedule/http_status.h"
#include "core/schedule/leases.h"
#include "server/api/wire.h"

namespace freshet {
namespace {

constexpr int64_t kYear1990 = 631'152'000;
constexpr Duration kMaxSkew = Duration::Seconds(limits::kMaxClockSkewSeconds);
constexpr Duration kMaxInterval = Duration::Seconds(limits::kMaxIntervalSeconds);
constexpr Duration kMaxBlock = Duration::Seconds(limits::kMaxBlockSeconds);

v1::ItemError Invalid(std::string_view field, std::string reason) {
  return MakeFault(v1::ERROR_CODE_INVALID_ARGUMENT, field, std::move(reason));
}

// "field: reason", where the field is a name as in the .proto.
std::pair<std::string_view, std::string_view> SplitField(std::string_view message) {
  const size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789");
  const bool named = end != std::string_view::npos && end > 0 && message.substr(end, 2) == ": ";
  if (!named) return {{}, message};
  return {message.substr(0, end), message.substr(end + 2)};
}

v1::ErrorCode CodeOf(const Status& status, std::string_view field) {
  switch (status.code()) {
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kOutOfRange:
      return v1::ERROR_CODE_INVALID_ARGUMENT;
    case absl::StatusCode::kNotFound:
      if (field == "lease_id") return v1::ERROR_CODE_UNKNOWN_LEASE;
      return field == "source" ? v1::ERROR_CODE_UNKNOWN_SOURCE : v1::ERROR_CODE_NOT_FOUND;
    case absl::StatusCode::kResourceExhausted:
      return v1::ERROR_CODE_RESOURCE_EXHAUSTED;
    case absl::StatusCode::kUnavailable:
      return v1::ERROR_CODE_UNAVAILABLE;
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kAlreadyExists:
      return v1::ERROR_CODE_FAILED_PRECONDITION;
    default:
      return v1::ERROR_CODE_INTERNAL;
  }
}

Fault CheckNumber(std::string_view field, double value, double max) {
  if (std::isnan(value)) return Invalid(field, "is not a number (NaN)");
  if (value < 0) return Invalid(field, fmt::format("{} is negative", value));
  if (value > max) return Invalid(field, fmt::format("{} is over the limit of {}", value, max));
  return std::nullopt;
}

// A span from zero to `max`.
Fault ConvertSpan(std::string_view field, const google::protobuf::Duration& span, Duration max,
                  Duration* out) {
  const StatusOr<Duration> duration = FromProto(span);
  if (!duration.ok()) return Invalid(field, std::string(duration.status().message()));
  if (*duration < Duration()) return Invalid(field, "is negative");
  if (*duration > max) {
    return Invalid(
        field, fmt::format("{} s is over the limit of {} s", duration->seconds(), max.seconds()));
  }
  *out = *duration;
  return std::nullopt;
}

// An interval between crawls that may be unset, which leaves `out` as it is.
template <typename Out>
Fault ConvertInterval(std::string_view field, bool has, const google::protobuf::Duration& interval,
                      Out* out) {
  if (!has) return std::nullopt;
  Duration converted;
  if (Fault fault = ConvertSpan(field, interval, kMaxInterval, &converted)) return fault;
  out->emplace(converted);
  return std::nullopt;
}

// An instant that something happened at: not before 1990, hardly after now.
Fault ConvertPast(std::string_view field, const google::protobuf::Timestamp& time, Instant now,
                  Instant* out) {
  const StatusOr<Instant> instant = FromProto(time);
  if (!instant.ok()) return Invalid(field, std::string(instant.status().message()));
  if (*instant < Instant::FromUnixSeconds(kYear1990)) return Invalid(field, "is before 1990");
  if (*instant > now + kMaxSkew) {
    return Invalid(field, fmt::format("is {:.0f} s in the server's future, at most {} are allowed",
                                      (*instant - now).seconds(), limits::kMaxClockSkewSeconds));
  }
  *out = *instant;
  return std::nullopt;
}

// What is wrong of a field that comes from the site, or from a worker's clock, costs no result.
void Note(std::string_view field, std::string_view reason, std::vector<std::string>* notes) {
  notes->push_back(fmt::format("{}: {}", field, reason));
}
void NoteDropped(const v1::ItemError& fault, std::vector<std::string>* notes) {
  Note(fault.field(), fault.reason() + "; left out", notes);
}

// The time of a fetch. Under a lease, which bounds it, any is taken.
Fault ConvertFetchTime(const v1::CrawlResult& result, Instant now, ReportCrawl* report,
                       std::vector<std::string>* notes) {
  report->fetched = now;
  if (!result.has_fetch_time()) return std::nullopt;
  Fault fault = ConvertPast("fetch_time", result.fetch_time(), now, &report->fetched);
  if (!fault || report->lease == LeaseId()) return fault;
  const bool early =
      FromProto(result.fetch_time()).ok() && result.fetch_time().seconds() < kYear1990;
  if (early) report->fetched = Instant::FromUnixSeconds(kYear1990);
  Note("fetch_time", fault->reason() + (early ? "; taken as then" : "; taken as now"), notes);
  return std::nullopt;
}

Fault ConvertOutcome(const v1::CrawlResult& result, ReportCrawl* report,
                     std::vector<std::string>* notes) {
  switch (result.outcome()) {
    case v1::CRAWL_OUTCOME_UNSPECIFIED:
      // Under an open lease it is decided one way or another.
      if (report->digest.empty() && report->http_status != 304 && report->lease == LeaseId() &&
          !IsFailure(report->http_status)) {
        return Invalid("outcome", "is unset and there is no digest to decide it by");
      }
      return std::nullopt;
    case v1::CRAWL_OUTCOME_CHANGED:
      report->outcome = CrawlOutcome::kChanged;
      return std::nullopt;
    case v1::CRAWL_OUTCOME_UNCHANGED:
      report->outcome = CrawlOutcome::kUnchanged;
      return std::nullopt;
    case v1::CRAWL_OUTCOME_ERROR:
      report->outcome = CrawlOutcome::kError;
      return std::nullopt;
    case v1::CRAWL_OUTCOME_GONE:
      report->outcome = CrawlOutcome::kGone;
      return std::nullopt;
    case v1::CRAWL_OUTCOME_MOVED:
      report->outcome = CrawlOutcome::kMoved;
      return std::nullopt;
    default:
      break;
  }
  Fault fault =
      Invalid("outcome", fmt::format("{} is no known outcome", static_cast<int>(result.outcome())));
  if (report->lease == LeaseId()) return fault;
  NoteDropped(*fault, notes);
  return std::nullopt;
}

// Without its digest nothing can be compared: where nothing else is said, new content is the worse.
void DropDigest(const v1::CrawlResult& result, ReportCrawl* report,
                std::vector<std::string>* notes) {
  NoteDropped(Invalid("content_digest",
                      fmt::format("{} bytes, at most {} are allowed",
                                  result.content_digest().size(), limits::kMaxValidatorBytes)),
              notes);
  if (report->outcome || report->http_status == 304) return;
  report->outcome = CrawlOutcome::kChanged;
  Note("outcome", "is unset and there is no digest to decide it by: counts as changed", notes);
}

// What a worker wants back with the next assignment.
void ConvertValidators(const v1::CrawlResult& result, ReportCrawl* report,
                       std::vector<std::string>* notes) {
  const Status etag = ValidateText("etag", result.etag(), limits::kMaxValidatorBytes);
  if (etag.ok()) {
    report->etag = result.etag();
  } else {
    NoteDropped(FaultOf(etag), notes);
  }
  if (!result.has_last_modified()) return;
  if (const StatusOr<Instant> time = FromProto(result.last_modified()); time.ok()) {
    report->last_modified = std::to_string(time->micros());
  } else {
    NoteDropped(Invalid("last_modified", std::string(time.status().message())), notes);
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
  const Fault fault =
      ConvertSpan("retry_after", result.retry_after(), kMaxBlock, &report->retry_after);
  if (!fault) return;
  const StatusOr<Duration> span = FromProto(result.retry_after());
  if (!span.ok() || *span < Duration()) return NoteDropped(*fault, notes);
  report->retry_after = kMaxBlock;
  Note("retry_after", fault->reason() + ", which counts", notes);
}

// Where a page has moved to; `report` has the rest.
void ConvertMovedTo(const v1::CrawlResult& result, ReportCrawl* report,
                    std::vector<std::string>* notes) {
  if (result.moved_to().empty()) return;
  if (report->outcome != CrawlOutcome::kMoved) {
    return Note("moved_to", "is not of a page that has moved; left out", notes);
  }
  StatusOr<CanonicalUrl> url = Canonicalise(result.moved_to());
  if (!url.ok()) {
    const Fault fault = FaultOf(url.status());
    return Note("moved_to", fault->reason() + "; left out", notes);
  }
  if (report->key && report->key->url == url->text) {
    return Note("moved_to", "is the page itself; left out", notes);
  }
  report->moved_to = std::move(url->text);
}

Fault ConvertIntervals(const v1::PageSpec& page, UpsertPage* patch) {
  if (Fault fault = ConvertInterval("min_interval", page.has_min_interval(), page.min_interval(),
                                    &patch->min_interval)) {
    return fault;
  }
  if (Fault fault = ConvertInterval("max_interval", page.has_max_interval(), page.max_interval(),
                                    &patch->max_interval)) {
    return fault;
  }
  if (page.has_not_before()) {
    const StatusOr<Instant> time = FromProto(page.not_before());
    if (!time.ok()) return Invalid("not_before", std::string(time.status().message()));
    patch->not_before = std::max(*time, Instant());
  }
  return std::nullopt;
}

// What was sent, as it is.
Fault ConvertAsSent(std::string_view url, std::string_view crawl_id, std::optional<PageKey>* key) {
  if (const Status text = ValidateText("url", url, limits::kMaxUrlBytes); !text.ok()) {
    return FaultOf(text);
  }
  StatusOr<std::string> id = CanonicalCrawlId(crawl_id);
  if (!id.ok()) return FaultOf(id.status());
  *key = {.crawl_id = *std::move(id), .url = std::string(url)};
  return std::nullopt;
}

// The page that a result names, and the slot to ask for it: that of the lease, if there is one. Its
// shard compares names, because the page may be one of an earlier release, which kept what was
// canonical then: another text, or one that is no URL any more, or under another host.
Fault ConvertResultKey(const v1::CrawlResult& result, ReportCrawl* report, Slot* slot) {
  const bool leased = report->lease != LeaseId();
  if (leased && result.url().empty()) return std::nullopt;
  PageKey key;
  std::string host;
  const Fault fault = ConvertKey(result.url(), result.crawl_id(), &key, &host);
  if (fault && !leased) return fault;
  if (!leased) *slot = SlotOfHost(host);
  const bool found = !fault && SlotOfHost(host) == *slot;
  if (!found || key.url != result.url()) {
    if (Fault invalid = ConvertAsSent(result.url(), result.crawl_id(), &report->as_sent)) {
      return invalid;
    }
  }
  if (found) report->key = std::move(key);
  return std::nullopt;
}

}  // namespace

// --- Errors

v1::ItemError MakeFault(v1::ErrorCode code, std::string_view field, std::string reason) {
  v1::ItemError error;
  // A reason quotes what was sent: a thousand items with long URLs are not sent back.
  if (reason.size() > limits::kMaxReasonBytes) {
    const std::string_view start = std::string_view(reason).substr(0, limits::kMaxReasonBytes);
    reason.replace(ValidUtf8Prefix(start), std::string::npos, "...");
  }
  error.set_code(code);
  error.set_field(std::string(field));
  error.set_reason(std::move(reason));
  return error;
}

v1::ItemError MakeRetryableFault(v1::ErrorCode code, std::string reason, Duration wait) {
  v1::ItemError error = MakeFault(code, {}, std::move(reason));
  error.set_retryable(true);
  ToProto(wait, error.mutable_retry_after());
  return error;
}

v1::ItemError FaultOf(const Status& status) {
  const std::string_view message(status.message().data(), status.message().size());
  const auto [field, reason] = SplitField(message);
  v1::ItemError error = MakeFault(CodeOf(status, field), field, std::string(reason));
  if (error.code() == v1::ERROR_CODE_RESOURCE_EXHAUSTED ||
      error.code() == v1::ERROR_CODE_UNAVAILABLE) {
    error.set_retryable(true);
    ToProto(Duration::Seconds(1), error.mutable_retry_after());
  }
  return error;
}

grpc::Status GrpcStatusOf(const Status& status) {
  // Both number their codes alike.
  return {static_cast<grpc::StatusCode>(status.raw_code()), std::string(status.message())};
}

grpc::Status GrpcStatusOf(const v1::ItemError& fault) {
  grpc::StatusCode code = grpc::StatusCode::INTERNAL;
  switch (fault.code()) {
    case v1::ERROR_CODE_INVALID_ARGUMENT:
      code = grpc::StatusCode::INVALID_ARGUMENT;
      break;
    case v1::ERROR_CODE_NOT_FOUND:
    case v1::ERROR_CODE_UNKNOWN_SOURCE:
    case v1::ERROR_CODE_UNKNOWN_LEASE:
      code = grpc::StatusCode::NOT_FOUND;
      break;
    case v1::ERROR_CODE_RESOURCE_EXHAUSTED:
      code = grpc::StatusCode::RESOURCE_EXHAUSTED;
      break;
    case v1::ERROR_CODE_UNAVAILABLE:
      code = grpc::StatusCode::UNAVAILABLE;
      break;
    case v1::ERROR_CODE_FAILED_PRECONDITION:
      code = grpc::StatusCode::FAILED_PRECONDITION;
      break;
    default:
      break;
  }
  return {code, fault.field().empty() ? fault.reason()
                                      : fmt::format("{}: {}", fault.field(), fault.reason())};
}

// --- From clients

StatusOr<Duration> FromProto(const google::protobuf::Duration& duration) {
  constexpr int64_t kMost = 315'576'000'000;  // 10,000 years, as the type says
  const bool fits = duration.seconds() >= -kMost && duration.seconds() <= kMost &&
                    duration.nanos() > -1'000'000'000 && duration.nanos() < 1'000'000'000 &&
                    (duration.seconds() == 0 || duration.nanos() == 0 ||
                     (duration.seconds() > 0) == (duration.nanos() > 0));
  if (!fits) {
    return InvalidArgument("{} s and {} ns are no valid duration", duration.seconds(),
                           duration.nanos());
  }
  return Duration::Seconds(duration.seconds()) + Duration::Micros(duration.nanos() / 1000);
}

StatusOr<Instant> FromProto(const google::protobuf::Timestamp& time) {
  // Years 1 to 9999, as the type says.
  const bool fits = time.seconds() >= -62'135'596'800 && time.seconds() <= 253'402'300'799 &&
                    time.nanos() >= 0 && time.nanos() < 1'000'000'000;
  if (!fits) {
    return InvalidArgument("{} s and {} ns are no valid time", time.seconds(), time.nanos());
  }
  return Instant::FromUnixSeconds(time.seconds()) + Duration::Micros(time.nanos() / 1000);
}

Fault ConvertKey(std::string_view url, std::string_view crawl_id, PageKey* key, std::string* host) {
  StatusOr<CanonicalUrl> canonical = Canonicalise(url);
  if (!canonical.ok()) return FaultOf(canonical.status());
  StatusOr<std::string> id = CanonicalCrawlId(crawl_id);
  if (!id.ok()) return FaultOf(id.status());
  key->url = std::move(canonical->text);
  key->crawl_id = *std::move(id);
  *host = std::move(canonical->host);
  return std::nullopt;
}

Fault ConvertPage(const v1::PageSpec& page, bool reset, Instant now, RoutedEvent* event) {
  UpsertPage upsert;
  if (Fault fault = ConvertKey(page.url(), page.crawl_id(), &upsert.key, &upsert.host)) {
    return fault;
  }
  upsert.reset = reset;
  if (page.has_importance()) {
    if (Fault fault = CheckNumber("importance", page.importance(), limits::kMaxImportance)) {
      return fault;
    }
    upsert.importance = page.importance();
  }
  if (Fault fault = ConvertIntervals(page, &upsert)) return fault;
  if (page.has_known_change_rate_per_day()) {
    const double rate = page.known_change_rate_per_day();
    if (Fault fault = CheckNumber("known_change_rate_per_day", rate, limits::kMaxChangesPerDay)) {
      return fault;
    }
    upsert.known_change_rate = Rate::PerDay(rate);
  }
  if (page.has_complete_signals()) upsert.complete_signals = page.complete_signals();
  if (page.has_last_crawl_time()) {
    Instant time;
    if (Fault fault = ConvertPast("last_crawl_time", page.last_crawl_time(), now, &time)) {
      return fault;
    }
    upsert.last_crawl = time;
  }
  event->slot = SlotOfHost(upsert.host);
  event->event = std::move(upsert);
  return std::nullopt;
}

Fault ConvertRemove(std::string_view url, std::string_view crawl_id, RoutedEvent* event) {
  RemovePage remove;
  std::string host;
  if (Fault fault = ConvertKey(url, crawl_id, &remove.key, &host)) return fault;
  if (remove.key.url != url) {
    if (Fault fault = ConvertAsSent(url, crawl_id, &remove.as_sent)) return fault;
  }
  event->slot = SlotOfHost(host);
  event->event = std::move(remove);
  return std::nullopt;
}

Fault ConvertRecheck(std::string_view url, std::string_view crawl_id, RoutedEvent* event) {
  RecheckPage recheck;
  std::string host;
  if (Fault fault = ConvertKey(url, crawl_id, &recheck.key, &host)) return fault;
  event->slot = SlotOfHost(host);
  event->event = std::move(recheck);
  return std::nullopt;
}

Fault ConvertResult(const v1::CrawlResult& result, uint32_t generation, Instant now,
                    RoutedEvent* event) {
  ReportCrawl report;
  report.lease = LeaseId(result.lease_id());
  event->slot = SlotOfLease(report.lease);
  if (report.lease != LeaseId() && !MayHaveIssued(generation, report.lease)) {
    return MakeFault(v1::ERROR_CODE_UNKNOWN_LEASE, "lease_id",
                     fmt::format("{} was never issued", result.lease_id()));
  }
  if (Fault fault = ConvertResultKey(result, &report, &event->slot)) return fault;
  std::vector<std::string>* notes = &event->notes;
  if (Fault fault = ConvertFetchTime(result, now, &report, notes)) return fault;
  ConvertStatus(result, &report, notes);
  const bool long_digest = result.content_digest().size() > limits::kMaxValidatorBytes;
  if (!long_digest) report.digest = result.content_digest();
  if (!long_digest || result.outcome() != v1::CRAWL_OUTCOME_UNSPECIFIED) {
    if (Fault fault = ConvertOutcome(result, &report, notes)) return fault;
  }
  if (long_digest) DropDigest(result, &report, notes);
  ConvertValidators(result, &report, notes);
  ConvertRetryAfter(result, &report, notes);
  ConvertMovedTo(result, &report, notes);
  event->event = std::move(report);
  return std::nullopt;
}

Fault ConvertSignal(const v1::ChangeSignal& signal, const Sources& sources, Instant now,
                    RoutedEvent* event) {
  SignalChange change;
  std::string host;
  if (Fault fault = ConvertKey(signal.url(), signal.crawl_id(), &change.key, &host)) return fault;
  if (signal.source().empty()) return Invalid("source", "is empty");
  if (const Status name = ValidateSourceName(signal.source()); !name.ok()) {
    return Invalid("source", std::string(name.message()));
  }
  const std::optional<uint8_t> source = sources.Find(signal.source());
  if (!source) {
    return MakeFault(v1::ERROR_CODE_UNKNOWN_SOURCE, "source",
                     fmt::format("{} is not registered", signal.source()));
  }
  change.source = *source;
  if (signal.has_change_time()) {
    Instant time;
    if (Fault fault = ConvertPast("change_time", signal.change_time(), now, &time)) return fault;
    change.changed = time;
  }
  const Status id = ValidateText("signal_id", signal.signal_id(), limits::kMaxSignalIdBytes);
  if (!id.ok()) return FaultOf(id);
  if (!signal.signal_id().empty()) {
    // Within source and page: their names are part of what is hashed.
    const std::string scope =
        fmt::format("{} {} {}", signal.source(), change.key.crawl_id, change.key.url);
    change.signal_id_hash = std::max<uint64_t>(1, HashOfTexts(scope, signal.signal_id()));
  }
  event->slot = SlotOfHost(host);
  event->event = std::move(change);
  return std::nullopt;
}

Fault ConvertReturn(uint64_t lease_id, RoutedEvent* event) {
  if (lease_id == 0) return Invalid("lease_ids", "a lease id is never 0");
  event->slot = SlotOfLease(LeaseId(lease_id));
  event->event = ReturnLease{LeaseId(lease_id)};
  return std::nullopt;
}

StatusOr<std::string> ConvertHost(std::string_view text) {
  if (text.empty()) return InvalidArgument("host: is empty");
  const bool url = text.find("://") != std::string_view::npos;
  const StatusOr<CanonicalUrl> canonical =
      Canonicalise(url ? std::string(text) : fmt::format("http://{}/", text));
  if (!canonical.ok()) {
    const std::string_view message(canonical.status().message().data(),
                                   canonical.status().message().size());
    return InvalidArgument("host: {}", SplitField(message).second);
  }
  return canonical->host;
}

Fault ConvertPoliteness(const v1::SetHostPolitenessRequest& request, Instant now, SetHost* event) {
  StatusOr<std::string> host = ConvertHost(request.host());
  if (!host.ok()) return FaultOf(host.status());
  event->host = *std::move(host);
  if (request.reset()) {
    event->min_delay.emplace();
    event->max_in_flight.emplace();
    event->min_page_interval.emplace();
    event->blocked_until = Instant();
  }
  if (Fault fault = ConvertInterval("min_delay", request.has_min_delay(), request.min_delay(),
                                    &event->min_delay)) {
    return fault;
  }
  if (request.has_max_in_flight()) event->max_in_flight.emplace(request.max_in_flight());
  if (Fault fault = ConvertInterval("min_page_interval", request.has_min_page_interval(),
                                    request.min_page_interval(), &event->min_page_interval)) {
    return fault;
  }
  if (request.has_blocked_until()) {
    const StatusOr<Instant> until = FromProto(request.blocked_until());
    if (!until.ok()) return Invalid("blocked_until", std::string(until.status().message()));
    if (*until > now + kMaxBlock) {
      return Invalid("blocked_until",
                     fmt::format("is more than {} days ahead", limits::kMaxBlockSeconds / 86400));
    }
    event->blocked_until = *until <= now ? Instant() : *until;
  }
  return std::nullopt;
}

Fault ConvertDefaults(const v1::SetPolitenessDefaultsRequest& request,
                      std::function<void(Settings*)>* change) {
  std::optional<Duration> delay;
  std::optional<Duration> interval;
  if (Fault fault =
          ConvertInterval("min_delay", request.has_min_delay(), request.min_delay(), &delay)) {
    return fault;
  }
  if (Fault fault = ConvertInterval("min_page_interval", request.has_min_page_interval(),
                                    request.min_page_interval(), &interval)) {
    return fault;
  }
  std::optional<uint32_t> limit;
  if (request.has_max_in_flight()) limit = request.max_in_flight();
  *change = [reset = request.reset(), delay, limit, interval](Settings* settings) {
    const auto put = [reset](const auto& value, auto* setting) {
      if (reset || value) *setting = value;
    };
    put(delay, &settings->min_delay);
    put(limit, &settings->max_in_flight);
    put(interval, &settings->min_page_interval);
  };
  return std::nullopt;
}

StatusOr<Duration> ConvertLease(bool has, const google::protobuf::Duration& lease, Duration unset,
                                Duration max) {
  if (!has) return unset;
  const StatusOr<Duration> duration = FromProto(lease);
  if (!duration.ok()) {
    return InvalidArgument("lease_duration: {}", std::string(duration.status().message()));
  }
  if (*duration < Duration::Seconds(1) || *duration > max) {
    return InvalidArgument("lease_duration: {} s is not 1 to {} s", duration->seconds(),
                           max.seconds());
  }
  return *duration;
}

void SetPolls(const PollOrigin& origin, std::vector<RoutedEvent>* signals) {
  constexpr uint64_t kMost = UINT32_MAX;
  // Unrelated single pings are what ConvertSignal makes of them.
  if (origin.size && *origin.size < 2) return;
  // Pages of one host share a slot but not the other way round, so the URL tells the host.
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
