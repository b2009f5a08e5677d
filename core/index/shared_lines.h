// Pages whose values are equal at every instant share one line of the band
// (core/index/awake_band.h), for example pages whose crawls were reported together. The line
// belongs to the page with the smallest id. The other pages wait in a queue behind that page, and
// cost a pick nothing.
#ifndef FRESHET_CORE_INDEX_SHARED_LINES_H_
#define FRESHET_CORE_INDEX_SHARED_LINES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.h"
#include "core/index/awake_pages.h"

namespace freshet {

// Records which slot has the line of each awake page. Owner thread only.
class SharedLines {
 public:
  static constexpr uint32_t kNone = ~uint32_t{0};

  // `pages` must outlive this object.
  explicit SharedLines(const AwakePages& pages) : pages_(pages) { leaders_.fill(kNone); }

  // Registers the slot as one that has a line.
  void Add(uint32_t slot) { leaders_[PlaceOf(pages_[slot])] = slot; }
  // A slot whose line the page might share, because their AwakePages match; kNone = none is known.
  [[nodiscard]] uint32_t LeaderFor(uint32_t slot) const;
  // Makes the page share the line of `leader`. True = `slot` takes over the line. Precondition:
  // both pages have equal values at every instant, and equal turns.
  [[nodiscard]] bool Follow(uint32_t slot, uint32_t leader);
  // Removes the slot. Returns the slot that takes over its line, or kNone if no slot does.
  // nullopt = the slot has no line.
  [[nodiscard]] std::optional<uint32_t> Leave(uint32_t slot);
  // The slot that has the line of the page.
  [[nodiscard]] uint32_t LeaderOf(uint32_t slot) const {
    return QueueOf(slot) == kNone ? slot : queues_[QueueOf(slot)].leader;
  }
  // Returns true if other pages share the line of the slot. Precondition: the slot has a line.
  [[nodiscard]] bool IsFollowed(uint32_t slot) const {
    return QueueOf(slot) != kNone && queues_[QueueOf(slot)].followers > 0;
  }
  // The number of pages without their own line.
  [[nodiscard]] size_t followers() const { return followers_; }

 private:
  // The pages that share a line. A page that has left stays in the heap until it reaches the top.
  struct Queue {
    struct Member {
      PageId page;
      uint32_t slot;
      bool operator<(const Member& other) const { return other.page < page; }
    };
    uint32_t leader = kNone;
    uint32_t followers = 0;
    std::vector<Member> heap;  // the smallest page on top
  };
  [[nodiscard]] uint32_t QueueOf(uint32_t slot) const {
    return slot < queue_of_.size() ? queue_of_[slot] : kNone;
  }
  [[nodiscard]] bool Follows(const Queue::Member& member, uint32_t queue) const {
    return queue_of_[member.slot] == queue && queues_[queue].leader != member.slot &&
           pages_[member.slot].page == member.page;
  }
  // The index in leaders_ for pages with the value of `page`.
  [[nodiscard]] static size_t PlaceOf(const AwakePage& page);
  uint32_t MakeQueue(uint32_t leader);
  void Push(uint32_t queue, uint32_t slot);
  // Removes and returns the first follower; kNone = there is none.
  uint32_t PopFollower(uint32_t queue);

  const AwakePages& pages_;
  std::vector<uint32_t> queue_of_;  // by slot; kNone = it shares no line
  std::vector<Queue> queues_;
  std::vector<uint32_t> free_queues_;
  size_t followers_ = 0;
  std::array<uint32_t, 1024> leaders_;  // the latest slots with lines, hashed by value
};

}  // namespace freshet

#endif  // FRESHET_CORE_INDEX_SHARED_LINES_H_
