#include "storage/store.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "core/base/url.h"
#include "core/schedule/changes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/internal/keys.h"
#include "storage/pages_read.h"
#include "tests/storage/random_records.h"
#include "tests/storage/removed_rows.h"
#include "tests/storage/small_store.h"
#include "tests/support/temp_dir.h"
#include "tests/support/wall_time.h"

namespace freshet {
namespace {

using testing::HasSubstr;

StoreOptions SmallOptions() {
  StoreOptions options = SmallStore();
  options.write_buffer_bytes = 64 << 10;
  options.table_file_bytes = 64 << 10;
  return options;
}

std::unique_ptr<Store> OpenOrDie(const std::string& dir,
                                 const StoreOptions& options = SmallOptions()) {
  auto store = Store::Open(dir, options);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

// Returns the names of the files in `dir` that contain `text`.
std::vector<std::string> FilesWith(const std::string& dir, const std::string& text) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir)) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream bytes;
    bytes << in.rdbuf();
    if (bytes.str().find(text) != std::string::npos) names.push_back(entry.path().filename());
  }
  return names;
}

// Like FilesWith(), after the store's thread has deleted files that are no longer needed.
std::vector<std::string> FilesLeftWith(const std::string& dir, const std::string& text) {
  std::vector<std::string> names;
  (void)Eventually([&] { return (names = FilesWith(dir, text)).empty(); }, Duration::Seconds(10));
  return names;
}

PageWrite Created(const PageRecord& page) { return {.record = &page, .created = true}; }

// Collects all rows of Load, by key.
class Collector : public LoadVisitor {
 public:
  struct Page {
    uint64_t fingerprint;
    std::string host;
    PageSpec spec;
    PageState state;
  };
  Status OnHost(const HostRecord& host, uint32_t serial) override {
    hosts[host.host] = host;
    EXPECT_GE(serial, 1U);
    return absl::OkStatus();
  }
  Status OnPage(const LoadedPage& page) override {
    EXPECT_GT(page.number, last);
    last = page.number;
    EXPECT_TRUE(hosts.contains(page.host));
    pages[page.number] = {page.fingerprint, page.host, page.spec, page.state};
    return absl::OkStatus();
  }
  Status OnLease(const LeaseRecord& lease) override {
    leases[lease.id] = lease;
    return absl::OkStatus();
  }
  Status OnSlotEnd(Slot slot, uint64_t next_serial) override {
    next_serials[slot] = next_serial;
    return absl::OkStatus();
  }

  std::map<std::string, HostRecord> hosts;
  std::map<PageNumber, Page> pages;
  std::map<LeaseId, LeaseRecord> leases;
  std::map<Slot, uint64_t> next_serials;
  PageNumber last;
};

Collector LoadAll(const Store& store) {
  Collector all;
  EXPECT_TRUE(store.Load(Slot(0), Slot(limits::kSlots - 1), all).ok());
  return all;
}

class StoreTest : public testing::Test {
 protected:
  // Commits `n` pages on three hosts, with one batch for each host.
  std::vector<PageRecord> Fill(Store& store, size_t n) {
    std::vector<PageRecord> pages;
    for (size_t i = 0; i < n; ++i) {
      const std::string host = fmt::format("host{}.example", i % 3);
      pages.push_back(random_.Page(host, i, 1 + i));
    }
    Changes changes;
    for (const PageRecord& page : pages) changes.pages.push_back(Created(page));
    EXPECT_TRUE(store.Commit(changes).ok());
    return pages;
  }

  // Returns the names of `n` hosts in different slots, ordered by slot.
  static std::vector<std::string> HostsBySlot(size_t n) {
    std::map<Slot, std::string> hosts;
    for (size_t i = 0; hosts.size() < n; ++i) {
      const std::string host = fmt::format("host{}.example", i);
      hosts.emplace(SlotOfHost(host), host);
    }
    std::vector<std::string> names;
    for (auto& [slot, host] : hosts) names.push_back(std::move(host));
    return names;
  }

  TempDir dir_;
  RandomRecords random_{1};
};

