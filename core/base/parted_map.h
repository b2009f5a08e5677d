// A hash table that grows without long pauses.
#ifndef FRESHET_CORE_BASE_PARTED_MAP_H_
#define FRESHET_CORE_BASE_PARTED_MAP_H_

#include <array>
#include <cstddef>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace freshet {

// Owner thread only. A hash table in 256 parts. A single table with millions of entries would block
// its thread for a second when it grows. The parts grow at different times: keys are spread over
// the parts at random, so the parts differ in size and do not become full at the same moment.
template <typename Key, typename Value>
class PartedMap {
  using Part = absl::flat_hash_map<Key, Value>;

 public:
  [[nodiscard]] size_t size() const { return size_; }
  // Costs one comparison. Find and Erase check it first, and hash the key only if the map is not
  // empty.
  [[nodiscard]] bool empty() const { return size_ == 0; }
  // nullptr = not found. The pointer is valid until the map changes.
  template <typename K>
  [[nodiscard]] const Value* Find(const K& key) const {
    if (empty()) return nullptr;
    const Part& part = parts_[PartOf(key)];
    const auto it = part.find(key);
    return it == part.end() ? nullptr : &it->second;
  }
  template <typename K>
  [[nodiscard]] Value* Find(const K& key) {
    return const_cast<Value*>(std::as_const(*this).Find(key));
  }
  // Adds an entry if the key is new. Returns a pointer to the entry's value, and true if the entry
  // was added.
  std::pair<Value*, bool> Add(const Key& key, const Value& value) {
    const auto [it, added] = parts_[PartOf(key)].try_emplace(key, value);
    if (added) ++size_;
    return {&it->second, added};
  }
  // Adds or replaces an entry. Returns true if the entry was added. Allocates when a part grows.
  // With ten million entries, growth takes a few milliseconds at most.
  bool Set(const Key& key, Value value) {
    const bool added = parts_[PartOf(key)].insert_or_assign(key, std::move(value)).second;
    size_ += added ? 1 : 0;
    return added;
  }
  // Returns true if there was an entry. Releases no memory.
  bool Erase(const Key& key) {
    const bool erased = !empty() && parts_[PartOf(key)].erase(key) > 0;
    size_ -= erased ? 1 : 0;
    return erased;
  }
  // Calls `body` with each key and value of one part.
  template <typename Body>
  void ForEach(size_t part, Body body) const {
    for (const auto& [key, value] : parts_[part]) body(key, value);
  }
  // Erases the entries of one part whose values satisfy `gone`. Returns the number of the next
  // part, which is 0 after the last part.
  template <typename Gone>
  size_t EraseIf(size_t part, Gone gone) {
    size_ -= absl::erase_if(parts_[part], [&](const auto& entry) { return gone(entry.second); });
    return (part + 1) % kParts;
  }

  static constexpr int kPartBits = 8;
  static constexpr size_t kParts = size_t{1} << kPartBits;

 private:
  // The top bits of the hash choose the part. Inside a part, other bits place the key.
  template <typename K>
  static size_t PartOf(const K& key) {
    return typename Part::hasher()(key) >> (8 * sizeof(size_t) - kPartBits);
  }

  std::array<Part, kParts> parts_;
  size_t size_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_PARTED_MAP_H_
