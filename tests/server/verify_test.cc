// Tests that every inconsistency that single rows of a store can have is found and reported.
#include "server/verify.h"

#include <filesystem>
#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/url.h"
#include "core/schedule/changes.h"
#include "core/schedule/crawl_policy.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/config.h"
#include "storage/internal/lease_rows.h"
#include "storage/repair.h"
#include "tests/storage/raw_database.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using storage::Family;
using storage::MetaKey;
using storage::RawDatabase;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uint64_t kGeneration = 1;
constexpr FingerprintSecret kSecret = {1, 2, 3};
const char* const kHost = "example.org";
const char* const kOtherHost = "example.net";

// Returns page `serial` of a host. Its URL ends with the serial.
PageRecord PageOf(const std::string& host, uint64_t serial) {
  PageRecord page;
  page.key = {.crawl_id = "DEFAULT", .url = "http://" + host + "/" + std::to_string(serial)};
  page.host = host;
  page.number = MakePageNumber(SlotOfHost(host), serial);
  page.state.first_seen = page.state.carried_at = Instant::FromUnixSeconds(1'600'000'000);
  page.state.rates.staleness_rate = 1e-6;
  return page;
}

LeaseRecord LeaseOf(const PageRecord& page, uint64_t sequence, uint64_t generation = kGeneration) {
  LeaseRecord lease;
  lease.id = LeaseId(generation << 44 | sequence << 12 | SlotOf(page.number).value());
  lease.page = page.number;
  lease.worker = "w";
  lease.assigned = Instant::FromUnixSeconds(1'700'000'000);
  lease.deadline = Instant::FromUnixSeconds(1'700'000'600);
  return lease;
}

const PageRecord& First() {
  static const PageRecord kPage = PageOf(kHost, 1);
  return kPage;
}
const PageRecord& Second() {
  static const PageRecord kPage = PageOf(kHost, 2);
  return kPage;
}

std::string KeyOf(const PageRecord& page) { return storage::PageKeyOf(page.number); }
// Returns the key of row `sequence` in the lease log that Fill() writes.
std::string LeaseKey(uint64_t sequence) { return storage::LeaseKeyOf(0, sequence); }

// --- Rows that are well formed by themselves

// Puts `content` under the key of `page`.
void PutPage(RawDatabase& raw, const PageRecord& page, uint32_t host_serial,
             const PageRecord& content) {
  std::string value;
  storage::EncodePage(KeyOf(page), host_serial, content, &value);
  raw.Put(Family::kPages, KeyOf(page), value);
}
void PutHost(RawDatabase& raw, const std::string& host, uint32_t serial, Slot slot) {
  std::string value;
  const std::string key = storage::HostKeyOf(slot, host);
  storage::EncodeHost(key, serial, HostRecord{.host = host}, &value);
  raw.Put(Family::kHosts, key, value);
}
void PutLease(RawDatabase& raw, const LeaseRecord& lease) {
  std::string value;
  storage::EncodeLeases(LeaseKey(9), std::vector<storage::LeaseEntry>{{.record = lease}}, &value);
  raw.Put(Family::kLeases, LeaseKey(9), value);
}
void PutSource(RawDatabase& raw, const std::string& name, uint8_t index) {
  std::string value;
  const std::string key = storage::SourceKeyOf(index);
  storage::EncodeSource(key, {.name = name, .index = index}, &value);
  raw.Put(Family::kSources, key, value);
}
void PutEpoch(RawDatabase& raw, const EpochRecord& epoch) {
  std::string value;
  const std::string key = storage::MetaKeyOf(MetaKey::kEpoch, epoch.shard);
  storage::EncodeEpoch(key, epoch, &value);
  raw.Put(Family::kMeta, key, value);
}
// Flips one bit of a row's value.
void Flip(RawDatabase& raw, Family family, const std::string& key) {
  std::string value = raw.Get(family, key);
  value[value.size() / 2] = static_cast<char>(value[value.size() / 2] ^ 4);
  raw.Put(family, key, value);
}

StoreOptions Options() {
  StoreOptions options;
  options.reserve_bytes = 0;
  options.durability = Durability::kWal;
  options.fingerprint_secret = kSecret;
  return options;
}

struct Case {
  const char* name;
  std::function<void(RawDatabase&)> tamper;
  std::string named;  // text in one of the problems
};
std::ostream& operator<<(std::ostream& out, const Case& tampering) { return out << tampering.name; }

// A store with three pages on two hosts. One page is leased and signalled.
class Verify : public testing::TestWithParam<Case> {
 protected:
  Verify() {
    // The store is filled once and copied, because opening and closing a store takes most of the
    // time.
    static const TempDir kMade;
    static const bool kFilled = (Fill(kMade / "db"), true);
    EXPECT_TRUE(kFilled);
    std::filesystem::copy(kMade / "db", dir_ / "db", std::filesystem::copy_options::recursive);
  }
  static void Fill(const std::string& dir) {
    auto store = Store::Open(dir, Options());
    EXPECT_TRUE(store.ok()) << store.status();
    EXPECT_TRUE((*store)->SetShards(1).ok());
    PageRecord signalled = First();
    signalled.state.signals.Add(SourceClass(0, BurstClass::kFew));
    const std::vector<PageRecord> pages = {signalled, Second(), PageOf(kOtherHost, 1)};
    Changes changes;
    for (const PageRecord& page : pages)
      changes.pages.push_back({.record = &page, .created = true});
    changes.leases.push_back(LeaseOf(First(), 1));
    changes.sources.push_back({.name = "cdn", .index = 0});
    changes.settings = Settings{.policy = "greedy"};
    Status status = (*store)->Commit(changes);
    EXPECT_TRUE(status.ok()) << status;
    // A removed page leaves a mark behind.
    const PageRecord removed = PageOf(kHost, 3);
    Changes add;
    add.pages.push_back({.record = &removed, .created = true});
    Changes remove;
    remove.removed_pages.push_back(&removed);
    EXPECT_TRUE((*store)->Commit(add).ok());
    EXPECT_TRUE((*store)->Commit(remove).ok());
    EXPECT_TRUE((*store)->Close().ok());
  }
  VerifyReport Report() {
    const auto store = Store::Open(dir_ / "db", Options());
    EXPECT_TRUE(store.ok()) << store.status();
    if (!store.ok()) return {};
    const StatusOr<VerifyReport> report = VerifyStore(**store, ServerConfig());
    EXPECT_TRUE(report.ok()) << report.status();
    return report.ok() ? *report : VerifyReport();
  }

  TempDir dir_;
};

TEST_F(Verify, AnIntactStoreHasNoProblem) {
  const VerifyReport report = Report();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.problem_count, 0u);
  EXPECT_EQ(report.pages, 3u);
  EXPECT_EQ(report.hosts, 2u);
  EXPECT_EQ(report.leases, 1u);
}

// The page's host stays busy until the lease ends, so repair keeps the lease.
TEST_F(Verify, ALeaseOfARemovedPageIsNoProblem) {
  LeaseRecord lease = LeaseOf(PageOf(kHost, 3), 2);
  lease.host = kHost;
  {
    RawDatabase raw(dir_ / "db");
    PutLease(raw, lease);
  }
  VerifyReport report = Report();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.leases, 2u);
  {
    RawDatabase raw(dir_ / "db");
    Flip(raw, Family::kPages, KeyOf(PageOf(kOtherHost, 1)));
  }
  ASSERT_TRUE(storage::Repair(dir_ / "db", Options(), {}).ok());
  report = Report();
  EXPECT_THAT(report.problems, IsEmpty());
  EXPECT_EQ(report.leases, 2u);
}

// A server that was only a standby has the epochs of others, but no number of shards.
TEST_F(Verify, AnEpochOfAServerThatNeverServedIsNoProblem) {
  {
    RawDatabase raw(dir_ / "db");
    PutEpoch(raw, {.shard = 0});
    raw.Delete(Family::kMeta, storage::MetaKeyOf(MetaKey::kLayout));
  }
  EXPECT_THAT(Report().problems, IsEmpty());
}

// Each unregistered source is reported once, however the signals of the pages alternate.
TEST_F(Verify, ASourceThatIsNotRegisteredIsSaidOnce) {
  {
    RawDatabase raw(dir_ / "db");
    for (PageRecord page : {First(), Second()}) {
      for (int i = 0; i < 20; ++i) {
        CrawlObservation seen{.fetched = Instant::FromUnixSeconds(1'650'000'000 + i),
                              .elapsed = Duration::Seconds(1),
                              .signals = {}};
        seen.signals.Add(SourceClass(static_cast<uint8_t>(2 + i % 3), BurstClass::kFew));
        page.detail.statistics.recent.push_back(seen);
      }
      PutPage(raw, page, 1, page);
    }
  }
  const VerifyReport report = Report();
  EXPECT_EQ(report.problem_count, 3u);
  EXPECT_THAT(report.problems, Contains(HasSubstr("signals of source 3, which is not registered; "
                                                  "so have 1 other pages")));
}

TEST_P(Verify, ADamagedStoreHasItsProblemNamed) {
  {
    RawDatabase raw(dir_ / "db");
    GetParam().tamper(raw);
  }
  const VerifyReport report = Report();
  EXPECT_THAT(report.problems, Contains(HasSubstr(GetParam().named)));
  EXPECT_GT(report.problem_count, 0u);
}

// Repair fixes exactly the faults that verification reports, so both agree on whether a store is
// intact.
TEST_P(Verify, IsMendedByRepair) {
  {
    RawDatabase raw(dir_ / "db");
    GetParam().tamper(raw);
  }
  const storage::RepairChecks checks{
      .verify = [](const Store& store) { return VerifyStore(store, ServerConfig()); },
      .knows_policy = [](const std::string& name) { return ResolvePolicy(name).ok(); }};
  const StatusOr<storage::RepairReport> repaired = storage::Repair(dir_ / "db", Options(), checks);
  ASSERT_TRUE(repaired.ok()) << repaired.status();
  EXPECT_FALSE(repaired->intact);
  EXPECT_THAT(Report().problems, IsEmpty());
  const StatusOr<storage::RepairReport> again = storage::Repair(dir_ / "db", Options(), checks);
  EXPECT_TRUE(again.ok() && again->intact);
}

TEST_F(Verify, RepairLeavesAnIntactStoreAlone) {
  const storage::RepairChecks checks{
      .verify = [](const Store& store) { return VerifyStore(store, ServerConfig()); },
      .knows_policy = [](const std::string&) { return false; }};
  const StatusOr<storage::RepairReport> report = storage::Repair(dir_ / "db", Options(), checks);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_TRUE(report->intact);
}

std::string Hex(PageNumber number) { return fmt::format("{:#x}", number.value()); }

std::vector<Case> PageCases() {
  return {
      {"PageInTheWrongSlot",
       [](RawDatabase& raw) { PutPage(raw, First(), 1, PageOf(kOtherHost, 1)); },
       "is not one of host example.net"},
      {"PageTwice",
       [](RawDatabase& raw) {
         PageRecord twin = Second();
         twin.number = MakePageNumber(SlotOfHost(kHost), 9);
         PutPage(raw, twin, 1, Second());
       },
       "http://example.org/2 is stored twice: as page " + Hex(Second().number) + " and as page " +
           Hex(PageOf(kHost, 9).number)},
      {"HostSerialUnknown", [](RawDatabase& raw) { PutPage(raw, First(), 5, First()); },
       "host 5 is not example.org"},
      {"PageKeyMalformed",
       [](RawDatabase& raw) {
         raw.Put(Family::kPages, "nonsense!", raw.Get(Family::kPages, KeyOf(First())));
       },
       "pages"},
      {"PageDamaged", [](RawDatabase& raw) { Flip(raw, Family::kPages, KeyOf(First())); }, "pages"},
      {"SignalOfNoSource",
       [](RawDatabase& raw) {
         PageRecord page = Second();
         page.state.signals.Add(SourceClass(3, BurstClass::kMany));
         PutPage(raw, page, 1, page);
       },
       "page " + Hex(Second().number) + ": signals of source 3, which is not registered"},
      {"ObservationOfNoSource",
       [](RawDatabase& raw) {
         PageRecord page = First();
         CrawlObservation seen{.fetched = Instant::FromUnixSeconds(1'650'000'000),
                               .elapsed = Duration::Seconds(5),
                               .signals = {}};
         seen.signals.Add(SourceClass(2, BurstClass::kFew));
         page.detail.statistics.recent = {seen};
         PutPage(raw, page, 1, page);
       },
       "page " + Hex(First().number) + ": signals of source 2, which is not registered"},
  };
}

std::vector<Case> HostCases() {
  return {
      {"HostMissing",
       [](RawDatabase& raw) {
         raw.Delete(Family::kHosts, storage::HostKeyOf(SlotOfHost(kHost), kHost));
       },
       "host 1 is not example.org"},
      {"HostInTheWrongSlot",
       [](RawDatabase& raw) { PutHost(raw, "example.com", 9, SlotOfHost(kHost)); },
       "in the wrong slot"},
      {"HostSerialTwice",
       [](RawDatabase& raw) {
         PutHost(raw, "a.example.com", 1, SlotOfHost("a.example.com"));
         PutHost(raw, "b.example.com", 1, SlotOfHost("a.example.com"));
       },
       "serial 1 is taken"},
      {"HostDamaged",
       [](RawDatabase& raw) {
         Flip(raw, Family::kHosts, storage::HostKeyOf(SlotOfHost(kHost), kHost));
       },
       "hosts"},
  };
}

std::vector<Case> LeaseCases() {
  return {
      {"LeaseOfNoPage", [](RawDatabase& raw) { PutLease(raw, LeaseOf(PageOf(kHost, 77), 2)); },
       "of page " + Hex(PageOf(kHost, 77).number) + ": NotFound"},
      {"LeaseOfALeasedPage", [](RawDatabase& raw) { PutLease(raw, LeaseOf(First(), 2)); },
       "is leased twice"},
      {"LeaseNeverGivenOut", [](RawDatabase& raw) { PutLease(raw, LeaseOf(Second(), 1, 900)); },
       "was never given out"},
      {"LeaseUnderAnotherKey",
       [](RawDatabase& raw) {
         raw.Put(Family::kLeases, LeaseKey(5), raw.Get(Family::kLeases, LeaseKey(1)));
       },
       "leases"},
      {"LeaseDamaged", [](RawDatabase& raw) { Flip(raw, Family::kLeases, LeaseKey(1)); }, "leases"},
  };
}

std::vector<Case> GlobalCases() {
  return {
      {"SourceMissing", [](RawDatabase& raw) { raw.Delete(Family::kSources, std::string(1, 0)); },
       "signals of source 0, which is not registered"},
      {"SourceNameTwice", [](RawDatabase& raw) { PutSource(raw, "cdn", 4); },
       "sources: the name cdn is given twice"},
      {"SourceDamaged",
       [](RawDatabase& raw) { Flip(raw, Family::kSources, storage::SourceKeyOf(0)); }, "sources"},
      {"EpochOfNoShard", [](RawDatabase& raw) { PutEpoch(raw, {.shard = 3}); },
       "an epoch of shard 3, of which there are 1"},
      {"ModelUnreadable",
       [](RawDatabase& raw) { PutEpoch(raw, {.shard = 0, .number = 1, .site_model = "junk"}); },
       "the model of shard 0 cannot be used"},
      {"EpochDamaged",
       [](RawDatabase& raw) {
         PutEpoch(raw, {.shard = 0, .number = 1, .site_model = "junk"});
         Flip(raw, Family::kMeta, storage::MetaKeyOf(MetaKey::kEpoch, 0));
       },
       "default"},
      {"PolicyUnknown",
       [](RawDatabase& raw) {
         std::string value;
         const std::string key = storage::MetaKeyOf(MetaKey::kSettings);
         storage::EncodeSettings(key, {.policy = "clairvoyance"}, &value);
         raw.Put(Family::kMeta, key, value);
       },
       "the policy clairvoyance is not known"},
      {"SettingsDamaged",
       [](RawDatabase& raw) { Flip(raw, Family::kMeta, storage::MetaKeyOf(MetaKey::kSettings)); },
       "default"},
      {"MetaKeyUnknown", [](RawDatabase& raw) { raw.Put(Family::kMeta, std::string("\x63"), "x"); },
       "key is unknown"},
  };
}

std::string NameOf(const testing::TestParamInfo<Case>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Pages, Verify, testing::ValuesIn(PageCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Hosts, Verify, testing::ValuesIn(HostCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Leases, Verify, testing::ValuesIn(LeaseCases()), NameOf);
INSTANTIATE_TEST_SUITE_P(Globals, Verify, testing::ValuesIn(GlobalCases()), NameOf);

}  // namespace
}  // namespace freshet