TEST_F(StoreTest, GivesBackWhatWasCommittedAfterReopening) {
  std::vector<PageRecord> pages;
  HostRecord host = random_.Host("host1.example");
  Changes more;
  {
    const auto store = OpenOrDie(dir_ / "db");
    EXPECT_EQ(store->generation(), 1U);
    pages = Fill(*store, 50);
    more.hosts.push_back(host);
    more.leases.push_back(random_.Lease(pages[0].number, 1));
    more.leases.push_back(random_.Lease(pages[1].number, 2));
    more.sources.push_back({.name = "sitemap", .index = 3});
    more.settings = random_.RandomSettings();
    more.epoch = random_.Epoch(2);
    ASSERT_TRUE(store->Commit(more).ok());
    Changes closed;
    closed.closed_leases.push_back(more.leases[0].id);
    ASSERT_TRUE(store->Commit(closed).ok());
  }
  const auto store = OpenOrDie(dir_ / "db");
  EXPECT_EQ(store->generation(), 2U);
  std::vector<PageNumber> numbers;
  for (const PageRecord& page : pages) numbers.push_back(page.number);
  const auto read = store->ReadPages(numbers);
  ASSERT_EQ(read.size(), pages.size());
  for (size_t i = 0; i < pages.size(); ++i) {
    ASSERT_TRUE(read[i].ok()) << read[i].status();
    EXPECT_EQ(*read[i], pages[i]);
  }
  const Collector all = LoadAll(*store);
  EXPECT_EQ(all.pages.size(), pages.size());
  for (const PageRecord& page : pages) {
    const Collector::Page& loaded = all.pages.at(page.number);
    EXPECT_EQ(loaded.fingerprint, store->fingerprinter().Of(page.key.crawl_id, page.key.url));
    EXPECT_EQ(loaded.host, page.host);
    EXPECT_EQ(loaded.spec, page.spec);
    EXPECT_EQ(loaded.state, page.state);
  }
  EXPECT_EQ(all.hosts.size(), 3U);
  EXPECT_EQ(all.hosts.at("host1.example"), host);
  ASSERT_EQ(all.leases.size(), 1U);
  EXPECT_EQ(all.leases.begin()->second, more.leases[1]);
  const auto globals = store->LoadGlobals();
  ASSERT_TRUE(globals.ok()) << globals.status();
  EXPECT_EQ(globals->sources, more.sources);
  EXPECT_EQ(globals->settings, *more.settings);
  ASSERT_EQ(globals->epochs.size(), 1U);
  EXPECT_EQ(globals->epochs[0], *more.epoch);
  const auto report = store->Verify();
  ASSERT_TRUE(report.ok());
  EXPECT_TRUE(report->ok()) << testing::PrintToString(report->problems);
  EXPECT_EQ(report->pages, 50U);
}

TEST_F(StoreTest, RemovedPagesVanishAndTheirNumbersAreNotGivenAgain) {
  PageNumber highest;
  Slot slot;
  {
    const auto store = OpenOrDie(dir_ / "db");
    const std::vector<PageRecord> pages = Fill(*store, 9);
    Changes changes;
    for (const PageRecord& page : pages) {
      if (page.host == "host0.example") changes.removed_pages.push_back(&page);
      if (page.host == "host0.example") highest = page.number;
    }
    slot = SlotOf(highest);
    ASSERT_TRUE(store->Commit(changes).ok());
    for (const PageRecord* page : changes.removed_pages) {
      EXPECT_TRUE(absl::IsNotFound(store->ReadPages({&page->number, 1})[0].status()));
    }
    const auto report = store->Verify();
    EXPECT_TRUE(report.ok() && report->ok());
    EXPECT_EQ(report->pages, 6U);
  }
  const auto store = OpenOrDie(dir_ / "db");
  const Collector all = LoadAll(*store);
  EXPECT_EQ(all.pages.size(), 6U);
  EXPECT_GT(all.next_serials.at(slot), SerialOf(highest));
}

