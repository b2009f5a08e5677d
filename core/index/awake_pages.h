// The awake pages by slot. A slot belongs to one page while that page is awake.
#ifndef FRESHET_CORE_INDEX_AWAKE_PAGES_H_
#define FRESHET_CORE_INDEX_AWAKE_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/index/awake_page.h"
#include "core/model/crawl_value.h"

namespace freshet {

// Allocates nothing once the vectors have grown to their final size. Owner thread only.
class AwakePages {
 public:
  // Allocates a slot. Its old contents are not cleared; the caller fills in the page.
  [[nodiscard]] uint32_t Take() {
    if (free_.empty()) {
      pages_.emplace_back();
      value_of_.push_back(0);
      return static_cast<uint32_t>(pages_.size() - 1);
    }
    const uint32_t slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void GiveBack(uint32_t slot) {
    if (pages_[slot].prepared) free_values_.push_back(value_of_[slot]);
    free_.push_back(slot);
  }
  // All slot numbers are below this.
  [[nodiscard]] size_t size() const { return pages_.size(); }
  [[nodiscard]] AwakePage& operator[](uint32_t slot) { return pages_[slot]; }
  [[nodiscard]] const AwakePage& operator[](uint32_t slot) const { return pages_[slot]; }

  // The value parameters of a prepared page. They are lost when the page's slot is freed.
  [[nodiscard]] const ValueParameters& value(uint32_t slot) const {
    return values_[value_of_[slot]];
  }
  void Prepare(uint32_t slot, const ValueParameters& value) {
    pages_[slot].prepared = true;
    if (free_values_.empty()) {
      value_of_[slot] = static_cast<uint32_t>(values_.size());
      values_.push_back(value);
    } else {
      value_of_[slot] = free_values_.back();
      free_values_.pop_back();
      values_[value_of_[slot]] = value;
    }
  }
  // Moves the jet and the value parameters to another slot, whose page has the same value.
  void MoveValue(uint32_t from, uint32_t to) {
    AwakePage& page = pages_[from];
    pages_[to].jet = page.jet;
    pages_[to].since = page.since;
    pages_[to].exact = page.exact;
    pages_[to].prepared = page.prepared;
    value_of_[to] = value_of_[from];
    page.prepared = false;
  }

 private:
  std::vector<AwakePage> pages_;
  std::vector<uint32_t> free_;
  std::vector<ValueParameters> values_;
  std::vector<uint32_t> value_of_;  // by slot, for prepared pages
  std::vector<uint32_t> free_values_;
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_AWAKE_PAGES_H_
