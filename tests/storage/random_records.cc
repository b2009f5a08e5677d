#include "tests/storage/random_records.h"

#include <cmath>

#include "core/base/id_limits.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "storage/internal/keys.h"

namespace freshet {

std::string RandomRecords::Bytes(size_t size) {
  std::string bytes(size, '\0');
  for (char& c : bytes) c = static_cast<char>(Below(256));
  return bytes;
}

std::string RandomRecords::Text(size_t max) {
  if (Chance(40)) return {};
  std::string text(Chance(5) ? max : Below(30), 'x');
  for (char& c : text) c = static_cast<char>('!' + Below(94));
  return text;
}

Instant RandomRecords::Time() {
  if (Chance(10)) return {};
  if (Chance(3)) return Instant::Infinite();
  return Instant::FromMicros(static_cast<int64_t>(Below(uint64_t{1} << 51)));
}

double RandomRecords::Rate() {
  if (Chance(10)) return 0;
  return std::ldexp(static_cast<double>(Below(uint64_t{1} << 53)),
                    -53 - static_cast<int>(Below(40)));
}

SignalCounts RandomRecords::Signals() {
  SignalCounts signals;
  const uint64_t n = Chance(50) ? 0 : Below(12);
  for (uint64_t i = 0; i < n; ++i) {
    signals.Add(SourceClass(static_cast<uint8_t>(Below(kSourceClasses))));
  }
  return signals;
}

PageSpec RandomRecords::Spec() {
  PageSpec spec;
  spec.importance = Chance(5) ? limits::kMaxImportance : Rate() * 100;
  if (Chance(20)) spec.min_interval = Duration::Seconds(static_cast<int64_t>(Below(1 << 20)));
  if (Chance(5)) spec.max_interval = Duration::Seconds(limits::kMaxIntervalSeconds);
  if (Chance(20)) spec.not_before = Time();
  if (Chance(20)) spec.known_change_rate = freshet::Rate::PerSecond(Rate());
  spec.complete_signals = Chance(10);
  return spec;
}

PageState RandomRecords::State() {
  PageState state;
  state.first_seen = Time();
  state.last_crawl = Time();
  state.staleness = Chance(10) ? kNeverCrawledStaleness : Rate();
  state.carried_at = Time();
  state.rates.change_rate = Rate();
  state.rates.unsignalled_rate = Rate();
  state.rates.signal_rate = Rate();
  state.rates.signal_weight = Chance(5) ? HUGE_VAL : Rate();
  state.rates.staleness_rate = Rate();
  state.rates.age_bin = static_cast<uint8_t>(Below(256));
  state.rates.site = static_cast<uint16_t>(Below(1 << 16));
  state.last_event = Time();
  state.signals = Signals();
  state.exposure = Rate() * 1e6;
  state.evidence = static_cast<float>(Rate());
  state.evidence_exposure = static_cast<float>(Rate() * 1e6);
  for (BurstSignal& signal : state.bursts) {
    signal.burst = static_cast<uint32_t>(Below(1000));
    signal.shift = static_cast<float>(signal.burst % 2 == 0 ? Rate() : -Rate());
    signal.source_class = SourceClass(static_cast<uint8_t>(signal.burst % kSourceClasses));
  }
  state.newest_claim = Time();
  state.retry_at = Time();
  state.recheck = Chance(10);
  state.errors = static_cast<uint8_t>(Below(256));
  state.gone = Chance(10);
  state.unanswered = static_cast<uint8_t>(Chance(90) ? 0 : Below(256));
  state.returned = static_cast<uint8_t>(Chance(90) ? 0 : Below(256));
  state.times_gone = static_cast<uint8_t>(Chance(90) ? 0 : Below(256));
  return state;
}

PageDetail RandomRecords::Detail() {
  PageDetail detail;
  detail.etag = Text(limits::kMaxValidatorBytes);
  detail.last_modified = Text(limits::kMaxValidatorBytes);
  detail.digest = Text(limits::kMaxValidatorBytes);
  detail.crawls = static_cast<uint32_t>(Below(Chance(50) ? 10 : uint64_t{1} << 32));
  detail.changes = static_cast<uint32_t>(Below(uint64_t{detail.crawls} + 1));
  detail.last_outcome = static_cast<CrawlOutcome>(1 + Below(6));
  detail.last_http_status = static_cast<uint16_t>(Below(1 << 16));
  detail.last_lease = LeaseId(Chance(20) ? 0 : random_.Next());
  detail.last_result = Time();
  if (Chance(10)) detail.moved_to = Text(limits::kMaxUrlBytes);
  if (Chance(20)) detail.denials = static_cast<uint8_t>(Below(256));
  // A separate generator makes these draws, so that the other draws of existing scripts stay the
  // same.
  Random memory(static_cast<uint64_t>(detail.last_result.micros()) ^ detail.last_lease.value());
  const bool signalled = memory.Uniform() < 0.3;
  const uint64_t ids = signalled ? memory.Next() % (limits::kMaxRememberedSignalIds + 1) : 0;
  for (uint64_t i = 0; i < ids; ++i) {
    detail.signal_ids.push_back(
        {.source = static_cast<uint8_t>(memory.Next() % limits::kMaxSources),
         .hash = static_cast<uint32_t>(memory.Next())});
  }
  for (uint8_t source = 0; signalled && source < limits::kMaxSources; ++source) {
    if (memory.Uniform() > 0.1) continue;
    detail.claims.push_back(
        {.source = source,
         .newest = Instant::FromMicros(static_cast<int64_t>(memory.Next() >> (1 + source)))});
  }
  const uint64_t n = Chance(20) ? limits::kMaxObservations : Below(4);
  for (uint64_t i = 0; i < n; ++i) {
    CrawlObservation& observation = detail.statistics.recent.emplace_back();
    observation.fetched = Time();
    observation.elapsed = Duration::Micros(static_cast<int64_t>(Below(uint64_t{1} << 50)));
    if (i > 0 && Chance(70) && !observation.fetched.infinite()) {
      observation.elapsed = observation.fetched - detail.statistics.recent[i - 1].fetched;
    }
    observation.signals = Signals();
    observation.exposure = static_cast<float>(Rate());
    observation.changed = Chance(50);
    if (Chance(50) || observation.elapsed < Duration()) continue;
    // Sets an exposure that an estimator could have stored.
    if (Chance(50)) observation.exposure = static_cast<float>(observation.elapsed.seconds());
    PageStatistics before = detail.statistics;
    before.recent.pop_back();
    if (i > 0 && observation.fetched <= before.recent.back().fetched) before.recent.clear();
    observation = Coarse(observation, before);
  }
  detail.statistics.old_changes = static_cast<float>(Rate());
  detail.statistics.old_exposure = static_cast<float>(Rate());
  return detail;
}

PageRecord RandomRecords::Page(const std::string& host, uint64_t index, uint64_t serial) {
  PageRecord page;
  page.key.crawl_id = "DEFAULT";
  page.key.url = fmt::format("https://{}/page/{}", host, index);
  page.host = host;
  page.number = MakePageNumber(SlotOfHost(host), serial);
  page.spec = Spec();
  page.state = State();
  page.detail = Detail();
  return page;
}

HostRecord RandomRecords::Host(const std::string& host) {
  HostRecord record{.host = host};
  if (Chance(50)) record.min_delay = Duration::Micros(static_cast<int64_t>(Below(1 << 30)));
  if (Chance(50)) record.max_in_flight = Chance(20) ? UINT32_MAX : static_cast<uint32_t>(Below(9));
  if (Chance(50)) record.min_page_interval = Duration::Micros(static_cast<int64_t>(Below(1 << 30)));
  if (Chance(50)) record.throttles = static_cast<uint8_t>(Below(256));
  record.last_throttled = Time();
  record.blocked_until = Time();
  record.last_assignment = Time();
  record.deleting = Chance(10);
  if (Chance(50)) {
    record.max_crawls = CrawlCap();
    if (Chance(80))
      *record.max_crawls = {1 + static_cast<uint32_t>(Below(1000)),
                            Duration::Micros(static_cast<int64_t>(1 + Below(1 << 30)))};
  }
  if (Chance(50)) {
    record.hours =
        DayHours{static_cast<uint16_t>(Below(720)), static_cast<uint16_t>(720 + Below(721)),
                 static_cast<int16_t>(static_cast<int>(Below(1681)) - 840)};
  }
  if (Chance(50)) record.crawl_delay = Duration::Micros(static_cast<int64_t>(Below(1 << 30)));
  if (Chance(50)) {
    for (uint16_t& piece : record.address.pieces) piece = static_cast<uint16_t>(Below(65536));
  }
  Instant last;
  for (uint64_t left = Chance(50) ? Below(kMostCounts + 1) : 0; left > 0; --left) {
    last = last + Duration::Micros(static_cast<int64_t>(Below(uint64_t{1} << 40)));
    record.recent_crawls.push_back({last, 1 + static_cast<uint32_t>(Below(UINT32_MAX))});
  }
  return record;
}

LeaseRecord RandomRecords::Lease(PageNumber page, uint64_t sequence) {
  LeaseRecord lease;
  lease.id = LeaseId(uint64_t{1} << 44 | sequence << 12 | SlotOf(page).value());
  lease.page = page;
  lease.over = Chance(20);
  lease.reported = lease.over && Chance(50);
  if (lease.over) return lease;
  lease.worker = Text(limits::kMaxWorkerNameBytes);
  if (Chance(50)) lease.client = Text(limits::kMaxWorkerNameBytes);
  lease.assigned = Instant::FromMicros(static_cast<int64_t>(Below(uint64_t{1} << 51)));
  lease.deadline =
      lease.assigned + Duration::Micros(static_cast<int64_t>(Below(uint64_t{1} << 40)));
  const uint64_t n = Chance(50) ? 0 : Below(limits::kMaxSignalsDuringLease + 1);
  for (uint64_t i = 0; i < n; ++i) {
    lease.signals.push_back({Time(), SourceClass(static_cast<uint8_t>(Below(kSourceClasses)))});
  }
  return lease;
}

Settings RandomRecords::RandomSettings() {
  Settings settings;
  if (Chance(50)) settings.crawl_rate = freshet::Rate::PerSecond(Rate() * 100);
  if (Chance(50)) settings.policy = "greedy_ncis";
  settings.paused = Chance(50);
  if (Chance(50)) settings.min_delay = Duration::Micros(static_cast<int64_t>(Below(1 << 30)));
  if (Chance(50)) settings.max_in_flight = static_cast<uint32_t>(Below(9));
  if (Chance(50)) settings.min_page_interval = Duration::Seconds(static_cast<int64_t>(Below(99)));
  if (settings.paused) settings.pause_reason = Text(limits::kMaxPauseReasonBytes);
  return settings;
}

CrawlRecord RandomRecords::Crawl(const std::string& crawl_id) {
  CrawlRecord crawl{.crawl_id = crawl_id};
  if (Chance(50)) crawl.share = (1 + static_cast<double>(Below(100))) / 100;
  if (Chance(50)) crawl.max_rate = freshet::Rate::PerSecond(1 + static_cast<double>(Below(100)));
  if (Chance(50)) crawl.max_pages = Below(limits::kMaxPageIds + 1);
  if (Chance(50)) crawl.min_delay = Duration::Micros(static_cast<int64_t>(Below(1 << 30)));
  if (Chance(50)) crawl.max_in_flight = static_cast<uint32_t>(Below(9));
  if (Chance(50)) crawl.min_page_interval = Duration::Seconds(static_cast<int64_t>(Below(99)));
  crawl.deleting = Chance(10);
  if (Chance(30)) crawl.frontier_mode = static_cast<FrontierMode>(Below(3));
  return crawl;
}

EpochRecord RandomRecords::Epoch(uint16_t shard) {
  return {.shard = shard,
          .number = random_.Next(),
          .finished = Time(),
          .site_model = Bytes(Below(300))};
}

}  // namespace freshet