TEST_F(StoreTest, APageRemovedAndAddedAgainInOneCommitIsThere) {
  {
    const auto store = OpenOrDie(dir_ / "db");
    const std::vector<PageRecord> pages = Fill(*store, 3);
    PageRecord again = random_.Page(pages[0].host, 0, 1000);
    again.key = pages[0].key;
    ASSERT_NE(again.number, pages[0].number);
    Changes changes;
    changes.removed_pages.push_back(&pages[0]);
    changes.pages.push_back(Created(again));
    ASSERT_TRUE(store->Commit(changes).ok());
    EXPECT_EQ(*store->ReadPages({&again.number, 1})[0], again);
    EXPECT_TRUE(absl::IsNotFound(store->ReadPages({&pages[0].number, 1})[0].status()));
  }
  const auto store = OpenOrDie(dir_ / "db");
  EXPECT_EQ(LoadAll(*store).pages.size(), 3U);
  const auto report = store->Verify();
  EXPECT_TRUE(report.ok() && report->ok()) << report->problems.front();
}

TEST_F(StoreTest, ListsByCrawlIdHostAndPrefixAndResumes) {
  const auto store = OpenOrDie(dir_ / "db");
  std::vector<PageRecord> pages = Fill(*store, 60);
  PageRecord other = random_.Page("host0.example", 1000, 1000);
  other.key.crawl_id = "OTHER";
  Changes changes;
  changes.pages.push_back(Created(other));
  ASSERT_TRUE(store->Commit(changes).ok());

  const auto list = [&](const ListQuery& query, size_t limit) {
    std::vector<std::string> urls;
    std::string token;
    do {
      const auto result = store->List(query, token, limit);
      EXPECT_TRUE(result.ok()) << result.status();
      for (const PageRecord& page : result->pages) {
        urls.push_back(page.key.crawl_id + " " + page.key.url);
        EXPECT_EQ(*store->ReadPages({&page.number, 1})[0], page);
      }
      token = result->next_token;
    } while (!token.empty());
    return urls;
  };
  EXPECT_EQ(list({}, 7).size(), 61U);
  EXPECT_EQ(list({.crawl_id = "DEFAULT"}, 7).size(), 60U);
  EXPECT_EQ(list({.crawl_id = "OTHER"}, 1).size(), 1U);
  EXPECT_EQ(list({.crawl_id = "OTHE"}, 1).size(), 0U);
  EXPECT_EQ(list({.crawl_id = "DEFAULT", .host = "host1.example"}, 3).size(), 20U);
  EXPECT_EQ(list({.host = "host0.example"}, 3).size(), 21U);
  const ListQuery prefix{
      .crawl_id = "DEFAULT", .host = "host1.example", .url_prefix = "https://host1.example/page/1"};
  std::vector<std::string> expected;
  for (const PageRecord& page : pages) {
    if (page.key.url.starts_with(prefix.url_prefix)) expected.push_back("DEFAULT " + page.key.url);
  }
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(list(prefix, 2), expected);
  EXPECT_EQ(list({.url_prefix = prefix.url_prefix}, 2), expected);
  EXPECT_TRUE(absl::IsInvalidArgument(store->List({}, "junk", 1).status()));
}

TEST_F(StoreTest, ScansPagesInSlices) {
  const auto store = OpenOrDie(dir_ / "db");
  std::map<PageNumber, PageRecord> pages;
  for (const PageRecord& page : Fill(*store, 40)) pages[page.number] = page;
  std::map<PageNumber, PageRecord> seen;
  PageNumber from;
  while (true) {
    const auto slice = store->ScanPages(from, PageNumber(UINT64_MAX), 7);
    ASSERT_TRUE(slice.ok()) << slice.status();
    for (const PageRecord& page : slice->pages) seen[page.number] = page;
    if (slice->done) break;
    EXPECT_EQ(slice->pages.size(), 7U);
    from = slice->next;
  }
  EXPECT_EQ(seen, pages);
  const PageNumber middle = std::next(pages.begin(), 20)->first;
  const auto part = store->ScanPages(PageNumber(0), middle, 1000);
  EXPECT_EQ(part->pages.size(), 20U);
  EXPECT_TRUE(part->done);
}

