// The simple twin of a store: maps in memory, and a script of random commits for both.
#ifndef FRESHET_TESTS_STORAGE_STORE_MODEL_H_
#define FRESHET_TESTS_STORAGE_STORE_MODEL_H_

#include <deque>
#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/schedule/changes.h"
#include "storage/store.h"
#include "tests/storage/random_records.h"

namespace freshet {

// The whole content of a store. Value type, thread-compatible.
struct StoreContents {
  std::map<PageNumber, PageRecord> pages;
  std::map<std::string, HostRecord> hosts;
  std::map<LeaseId, LeaseRecord> leases;
  std::map<uint8_t, SourceRecord> sources;
  std::map<uint16_t, EpochRecord> epochs;
  std::map<std::string, CrawlRecord> crawls;
  Settings settings;
  bool operator==(const StoreContents&) const = default;

  void Apply(const Changes& changes);
  // Returns the first difference from `other`, in words; "" = none.
  [[nodiscard]] std::string DifferenceFrom(const StoreContents& other) const;
};

// Reads everything through Load, ScanPages, ReadPages, FindPage and List. Fails if they disagree.
[[nodiscard]] StatusOr<StoreContents> ReadContents(const Store& store);

// One commit with the records that it points to. Not copied or moved.
struct ScriptedCommit {
  std::deque<PageRecord> records;
  Changes changes;
};

// A fixed sequence of commits: pages are created, changed and removed, leases are opened and
// closed, and everything else is set now and then. The same seed gives the same script. Owner
// thread only.
class Script {
 public:
  Script(uint64_t seed, size_t commits);
  [[nodiscard]] const std::deque<ScriptedCommit>& commits() const { return commits_; }
  // The content after the first `n` commits.
  [[nodiscard]] const StoreContents& After(size_t n) const { return after_[n]; }

 private:
  void Write();
  void AddPage(ScriptedCommit& commit);
  // Adds a page with the URL of a page that the same commit removes.
  void AddAgain(const PageRecord& page, ScriptedCommit& commit);

  RandomRecords random_;
  uint64_t next_index_ = 1;
  std::deque<ScriptedCommit> commits_;
  std::vector<StoreContents> after_;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_STORAGE_STORE_MODEL_H_
