#include "core/index/shared_lines.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/base/check.h"

namespace freshet {

size_t SharedLines::PlaceOf(const AwakePage& page) {
  static_assert(std::tuple_size_v<decltype(leaders_)> == size_t{1} << (64 - 54));
  const uint64_t rates =
      uint64_t{std::bit_cast<uint32_t>(page.importance)} << 32 | std::bit_cast<uint32_t>(page.rate);
  const uint64_t mixed = (static_cast<uint64_t>(page.turn) ^ rates) * 0x9E3779B97F4A7C15u;
  return mixed >> 54;
}

uint32_t SharedLines::LeaderFor(uint32_t slot) const {
  const AwakePage& page = pages_[slot];
  const uint32_t leader = leaders_[PlaceOf(page)];
  if (leader == kNone) return kNone;
  DCHECK(leader != slot && LeaderOf(leader) == leader);
  const AwakePage& first = pages_[leader];
  const bool alike = first.turn == page.turn && first.importance == page.importance &&
                     first.rate == page.rate && first.running == page.running &&
                     first.plain == page.plain;
  return alike ? leader : kNone;
}

uint32_t SharedLines::MakeQueue(uint32_t leader) {
  uint32_t queue = 0;
  if (free_queues_.empty()) {
    queue = static_cast<uint32_t>(queues_.size());
    queues_.emplace_back();
  } else {
    queue = free_queues_.back();
    free_queues_.pop_back();
  }
  DCHECK(queues_[queue].followers == 0);
  queues_[queue].leader = leader;
  queue_of_[leader] = queue;
  return queue;
}

void SharedLines::Push(uint32_t queue, uint32_t slot) {
  Queue& shared = queues_[queue];
  DCHECK(shared.leader != slot && shared.leader != kNone);
  queue_of_[slot] = queue;
  if (shared.heap.size() > 2 * size_t{shared.followers} + 64) {
    std::erase_if(shared.heap, [&](const auto& member) { return !Follows(member, queue); });
    std::make_heap(shared.heap.begin(), shared.heap.end());
  }
  shared.heap.push_back({pages_[slot].page, slot});
  std::push_heap(shared.heap.begin(), shared.heap.end());
  ++shared.followers;
  ++followers_;
}

bool SharedLines::Follow(uint32_t slot, uint32_t leader) {
  if (queue_of_.size() < pages_.size()) queue_of_.resize(pages_.size(), kNone);
  const uint32_t queue = queue_of_[leader] != kNone ? queue_of_[leader] : MakeQueue(leader);
  if (pages_[leader].page < pages_[slot].page) {
    Push(queue, slot);
    return false;
  }
  queue_of_[slot] = queue;
  queues_[queue].leader = slot;
  Push(queue, leader);
  Add(slot);
  return true;
}

uint32_t SharedLines::PopFollower(uint32_t queue) {
  Queue& shared = queues_[queue];
  while (shared.followers > 0) {
    std::pop_heap(shared.heap.begin(), shared.heap.end());
    const Queue::Member member = shared.heap.back();
    shared.heap.pop_back();
    if (Follows(member, queue)) return member.slot;
  }
  return kNone;
}

std::optional<uint32_t> SharedLines::Leave(uint32_t slot) {
  uint32_t next = kNone;
  bool led = true;
  if (const uint32_t queue = QueueOf(slot); queue != kNone) {
    queue_of_[slot] = kNone;
    Queue& shared = queues_[queue];
    led = shared.leader == slot;
    if (led) {
      next = PopFollower(queue);
      shared.leader = next;
    }
    if (!led || next != kNone) {
      --shared.followers;
      --followers_;
    }
    if (shared.followers == 0) {
      shared.heap.clear();
      if (shared.leader != kNone) queue_of_[shared.leader] = kNone;
      shared.leader = kNone;
      free_queues_.push_back(queue);
    }
  }
  if (!led) return std::nullopt;
  DCHECK(next == kNone || LeaderOf(next) == next);
  uint32_t& known = leaders_[PlaceOf(pages_[slot])];
  if (next != kNone || known == slot) known = next;
  return next;
}

}  // namespace freshet