// Previously, one read stepped over all removed rows.
TEST_F(StoreTest, ReadsOfManyPagesLeaveOffAmongRemovedRows) {
  constexpr size_t kRemoved = 10'000;
  constexpr uint64_t kMost = 4096;
  const auto store = OpenOrDie(dir_ / "db", SmallStore());
  const std::string host = HostsBySlot(1)[0];
  std::vector<PageRecord> pages;
  for (size_t i = 0; i <= kRemoved; ++i) pages.push_back(random_.Page(host, i, 1 + i));
  Changes added;
  Changes removed;
  for (const PageRecord& page : pages) {
    added.pages.push_back(Created(page));
    if (&page != &pages.back()) removed.removed_pages.push_back(&page);
  }
  ASSERT_TRUE(store->Commit(added).ok());
  ASSERT_TRUE(store->Commit(removed).ok());
  size_t found = 0;
  size_t reads = 0;
  ScanResult scan;
  for (; !scan.done && reads < 100; ++reads) {
    EXPECT_LE(RemovedRowsWalkedOver(
                  [&] { scan = *store->ScanPages(scan.next, PageNumber(UINT64_MAX), 64); }),
              kMost + 1);
    found += scan.pages.size();
  }
  EXPECT_EQ(found, 1U);
  EXPECT_GE(reads, 1 + kRemoved / kMost);
  ListResult list;
  for (reads = 0; reads == 0 || (!list.next_token.empty() && reads < 100); ++reads) {
    EXPECT_LE(RemovedRowsWalkedOver(
                  [&] { list = *store->List({.host = host}, std::string(list.next_token), 10); }),
              kMost + 1);
    found += list.pages.size();
  }
  EXPECT_EQ(found, 2U);
  EXPECT_GE(reads, 1 + kRemoved / kMost);
}

// A list that leaves off at the first page of a slot goes on there. Previously, it refused its own
// token.
TEST_F(StoreTest, ListsLeaveOffBetweenSlots) {
  constexpr size_t kRemoved = 4000;  // there are 4096 slots
  const auto store = OpenOrDie(dir_ / "db", SmallStore());
  const std::vector<std::string> hosts = HostsBySlot(kRemoved + 1);
  std::vector<PageRecord> pages;
  for (const std::string& host : hosts) pages.push_back(random_.Page(host, 0, 1));
  Changes added;
  Changes removed;
  for (const PageRecord& page : pages) {
    added.pages.push_back(Created(page));
    if (&page != &pages.back()) removed.removed_pages.push_back(&page);
  }
  ASSERT_TRUE(store->Commit(added).ok());
  ASSERT_TRUE(store->Commit(removed).ok());
  std::vector<std::string> found;
  std::string token;
  int reads = 0;
  do {
    const StatusOr<ListResult> list = store->List({}, token, 10);
    ASSERT_TRUE(list.ok()) << list.status();
    for (const PageRecord& page : list->pages) found.push_back(page.host);
    token = list->next_token;
  } while (!token.empty() && ++reads < 100);
  EXPECT_THAT(found, testing::ElementsAre(hosts.back()));
  EXPECT_GE(reads, 1);
}

// Pages of one host that were added and removed do not slow down reads of other slots.
TEST_F(StoreTest, ReadsOfASlotEndBeforeTheRemovedRowsOfTheNext) {
  const auto store = OpenOrDie(dir_ / "db", SmallStore());
  const std::vector<std::string> hosts = HostsBySlot(2);
  const Slot slot = SlotOfHost(hosts[1]);
  std::vector<PageRecord> pages;
  for (size_t i = 0; i < 100; ++i) pages.push_back(random_.Page(hosts[1], i, 1 + i));
  Changes added;
  Changes removed;
  for (const PageRecord& page : pages) {
    added.pages.push_back(Created(page));
    removed.removed_pages.push_back(&page);
  }
  ASSERT_TRUE(store->Commit(added).ok());
  ASSERT_TRUE(store->Commit(removed).ok());
  const auto scan = [&](Slot of) {
    const uint32_t first = of.value();
    return store->ScanPages(FirstNumber(first), FirstNumber(first + 1), 64)->done;
  };
  for (uint16_t before = 0; before < slot.value(); ++before) {
    ASSERT_EQ(RemovedRowsWalkedOver([&] { EXPECT_TRUE(scan(Slot(before))); }), 0U) << before;
  }
  EXPECT_EQ(RemovedRowsWalkedOver([&] { EXPECT_TRUE(scan(slot)); }), pages.size());
  EXPECT_EQ(RemovedRowsWalkedOver(
                [&] { EXPECT_TRUE(store->List({.host = hosts[0]}, "", 10)->pages.empty()); }),
            0U);
}

