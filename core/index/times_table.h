// From when a page may be picked and when it has to be, for the pages of which either is set: few
// as a rule, all of them where every page has a longest interval.
#ifndef FRESHET_CORE_INDEX_TIMES_TABLE_H_
#define FRESHET_CORE_INDEX_TIMES_TABLE_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "core/base/random.h"
#include "core/base/units.h"
#include "core/index/alarm.h"

namespace freshet {

// Owner thread only. A hash table in 256 parts: one part with ten million pages would stop
// everything for a second when it grows. Parts grow one by one, because pages are spread over them
// at random: their sizes differ, and each grows when another page than the others' has come.
class TimesTable {
 public:
  // A table that is empty costs its callers one comparison a page.
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // nullptr: the page has none. Valid until the next change.
  [[nodiscard]] const PageTimes* Find(PageId page) const {
    if (empty()) return nullptr;
    const Part& part = parts_[PartOf(page)];
    const auto it = part.find(page);
    return it == part.end() ? nullptr : &it->second;
  }
  // Adds or replaces. Takes memory when a part grows; the longest that takes is a few milliseconds
  // with ten million pages.
  void Set(PageId page, const PageTimes& times) {
    if (parts_[PartOf(page)].insert_or_assign(page, times).second) ++size_;
  }
  // No-op for a page that has none. Gives no memory back.
  void Erase(PageId page) {
    if (!empty()) size_ -= parts_[PartOf(page)].erase(page);
  }

 private:
  using Part = absl::flat_hash_map<PageId, PageTimes>;
  static constexpr int kPartBits = 8;
  static size_t PartOf(PageId page) { return Random(page.value()).Next() >> (64 - kPartBits); }

  std::array<Part, size_t{1} << kPartBits> parts_;
  size_t size_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_TIMES_TABLE_H_
