#include "storage/internal/lease_log.h"

#include <map>

#include "core/base/id_limits.h"
#include "core/base/limits.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/store.h"
#include "tests/storage/random_records.h"
#include "tests/storage/small_store.h"
#include "tests/storage/store_model.h"
#include "tests/support/temp_dir.h"

namespace freshet::storage {
namespace {

constexpr char kLeaseHost[] = "example.org";

Instant LeaseTime(int64_t seconds) { return Instant::FromUnixSeconds(1'700'000'000 + seconds); }

LeaseRecord OpenLease(uint64_t sequence, int64_t second, uint64_t serial = 1) {
  LeaseRecord lease;
  lease.page = MakePageNumber(Slot(7), serial);
  lease.id = LeaseId(uint64_t{1} << 44 | sequence << 12 | 7);
  lease.worker = "w";
  lease.assigned = LeaseTime(second);
  lease.deadline = LeaseTime(second + 300);
  return lease;
}

LeaseRecord OverLease(const LeaseRecord& open) {
  return {.id = open.id, .page = open.page, .over = true, .reported = true};
}

// A lease log, and a map with its rows. Both are compared with the committed leases. Owner thread
// only.
class LoggedLeases {
 public:
  void Commit(const Changes& changes) {
    const auto read = [this](uint64_t sequence) -> StatusOr<std::vector<LeaseEntry>> {
      return rows_.at(sequence);
    };
    const StatusOr<LeaseWrite> write = log_.Plan(changes, read);
    ASSERT_TRUE(write.ok()) << write.status();
    if (!write->entries.empty()) rows_[write->sequence] = write->entries;
    for (const uint64_t sequence : write->dropped) ASSERT_EQ(rows_.erase(sequence), 1U);
    log_.Install(*write);
    for (const LeaseRecord& lease : changes.leases) {
      leases_[lease.id] = lease;
      if (!lease.over) newest_ = std::max(newest_, lease.assigned);
      if (!lease.over) assigned_[lease.page] = lease.assigned;
    }
    newest_ = std::max(newest_, changes.now);
    for (const LeaseId id : changes.closed_leases) leases_.erase(id);
  }

  // Expects that a log that is loaded from the rows has the committed leases.
  void ExpectWhatWasSaid() const {
    LeaseLog log;
    for (const auto& [sequence, entries] : rows_) log.Load(sequence, entries);
    log.FinishLoad();
    std::map<LeaseId, LeaseRecord> found;
    std::map<PageNumber, Instant> assigned;
    for (const auto& [sequence, entries] : rows_) {
      for (const LeaseEntry& entry : entries) {
        Instant& latest = assigned[entry.record.page];
        latest = std::max(latest, entry.record.assigned);
        if (entry.kind != LeaseEntry::Kind::kLease) continue;
        if (log.Holds(sequence, entry.record.id)) found[entry.record.id] = entry.record;
      }
    }
    EXPECT_EQ(found, leases_);
    for (const auto& [page, at] : assigned_) {
      if (newest_ - at < kAssignmentsKept) {
        EXPECT_EQ(assigned[page], at);
      }
    }
  }

  [[nodiscard]] size_t entries() const {
    size_t entries = 0;
    for (const auto& [sequence, row] : rows_) entries += row.size();
    return entries;
  }
  [[nodiscard]] size_t rows() const { return rows_.size(); }
  [[nodiscard]] const std::map<LeaseId, LeaseRecord>& leases() const { return leases_; }

 private:
  LeaseLog log_;
  std::map<uint64_t, std::vector<LeaseEntry>> rows_;
  std::map<LeaseId, LeaseRecord> leases_;
  std::map<PageNumber, Instant> assigned_;
  Instant newest_;  // latest assignment or commit
};

TEST(LeaseLog, ALongLifeTellsWhatWasSaidAndStaysShort) {
  RandomRecords random(1);
  LoggedLeases log;
  uint64_t sequence = 0;
  std::vector<LeaseId> remembered;
  for (int second = 0; second < 3000; ++second) {
    Changes changes;
    std::vector<LeaseRecord> open;
    for (const auto& [id, lease] : log.leases()) {
      if (!lease.over) open.push_back(lease);
    }
    const uint64_t more = random.Chance(5) ? 300 : random.Below(20);
    for (uint64_t i = 0; i < more; ++i) {
      changes.leases.push_back(OpenLease(++sequence, second, 1 + random.Below(5000)));
    }
    for (const LeaseRecord& lease : open) {
      // A few leases stay open as long as possible.
      if (lease.id.value() >> 12 & 1023 ? random.Chance(70) : random.Chance(1)) continue;
      if (random.Chance(10)) {
        changes.closed_leases.push_back(lease.id);  // the page was removed, too
      } else {
        changes.leases.push_back(OverLease(lease));
        remembered.push_back(lease.id);
      }
    }
    while (remembered.size() > 500) {
      changes.closed_leases.push_back(remembered.front());
      remembered.erase(remembered.begin());
    }
    log.Commit(changes);
    if (second % 97 == 0) log.ExpectWhatWasSaid();
    // The limit is twice the number of open and remembered leases, plus the kept assignments and
    // some slack.
    ASSERT_LE(log.entries(), 2 * (2 * log.leases().size() + 4096) + 10 * 2 * 300 + 1000) << second;
  }
  log.ExpectWhatWasSaid();
  EXPECT_GT(sequence, 50'000U);
}

// No more pages are assigned, for example because all pages are leased. Signals keep arriving.
TEST(LeaseLog, SignalsWithoutAssignmentsDoNotPileUp) {
  constexpr uint64_t kOut = 100;
  LoggedLeases log;
  Changes changes;
  for (uint64_t i = 1; i <= kOut; ++i) changes.leases.push_back(OpenLease(i, 0, i));
  log.Commit(changes);
  const std::vector<LeaseRecord> out = changes.leases;
  for (int second = 1; second <= 30'000; ++second) {
    LeaseRecord lease = out[static_cast<uint64_t>(second) % kOut];
    lease.signals.push_back({LeaseTime(second), SourceClass(3)});
    changes = Changes();
    changes.now = LeaseTime(second);
    changes.leases = {lease};
    log.Commit(changes);
    ASSERT_LE(log.entries(), 2 * (2 * kOut + 4096) + kOut) << second;
  }
  log.ExpectWhatWasSaid();
}

// From the assignments, a start learns when each host was last fetched. So the log keeps each
// assignment for a while, even if later rows replace its lease.
TEST(LeaseLog, AnAssignmentIsKeptForAWhileWhateverElseIsSaid) {
  LoggedLeases log;
  Changes changes;
  changes.leases = {OpenLease(1, 0, 1), OpenLease(2, 0, 2)};
  log.Commit(changes);
  changes = Changes();
  changes.closed_leases = {LeaseId(uint64_t{1} << 44 | 1 << 12 | 7)};
  log.Commit(changes);
  const size_t before = log.rows();
  for (int i = 0; i < 10'000; ++i) {
    changes = Changes();
    changes.now = LeaseTime(0) + kAssignmentsKept - Duration::Micros(1);
    changes.leases = {OpenLease(2, 0, 2)};
    log.Commit(changes);
  }
  EXPECT_EQ(log.rows(), before + 10'000);
  changes.now = LeaseTime(0) + kAssignmentsKept;
  log.Commit(changes);
  EXPECT_LT(log.rows(), 6'000U);
  log.ExpectWhatWasSaid();
}

TEST(LeaseLog, OneOpenedAndDroppedByOneCommitIsNotThere) {
  LoggedLeases log;
  Changes changes;
  changes.leases = {OpenLease(1, 0), OpenLease(2, 0, 2)};
  changes.closed_leases = {changes.leases[0].id};
  log.Commit(changes);
  log.ExpectWhatWasSaid();
  EXPECT_EQ(log.leases().size(), 1U);
}

// Fills a store with pages of one host, with `over` ended leases and one open lease.
void FillWithLeases(Store& store, uint64_t over) {
  RandomRecords random(2);
  const PageRecord page = random.Page(kLeaseHost, 1, 1);
  Changes changes;
  changes.pages.push_back({.record = &page, .created = true});
  ASSERT_TRUE(store.Commit(changes).ok());
  const Slot slot = SlotOf(page.number);
  for (uint64_t sequence = 1; sequence <= over + 1; ++sequence) {
    changes = Changes();
    LeaseRecord lease = OpenLease(sequence, static_cast<int64_t>(sequence));
    lease.page = page.number;
    lease.id = LeaseId(uint64_t{1} << 44 | sequence << 12 | slot.value());
    changes.leases.push_back(lease);
    ASSERT_TRUE(store.Commit(changes).ok());
    if (sequence > over) continue;
    changes.leases = {OverLease(lease)};
    ASSERT_TRUE(store.Commit(changes).ok());
  }
}

class AssignmentsSeen : public LoadVisitor {
 public:
  Status OnHost(const HostRecord&, uint32_t) override { return absl::OkStatus(); }
  Status OnPage(const LoadedPage&) override { return absl::OkStatus(); }
  Status OnLease(const LeaseRecord& lease) override {
    (lease.over ? over : open) += 1;
    return absl::OkStatus();
  }
  Status OnAssignment(PageNumber, Instant at) override {
    last = std::max(last, at);
    return absl::OkStatus();
  }
  Status OnSlotEnd(Slot, uint64_t) override { return absl::OkStatus(); }

  uint64_t open = 0;
  uint64_t over = 0;
  Instant last;
};

TEST(LeaseLog, LeasesAndAssignmentsSurviveWhateverTheNumberOfShards) {
  const TempDir dir;
  for (const uint32_t shards : {0U, 1U, 3U, 3U, 64U, 1U}) {
    const auto store = Store::Open(dir / "db", SmallStore());
    ASSERT_TRUE(store.ok()) << store.status();
    if (shards == 0) {
      FillWithLeases(**store, 40);
    } else {
      ASSERT_TRUE((*store)->SetShards(shards).ok());
    }
    for (int again = 0; again < 2; ++again) {
      AssignmentsSeen seen;
      ASSERT_TRUE((*store)->Load(Slot(0), Slot(limits::kSlots - 1), seen).ok());
      EXPECT_EQ(seen.open, 1U) << shards;
      EXPECT_EQ(seen.over, 40U) << shards;
      EXPECT_EQ(seen.last, LeaseTime(41)) << shards;
    }
    const auto report = (*store)->Verify();
    EXPECT_TRUE(report.ok() && report->ok()) << shards;
    EXPECT_EQ(report->leases, 1U);
  }
}

// The limit also applies to loaded leases: the oldest are dropped.
TEST(LeaseLog, AStartRemembersNoMoreThanTheLimit) {
  LeaseLog log;
  std::vector<LeaseEntry> entries;
  for (uint64_t sequence = 1; sequence <= limits::kMaxRememberedLeases + 10; ++sequence) {
    entries.push_back({.record = OverLease(OpenLease(sequence, 0))});
  }
  log.Load(1, entries);
  log.FinishLoad();
  size_t held = 0;
  for (const LeaseEntry& entry : entries) held += log.Holds(1, entry.record.id);
  EXPECT_EQ(held, limits::kMaxRememberedLeases);
  EXPECT_FALSE(log.Holds(1, entries[9].record.id));
  EXPECT_TRUE(log.Holds(1, entries[10].record.id));
}

}  // namespace
}  // namespace freshet::storage