TEST_F(StoreTest, TheFirstPageOfASlotWalksOverNoRemovedHostsOfOthers) {
  const auto store = OpenOrDie(dir_ / "db", SmallStore());
  const std::vector<std::string> hosts = HostsBySlot(101);
  Changes added;
  Changes removed;
  for (size_t i = 1; i < hosts.size(); ++i) {
    added.hosts.push_back(random_.Host(hosts[i]));
    removed.removed_hosts.push_back(hosts[i]);
  }
  ASSERT_TRUE(store->Commit(added).ok());
  ASSERT_TRUE(store->Commit(removed).ok());
  const PageRecord page = random_.Page(hosts[0], 0, 1);
  Changes first;
  first.pages.push_back(Created(page));
  EXPECT_EQ(RemovedRowsWalkedOver([&] { EXPECT_TRUE(store->Commit(first).ok()); }), 0U);
}

TEST_F(StoreTest, RefusesInvalidRecordsAndStaysAsItWas) {
  const auto store = OpenOrDie(dir_ / "db");
  std::vector<PageRecord> pages = Fill(*store, 3);
  PageRecord bad = pages[0];
  bad.state.rates.change_rate = NAN;
  Changes changes;
  changes.pages.push_back({.record = &pages[1]});
  changes.pages.push_back({.record = &bad});
  const Status status = store->Commit(changes);
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(status.message()), HasSubstr("change_rate"));
  EXPECT_TRUE(store->health().ok());
  EXPECT_EQ(*store->ReadPages({&bad.number, 1})[0], pages[0]);
}

TEST_F(StoreTest, LetsInOneProcessOnly) {
  auto store = OpenOrDie(dir_ / "db");
  const auto second = Store::Open(dir_ / "db", SmallOptions());
  EXPECT_TRUE(absl::IsFailedPrecondition(second.status())) << second.status();
  EXPECT_THAT(std::string(second.status().message()), HasSubstr("in use"));
  store.reset();
  EXPECT_TRUE(Store::Open(dir_ / "db", SmallOptions()).ok());
}

TEST_F(StoreTest, CheckpointIsACopyOfOneMoment) {
  const auto store = OpenOrDie(dir_ / "db");
  const std::vector<PageRecord> pages = Fill(*store, 30);
  ASSERT_TRUE(store->Checkpoint(dir_ / "copy").ok());
  EXPECT_TRUE(absl::IsAlreadyExists(store->Checkpoint(dir_ / "copy")));
  Changes changes;
  for (const PageRecord& page : pages) changes.removed_pages.push_back(&page);
  ASSERT_TRUE(store->Commit(changes).ok());
  ASSERT_TRUE(store->Compact().ok());
  const auto copy = OpenOrDie(dir_ / "copy");
  for (const PageRecord& page : pages) {
    EXPECT_EQ(*copy->ReadPages({&page.number, 1})[0], page);
  }
  const auto report = copy->Verify();
  EXPECT_TRUE(report.ok() && report->ok());
}

