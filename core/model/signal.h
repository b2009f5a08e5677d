// Signal sources and their burst classes. The weight of a signal depends on how many pages of the
// site its poll names (docs/model.md, "The default estimator"). Every (source, burst class) pair
// therefore counts as a separate source.
#ifndef FRESHET_CORE_MODEL_SIGNAL_H_
#define FRESHET_CORE_MODEL_SIGNAL_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/check.h"
#include "core/base/id_limits.h"

namespace freshet {

// The number of pages of one site that one poll signalled.
enum class BurstClass : uint8_t { kFew = 0, kSeveral = 1, kMany = 2, kMass = 3 };

// The classes are 1-2, 3-9, 10-99, and 100 and more pages. Precondition: pages >= 1.
[[nodiscard]] constexpr BurstClass BurstClassOf(size_t pages) {
  if (pages < 3) return BurstClass::kFew;
  if (pages < 10) return BurstClass::kSeveral;
  if (pages < 100) return BurstClass::kMany;
  return BurstClass::kMass;
}

// A (source, burst class) pair as one byte: the source index times limits::kBurstClasses, plus the
// class. Value type, thread-compatible.
class SourceClass {
 public:
  constexpr SourceClass() = default;
  constexpr explicit SourceClass(uint8_t packed) : packed_(packed) {}
  constexpr SourceClass(uint8_t source, BurstClass burst)
      : packed_(static_cast<uint8_t>(source * limits::kBurstClasses + static_cast<int>(burst))) {}
  [[nodiscard]] constexpr uint8_t packed() const { return packed_; }
  [[nodiscard]] constexpr uint8_t source() const { return packed_ / limits::kBurstClasses; }
  [[nodiscard]] constexpr BurstClass burst() const {
    return static_cast<BurstClass>(packed_ % limits::kBurstClasses);
  }
  constexpr auto operator<=>(const SourceClass&) const = default;

 private:
  uint8_t packed_ = 0;
};

inline constexpr int kSourceClasses = limits::kMaxSources * limits::kBurstClasses;

// Counts of signals by source class, in bounded space: six pairs, whose counts saturate at 255.
// When all pairs are used, a signal of a new pair counts under another pair of its source. If its
// source has no pair, two pairs of some other source are merged to make room. The counts of up to
// six sources therefore stay separate. In practice no page has signals of a seventh source. If a
// page does, only the total count is right. Value type, thread-compatible.
class SignalCounts {
 public:
  static constexpr int kCapacity = 6;
  struct Entry {
    SourceClass source_class;
    uint8_t count = 0;
    bool operator==(const Entry&) const = default;
  };

  void Add(SourceClass source_class) {
    for (Entry& entry : entries_) {
      if (entry.count == 0) entry.source_class = source_class;
      if (entry.source_class == source_class) return Count(1, entry);
    }
    AddToFull(source_class);
  }
  // Removes one signal of this source class. If there is none, removes a signal of another class of
  // the same source, if there is one.
  void Subtract(SourceClass source_class);
  [[nodiscard]] int Total() const {
    int total = 0;
    for (const Entry& entry : entries_) total += entry.count;
    return total;
  }
  [[nodiscard]] bool empty() const { return entries_[0].count == 0; }
  // The number of used entries.
  [[nodiscard]] int used() const {
    int used = 0;
    for (const Entry& entry : entries_) used += entry.count > 0;
    return used;
  }
  // Used entries come first; the rest have count zero.
  [[nodiscard]] const std::array<Entry, kCapacity>& entries() const { return entries_; }
  void set_entries(const std::array<Entry, kCapacity>& entries) { entries_ = entries; }
  bool operator==(const SignalCounts&) const = default;

 private:
  static void Count(int signals, Entry& entry) {
    entry.count = static_cast<uint8_t>(std::min(255, entry.count + signals));
  }
  void AddToFull(SourceClass source_class);

  std::array<Entry, kCapacity> entries_{};
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_SIGNAL_H_
