// A rival of PriceIndex: a heap of pages, ordered by the time at which their value reaches one
// fixed price. It is cheap and widely used, but it finds the page of highest value only if the
// price matches the crawl rate.
#ifndef FRESHET_LAB_BENCH_FIXED_PRICE_HEAP_H_
#define FRESHET_LAB_BENCH_FIXED_PRICE_HEAP_H_

#include <cstdint>
#include <vector>

#include "core/index/index_entry.h"

namespace freshet {

// PageIds count up from zero, in the order of Add. Hosts are ignored. Owner thread only.
class FixedPriceHeap {
 public:
  // Precondition: price > 0.
  explicit FixedPriceHeap(double price);

  // Adds a page. Cost: one inversion of its value.
  void Add(const IndexEntry& entry);
  // Orders the added pages. Must be called once, before the first pick.
  void Build();
  // Returns the page whose value reached, or will reach, the price first. The page counts as
  // crawled at `at`. Precondition: at least one page. Cost: one replacement of the top, O(log n).
  [[nodiscard]] PageId Pick(Instant at);
  // Adds `jump` to the exponent of the page, for a signal. Cost: O(log n).
  void Signal(PageId page, double jump);

  [[nodiscard]] size_t size() const { return pages_.size(); }

 private:
  struct Page {
    float cycle = 0;  // seconds from a crawl until the value reaches the price
    float speed = 0;
    uint32_t place = 0;  // index into heap_
  };
  struct Node {
    double due = 0;  // seconds since the epoch
    uint32_t page = 0;
  };
  void Set(size_t place, Node node);
  void SiftDown(size_t place);
  void SiftUp(size_t place);

  double price_;
  std::vector<Page> pages_;  // by PageId
  std::vector<Node> heap_;   // the earliest is on top; a node has four children
};

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_FIXED_PRICE_HEAP_H_