// After a compaction no file contains any byte of removed pages. The MANIFEST names the first and
// last keys of tables; it is rewritten whenever the store opens.
TEST_F(StoreTest, RemovedPagesAreGoneFromTheFiles) {
  StoreOptions options = SmallOptions();
  options.compress = false;  // so that text can be found in the files
  auto store = OpenOrDie(dir_ / "db", options);
  std::vector<PageRecord> pages = Fill(*store, 30);
  const auto compact = [&] {
    ASSERT_TRUE(store->Compact().ok());
    store.reset();
    store = OpenOrDie(dir_ / "db", options);
  };
  PageRecord secret = random_.Page("host0.example", 77, 1000);
  secret.key.url = "https://host0.example/secret-url";
  secret.detail.etag = "secret-etag";
  Changes changes;
  changes.pages.push_back(Created(secret));
  ASSERT_TRUE(store->Commit(changes).ok());
  EXPECT_THAT(FilesWith(dir_ / "db", "secret-"), testing::Not(testing::IsEmpty()));

  changes = Changes();
  changes.removed_pages.push_back(&secret);
  ASSERT_TRUE(store->Commit(changes).ok());
  EXPECT_TRUE(absl::IsNotFound(store->ReadPages({&secret.number, 1})[0].status()));
  compact();
  EXPECT_THAT(FilesLeftWith(dir_ / "db", "secret-"), testing::IsEmpty());
  EXPECT_THAT(FilesWith(dir_ / "db", pages[0].key.url), testing::Not(testing::IsEmpty()));

  // Removes all other pages. They were written at the same time, but are in several tables now.
  changes = Changes();
  for (const PageRecord& page : pages) changes.removed_pages.push_back(&page);
  ASSERT_TRUE(store->Commit(changes).ok());
  compact();
  for (const PageRecord& page : pages) {
    EXPECT_THAT(FilesLeftWith(dir_ / "db", page.key.url), testing::IsEmpty());
  }
  const StoreStats stats = store->Stats();
  EXPECT_EQ(stats.families[storage::IndexOf(storage::Family::kPages)].table_bytes, 0U);
}

TEST_F(StoreTest, CompactionsWaitUntilTheyAreStarted) {
  StoreOptions options = SmallOptions();
  options.hold_compactions = true;
  const auto store = OpenOrDie(dir_ / "db", options);
  // Writes far more than four memtables can hold. Without hold_compactions, RocksDB would compact
  // now.
  const std::vector<PageRecord> pages = Fill(*store, 300);
  for (int round = 0; round < 40; ++round) {
    Changes changes;
    for (const PageRecord& page : pages) changes.pages.push_back({.record = &page});
    ASSERT_TRUE(store->Commit(changes).ok());
  }
  EXPECT_GT(store->Stats().flushed_bytes, size_t{4} * options.write_buffer_bytes);
  EXPECT_EQ(store->Stats().compacted_bytes, 0U);
  ASSERT_TRUE(store->StartCompactions().ok());
  EXPECT_TRUE(Eventually([&] { return store->Stats().compacted_bytes > 0; }));
  EXPECT_EQ(LoadAll(*store).pages.size(), pages.size());
}

TEST_F(StoreTest, DropsEpochsWhenTheNumberOfShardsChanges) {
  const auto store = OpenOrDie(dir_ / "db");
  ASSERT_TRUE(store->SetShards(2).ok());
  Changes changes;
  changes.epoch = random_.Epoch(1);
  const uint64_t number = changes.epoch->number = 41;
  ASSERT_TRUE(store->Commit(changes).ok());
  ASSERT_TRUE(store->SetShards(2).ok());
  EXPECT_EQ(store->LoadGlobals()->epochs.size(), 1U);
  EXPECT_EQ(store->LoadGlobals()->shards, 2U);
  ASSERT_TRUE(store->SetShards(4).ok());
  // The learned model is gone, but epochs are still counted.
  const auto globals = store->LoadGlobals();
  ASSERT_EQ(globals->epochs.size(), 4U);
  for (uint16_t shard = 0; shard < 4; ++shard) {
    EXPECT_EQ(globals->epochs[shard], (EpochRecord{.shard = shard, .number = number}));
  }
  EXPECT_EQ(store->LoadGlobals()->shards, 4U);
}

}  // namespace
}  // namespace freshet
