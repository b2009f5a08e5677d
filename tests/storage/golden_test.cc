// Tests the bytes of every record version as it was first released, and a whole database of every
// format. A change that breaks one of these breaks the stores of users. Instead, add a new version
// and a migration, and new golden files next to the old ones.
//
// FRESHET_WRITE_GOLDEN=1 writes missing files of tests/golden; it never overwrites.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include "core/base/fingerprint.h"
#include "core/base/url.h"
#include "gtest/gtest.h"
#include "storage/internal/keys.h"
#include "storage/internal/lease_rows.h"
#include "storage/internal/records.h"
#include "storage/store.h"
#include "tests/storage/store_model.h"
#include "tests/support/temp_dir.h"

namespace freshet::storage {
namespace {

namespace fs = std::filesystem;

const fs::path kGolden = fs::path(FRESHET_SOURCE_DIR) / "tests" / "golden";
constexpr char kHost[] = "example.org";
constexpr char kPageUrl[] = "https://example.org/a?b=c";
constexpr int64_t kNow = 1'700'000'000'123'456;

bool Writing() { return std::getenv("FRESHET_WRITE_GOLDEN") != nullptr; }

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

Instant At(int64_t seconds) { return Instant::FromMicros(kNow + seconds * 1'000'000); }

PageRecord GoldenPage() {
  PageRecord page;
  page.key = {.crawl_id = "DEFAULT", .url = kPageUrl};
  page.host = kHost;
  page.number = MakePageNumber(SlotOfHost(kHost), 0x010203);
  page.spec = {.importance = 2.5,
               .min_interval = Duration::Hours(1),
               .max_interval = Duration::Days(30),
               .not_before = At(-5),
               .known_change_rate = Rate::PerSecond(0.001),
               .complete_signals = true};
  page.state.first_seen = At(-1000);
  page.state.last_crawl = At(-100);
  page.state.staleness = 0.75;
  page.state.carried_at = At(-10);
  page.state.rates = {.change_rate = 1e-5,
                      .unsignalled_rate = 2e-6,
                      .signal_rate = 3e-5,
                      .signal_weight = std::numeric_limits<double>::infinity(),
                      .staleness_rate = 4e-6,
                      .age_bin = 3,
                      .site = 513};
  page.state.last_event = At(-50);
  page.state.signals.Add(SourceClass(5));
  page.state.signals.Add(SourceClass(5));
  page.state.signals.Add(SourceClass(127));
  page.state.exposure = 1234.5;
  page.state.evidence = 0.5F;
  page.state.evidence_exposure = 99.25F;
  page.state.newest_claim = At(-60);
  page.state.retry_at = At(3600);
  page.state.recheck = true;
  page.state.errors = 2;
  page.state.gone = true;
  page.detail = {.etag = "\"v1\"",
                 .last_modified = "Tue, 14 Nov 2023 22:13:20 GMT",
                 .digest = "sha256:00ff",
                 .crawls = 300,
                 .changes = 17,
                 .last_outcome = CrawlOutcome::kMoved,
                 .last_http_status = 301,
                 .statistics = {},
                 .last_lease = LeaseId(0x123456789ABCDEF0),
                 .last_result = At(-90)};
  CrawlObservation first{.fetched = At(-200), .elapsed = Duration::Seconds(7), .signals = {}};
  first.exposure = 1.5F;
  CrawlObservation second{.fetched = At(-100), .elapsed = Duration::Seconds(100), .signals = {}};
  second.signals.Add(SourceClass(9));
  second.changed = true;
  page.detail.statistics.recent = {first, second};
  page.detail.statistics.old_changes = 3.5F;
  page.detail.statistics.old_exposure = 1e6F;
  return page;
}

// Returns a page that has all fields that GoldenPage() lacks.
PageRecord GoldenMovedPage() {
  PageRecord page = GoldenPage();
  page.state.unanswered = 3;
  page.state.returned = 255;
  page.state.times_gone = 7;
  page.state.bursts = {
      BurstSignal{.burst = 0x01020304, .shift = -1.25F, .source_class = SourceClass(5)},
      BurstSignal{.burst = 7, .shift = 0.5F, .source_class = SourceClass(127)}};
  page.detail.moved_to = "https://example.org/new";
  return page;
}

// Returns a page as it is when it is added: every field that has a default has this value.
PageRecord GoldenNewPage() {
  PageRecord page;
  page.key = GoldenPage().key;
  page.host = kHost;
  page.number = GoldenPage().number;
  page.state.first_seen = page.state.carried_at = page.state.last_event = At(-1000);
  return page;
}

HostRecord GoldenHost() {
  return {.host = kHost,
          .min_delay = Duration::Millis(1500),
          .max_in_flight = 0,
          .blocked_until = At(60),
          .last_assignment = At(-1)};
}

LeaseRecord GoldenLease() {
  LeaseRecord lease;
  lease.id = LeaseId(uint64_t{3} << 44 | uint64_t{8} << 12 | SlotOfHost(kHost).value());
  lease.page = GoldenPage().number;
  lease.worker = "worker-1";
  lease.assigned = At(0);
  lease.deadline = At(600);
  lease.signals = {{At(1), SourceClass(4)}, {At(2), SourceClass(8)}};
  return lease;
}

// Returns one entry of each kind, and one that is similar to the first.
std::vector<LeaseEntry> GoldenLeases() {
  LeaseRecord next = GoldenLease();
  next.id = LeaseId(next.id.value() + (uint64_t{1} << 12));
  next.signals.clear();
  LeaseRecord over{.id = next.id, .page = next.page, .over = true};
  LeaseRecord reported = over;
  reported.reported = true;
  return {{.record = GoldenLease()},
          {.record = next},
          {.record = over},
          {.record = reported},
          {.record = {.id = next.id}, .kind = LeaseEntry::Kind::kDropped},
          {.record = {.page = next.page, .assigned = At(7)}, .kind = LeaseEntry::Kind::kAssigned}};
}

// Returns two leases of identities, and one of an unknown client.
std::vector<LeaseEntry> GoldenHeldLeases() {
  LeaseRecord held = GoldenLease();
  held.client = "identity news";
  LeaseRecord next = held;
  next.id = LeaseId(next.id.value() + (uint64_t{1} << 12));
  LeaseRecord unknown = GoldenLease();
  unknown.id = LeaseId(next.id.value() + (uint64_t{1} << 12));
  return {{.record = held}, {.record = next}, {.record = unknown}};
}

// Returns a lease of a removed page, and a lease of an existing one.
std::vector<LeaseEntry> GoldenOrphanLeases() {
  LeaseRecord orphan = GoldenLease();
  orphan.client = "identity news";
  orphan.host = kHost;
  LeaseRecord next = orphan;
  next.id = LeaseId(next.id.value() + (uint64_t{1} << 12));
  next.host.clear();
  return {{.record = orphan}, {.record = next}};
}

HostRecord GoldenThrottledHost() {
  HostRecord host = GoldenHost();
  host.min_page_interval = Duration::Seconds(90);
  host.throttles = 5;
  host.last_throttled = At(-2);
  return host;
}

// Returns a host with all fields that were added later.
HostRecord GoldenCappedHost() {
  HostRecord host = GoldenHost();
  host.max_crawls = CrawlCap{.count = 1000, .per = Duration::Days(1)};
  host.hours = DayHours{.from = 22 * 60, .until = 6 * 60, .offset = -210};
  host.crawl_delay = Duration::Seconds(10);
  host.address.pieces = {0x2001, 0xDB8, 0, 0, 0, 0, 0, 1};
  host.recent_crawls = {{At(-300), 7}, {At(-2), 1}};
  return host;
}

Settings GoldenPoliteness() {
  Settings settings;
  settings.min_delay = Duration::Millis(2500);
  settings.max_in_flight = 0;
  settings.min_page_interval = Duration::Seconds(30);
  return settings;
}

Settings GoldenSettings() {
  return {.crawl_rate = Rate::PerSecond(12.5), .policy = "greedy_ncis", .paused = true};
}

Settings GoldenPause() { return {.paused = true, .pause_reason = "moving the store"}; }

CrawlRecord GoldenCrawl() {
  return {.crawl_id = "shop",
          .share = 0.25,
          .max_rate = Rate::PerSecond(12.5),
          .max_pages = 0,
          .min_delay = Duration::Millis(2500),
          .max_in_flight = 0,
          .min_page_interval = Duration::Seconds(30)};
}

FingerprintSecret GoldenSecret() {
  FingerprintSecret secret;
  for (size_t i = 0; i < secret.size(); ++i) secret[i] = static_cast<uint8_t>(0xF0 + i);
  return secret;
}

EpochRecord GoldenEpoch() {
  return {.shard = 2, .number = 41, .finished = At(-7), .site_model = std::string("a\0b", 3)};
}

// A row, and a check that its value decodes to the encoded record.
struct Row {
  std::string name;
  std::string key;
  std::string value;
  std::function<bool(std::string_view key, std::string_view value)> decodes;
};

std::vector<Row> PageRows() {
  std::vector<Row> rows;
  const auto add = [&](const char* name, const PageRecord& page) {
    const std::string key = PageKeyOf(page.number);
    std::string value;
    EncodePage(key, 77, page, &value);
    rows.push_back({name, key, value, [page](auto k, auto bytes) {
                      PageRecord decoded;
                      PageHead head;
                      return DecodePage(k, bytes, &decoded).ok() && decoded == page &&
                             DecodePageHead(k, bytes, &head).ok() && head.host_serial == 77;
                    }});
  };
  add("page.v1", GoldenPage());
  add("page_moved.v1", GoldenMovedPage());
  add("page_new.v1", GoldenNewPage());
  PageRecord denied = GoldenNewPage();
  denied.detail.last_outcome = CrawlOutcome::kRobotsDenied;
  denied.detail.denials = 3;
  add("page_denied.v1", denied);
  PageRecord signalled = GoldenPage();
  signalled.detail.signal_ids = {{.source = 2, .hash = 0x01020304}, {.source = 31, .hash = 5}};
  signalled.detail.claims = {
      {.source = 2, .newest = signalled.state.newest_claim},
      {.source = 31, .newest = signalled.state.newest_claim - Duration::Seconds(90)}};
  add("page_signalled.v1", signalled);
  return rows;
}

void AddSettings(std::vector<Row>* rows) {
  const std::string key = MetaKeyOf(MetaKey::kSettings);
  const auto add = [&](const char* name, const Settings& settings) {
    std::string value;
    EncodeSettings(key, settings, &value);
    rows->push_back({name, key, value, [settings](auto k, auto bytes) {
                       Settings decoded;
                       return DecodeSettings(k, bytes, &decoded).ok() && decoded == settings;
                     }});
  };
  add("settings.v1", GoldenSettings());
  add("settings_politeness.v1", GoldenPoliteness());
  add("settings_pause.v1", GoldenPause());
}

void AddCrawls(std::vector<Row>* rows) {
  const auto add = [&](const char* name, const CrawlRecord& crawl) {
    const std::string key = CrawlKeyOf(crawl.crawl_id);
    std::string value;
    EncodeCrawl(key, crawl, &value);
    rows->push_back({name, key, value, [crawl](auto k, auto bytes) {
                       CrawlRecord decoded;
                       return DecodeCrawl(k, bytes, &decoded).ok() && decoded == crawl;
                     }});
  };
  add("crawl.v1", GoldenCrawl());
  add("crawl_deleting.v1", {.crawl_id = "DEFAULT", .deleting = true});
  add("crawl_frontier_mode.v1", {.crawl_id = "news", .frontier_mode = FrontierMode::kScheduled});
}

void AddLeases(std::vector<Row>* rows) {
  const std::string key = LeaseKeyOf(5, 77);
  std::string value;
  EncodeLeases(key, GoldenLeases(), &value);
  rows->push_back({"leases.v1", key, value, [](auto k, auto bytes) {
                     std::vector<LeaseEntry> leases;
                     return DecodeLeases(k, bytes, &leases).ok() && leases == GoldenLeases();
                   }});
  EncodeLeases(key, GoldenHeldLeases(), &value);
  rows->push_back({"leases_held.v2", key, value, [](auto k, auto bytes) {
                     std::vector<LeaseEntry> leases;
                     return DecodeLeases(k, bytes, &leases).ok() && leases == GoldenHeldLeases();
                   }});
  EncodeLeases(key, GoldenOrphanLeases(), &value);
  rows->push_back({"leases_orphan.v3", key, value, [](auto k, auto bytes) {
                     std::vector<LeaseEntry> leases;
                     return DecodeLeases(k, bytes, &leases).ok() && leases == GoldenOrphanLeases();
                   }});
}

void AddEpochs(std::vector<Row>* rows) {
  std::string key = MetaKeyOf(MetaKey::kEpoch, 2);
  std::string value;
  EncodeEpoch(key, GoldenEpoch(), &value);
  rows->push_back({"epoch.v1", key, value, [](auto k, auto bytes) {
                     EpochRecord epoch;
                     return DecodeEpoch(k, bytes, &epoch).ok() && epoch == GoldenEpoch();
                   }});
  EncodeEpoch(key, GoldenEpoch(), &value, 300);
  rows->push_back({"epoch_in_parts.v1", key, value, [](auto k, auto bytes) {
                     EpochRecord epoch;
                     uint16_t parts = 0;
                     return DecodeEpoch(k, bytes, &epoch, &parts).ok() && epoch == GoldenEpoch() &&
                            parts == 300;
                   }});
  key = EpochPartKeyOf(2, 258);
  EncodeEpochPart(key, 41, std::string("c\0d", 3), &value);
  rows->push_back({"epoch_part.v1", key, value, [](auto k, auto bytes) {
                     EpochPart part;
                     return DecodeEpochPart(k, bytes, &part).ok() && part.number == 41 &&
                            part.text == std::string("c\0d", 3);
                   }});
}

std::vector<Row> AllRows() {
  std::vector<Row> rows = PageRows();
  std::string value;
  std::string key = HostKeyOf(SlotOfHost(kHost), kHost);
  EncodeHost(key, 77, GoldenHost(), &value);
  rows.push_back({"host.v1", key, value, [](auto k, auto bytes) {
                    HostRow row;
                    return DecodeHost(k, bytes, &row).ok() && row.serial == 77 &&
                           row.record == GoldenHost();
                  }});
  EncodeHost(key, 77, GoldenThrottledHost(), &value);
  rows.push_back({"host_throttled.v1", key, value, [](auto k, auto bytes) {
                    HostRow row;
                    return DecodeHost(k, bytes, &row).ok() && row.record == GoldenThrottledHost();
                  }});
  EncodeHost(key, 77, GoldenCappedHost(), &value);
  rows.push_back({"host_capped.v1", key, value, [](auto k, auto bytes) {
                    HostRow row;
                    return DecodeHost(k, bytes, &row).ok() && row.record == GoldenCappedHost();
                  }});
  HostRecord deleting = GoldenHost();
  deleting.deleting = true;
  EncodeHost(key, 77, deleting, &value);
  rows.push_back({"host_deleting.v1", key, value, [deleting](auto k, auto bytes) {
                    HostRow row;
                    return DecodeHost(k, bytes, &row).ok() && row.record == deleting;
                  }});
  AddLeases(&rows);
  key = SourceKeyOf(3);
  EncodeSource(key, {.name = "sitemap", .index = 3}, &value);
  rows.push_back({"source.v1", key, value, [](auto k, auto bytes) {
                    SourceRecord source;
                    return DecodeSource(k, bytes, &source).ok() && source.name == "sitemap" &&
                           source.index == 3;
                  }});
  const SourceRecord retired = {.name = "feed", .index = 3, .retired = true};
  EncodeSource(key, retired, &value);
  rows.push_back({"source_retired.v1", key, value, [retired](auto k, auto bytes) {
                    SourceRecord source;
                    return DecodeSource(k, bytes, &source).ok() && source == retired;
                  }});
  AddSettings(&rows);
  AddCrawls(&rows);
  AddEpochs(&rows);
  key = MetaKeyOf(MetaKey::kSecret);
  EncodeSecret(key, GoldenSecret(), &value);
  rows.push_back({"secret.v1", key, value, [](auto k, auto bytes) {
                    FingerprintSecret secret;
                    return DecodeSecret(k, bytes, &secret).ok() && secret == GoldenSecret();
                  }});
  key = MetaKeyOf(MetaKey::kFormat);
  EncodeNumber(key, 1, &value);
  rows.push_back({"number.v1", key, value, [](auto k, auto bytes) {
                    uint64_t number = 0;
                    return DecodeNumber(k, bytes, &number).ok() && number == 1;
                  }});
  return rows;
}

std::string FromHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

TEST(Golden, RecordsAreEncodedAndDecodedAsReleased) {
  const fs::path path = kGolden / "records.txt";
  std::map<std::string, std::pair<std::string, std::string>> golden;
  std::ifstream in(path);
  for (std::string name, key, value; in >> name >> key >> value;) golden[name] = {key, value};
  if (Writing()) {
    std::ofstream out(path, std::ios::app);
    for (const Row& row : AllRows()) {
      if (golden.contains(row.name)) continue;
      golden[row.name] = {Hex(row.key), Hex(row.value)};
      out << row.name << " " << Hex(row.key) << " " << Hex(row.value) << "\n";
    }
  }
  ASSERT_EQ(golden.size(), AllRows().size());
  for (const Row& row : AllRows()) {
    SCOPED_TRACE(row.name);
    ASSERT_TRUE(golden.contains(row.name));
    const auto& [key, value] = golden.at(row.name);
    EXPECT_EQ(Hex(row.key), key);
    // The server no longer writes this version, so there is nothing to compare.
    if (!row.value.empty()) {
      EXPECT_EQ(Hex(row.value), value);
    }
    EXPECT_TRUE(row.decodes(FromHex(key), FromHex(value)));
  }
}

// Fills a golden database, which has an open lease when it is closed.
void FillGoldenDatabase(Store& store) {
  const PageRecord page = GoldenPage();
  Changes changes;
  changes.pages.push_back({.record = &page, .created = true});
  changes.hosts.push_back(GoldenHost());
  changes.leases.push_back(GoldenLease());
  changes.sources.push_back({.name = "sitemap", .index = 3});
  changes.settings = GoldenSettings();
  changes.epoch = GoldenEpoch();
  ASSERT_TRUE(store.Commit(changes).ok());
  ASSERT_TRUE(store.Close().ok());
}

fs::path DatabaseOf(uint32_t format) { return kGolden / fmt::format("format-{}", format); }

// A database written by the release that had this format; opening it migrates it.
class GoldenDatabase : public testing::TestWithParam<uint32_t> {};

TEST_P(GoldenDatabase, AReleasedFormatOpensWithAllItsContents) {
  StoreOptions options;
  options.reserve_bytes = 0;
  options.fingerprint_secret = GoldenSecret();
  const fs::path released = DatabaseOf(GetParam());
  if (Writing() && !fs::exists(released) && GetParam() == kFormatVersion) {
    auto store = Store::Open(released, options);
    ASSERT_TRUE(store.ok()) << store.status();
    FillGoldenDatabase(**store);
  }
  ASSERT_TRUE(fs::exists(released / "CURRENT"));
  TempDir dir;
  const std::string copy = dir / "db";
  fs::copy(released, copy);
  // The stored secret takes precedence over the options.
  options.fingerprint_secret = FingerprintSecret{};
  const auto store = Store::Open(copy, options);
  ASSERT_TRUE(store.ok()) << store.status();
  EXPECT_EQ((*store)->generation(), 2U);
  const PageKey key = GoldenPage().key;
  EXPECT_EQ((*store)->fingerprinter().Of(key.crawl_id, key.url),
            Fingerprinter(GoldenSecret()).Of(key.crawl_id, key.url));
  const auto contents = ReadContents(**store);
  ASSERT_TRUE(contents.ok()) << contents.status();
  StoreContents expected;
  expected.pages[GoldenPage().number] = GoldenPage();
  expected.hosts[kHost] = GoldenHost();
  expected.leases[GoldenLease().id] = GoldenLease();
  expected.sources[3] = {.name = "sitemap", .index = 3};
  expected.settings = GoldenSettings();
  expected.epochs[2] = GoldenEpoch();
  EXPECT_EQ(contents->DifferenceFrom(expected), "");
  const auto report = (*store)->Verify();
  EXPECT_TRUE(report.ok() && report->ok());
}

INSTANTIATE_TEST_SUITE_P(Formats, GoldenDatabase, testing::Values(3U, 4U, kFormatVersion));

}  // namespace
}  // namespace freshet::storage
