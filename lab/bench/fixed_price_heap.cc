#include "lab/bench/fixed_price_heap.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/model/crossing.h"

namespace freshet {
namespace {

constexpr size_t kChildren = 4;

double SecondsOf(Instant at) { return static_cast<double>(at.micros()) * 1e-6; }

}  // namespace

FixedPriceHeap::FixedPriceHeap(double price) : price_(price) { CHECK(price > 0); }

void FixedPriceHeap::Add(const IndexEntry& entry) {
  const ValueParameters value = ValueOf(entry);
  const double target = ExponentReaching(value, price_);
  const auto place = static_cast<uint32_t>(heap_.size());
  Page page;
  page.cycle = static_cast<float>(target / value.speed);
  page.speed = static_cast<float>(value.speed);
  page.place = place;
  pages_.push_back(page);
  const double ahead = (target - entry.exponent) / value.speed;
  heap_.push_back({SecondsOf(entry.since) + ahead, place});
}

void FixedPriceHeap::Build() {
  for (size_t i = heap_.size(); i-- > 0;) SiftDown(i);
}

void FixedPriceHeap::Set(size_t place, Node node) {
  heap_[place] = node;
  pages_[node.page].place = static_cast<uint32_t>(place);
}

void FixedPriceHeap::SiftDown(size_t place) {
  const Node node = heap_[place];
  for (;;) {
    const size_t first = kChildren * place + 1;
    if (first >= heap_.size()) break;
    const size_t end = std::min(first + kChildren, heap_.size());
    size_t least = first;
    for (size_t child = first + 1; child < end; ++child) {
      if (heap_[child].due < heap_[least].due) least = child;
    }
    if (!(heap_[least].due < node.due)) break;
    Set(place, heap_[least]);
    place = least;
  }
  Set(place, node);
}

void FixedPriceHeap::SiftUp(size_t place) {
  const Node node = heap_[place];
  while (place > 0) {
    const size_t parent = (place - 1) / kChildren;
    if (!(node.due < heap_[parent].due)) break;
    Set(place, heap_[parent]);
    place = parent;
  }
  Set(place, node);
}

PageId FixedPriceHeap::Pick(Instant at) {
  CHECK(!heap_.empty());
  const uint32_t page = heap_[0].page;
  heap_[0].due = SecondsOf(at) + static_cast<double>(pages_[page].cycle);
  SiftDown(0);
  return PageId(page);
}

void FixedPriceHeap::Signal(PageId page, double jump) {
  const Page& signalled = pages_[page.value()];
  heap_[signalled.place].due -= jump / static_cast<double>(signalled.speed);
  SiftUp(signalled.place);
}

}  // namespace freshet
