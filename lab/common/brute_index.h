// A naive index with the functions of PriceIndex, which scans all pages at every pick. It is slow
// on purpose, and obviously correct.
#ifndef FRESHET_LAB_COMMON_BRUTE_INDEX_H_
#define FRESHET_LAB_COMMON_BRUTE_INDEX_H_

#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/index/index_entry.h"

namespace freshet {

// Has the same functions as PriceIndex. Owner thread only.
class BruteIndex {
 public:
  void Put(PageId page, const IndexEntry& entry);
  void Restart(PageId page, double exponent, Instant since);
  void Remove(PageId page);
  void Suspend(PageId page);
  void Resume(PageId page);
  void SetHostFree(HostId host, Instant free_at);
  void SetHostGroup(HostId host, GroupId group);
  void SetGroupFree(GroupId group, Instant free_at);
  [[nodiscard]] std::optional<IndexPick> Best(Instant at) const;
  [[nodiscard]] std::optional<IndexEntry> Find(PageId page) const;
  [[nodiscard]] double ExponentOf(PageId page, Instant at) const;
  // Precondition: the page is in the index.
  [[nodiscard]] double ValueOf(PageId page, Instant at) const;
  [[nodiscard]] size_t size() const { return size_; }

 private:
  struct Page {
    IndexEntry entry;  // canonical
    ValueParameters value;
    bool in = false;
    bool suspended = false;
  };
  [[nodiscard]] bool Has(PageId page) const;
  [[nodiscard]] bool Free(HostId host, Instant at) const;

  std::vector<Page> pages_;  // by PageId
  absl::flat_hash_map<HostId, Instant> free_at_;
  absl::flat_hash_map<HostId, GroupId> group_of_;
  absl::flat_hash_map<GroupId, Instant> group_free_at_;
  size_t size_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_LAB_COMMON_BRUTE_INDEX_H_
