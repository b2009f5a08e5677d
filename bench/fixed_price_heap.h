// A rival to measure PriceIndex against: pages in a heap by the instant at which their value
// reaches one fixed price. Cheap and widely used, and not an argmax: when the price that the rate
// allows is another one, the page that it picks is not the one of highest value.
#ifndef FRESHET_BENCH_FIXED_PRICE_HEAP_H_
#define FRESHET_BENCH_FIXED_PRICE_HEAP_H_

#include <cstdint>
#include <vector>

#include "core/index/index_entry.h"

namespace freshet {

// Owner thread only. PageIds are dense from zero, in the order of Add. Knows no hosts.
class FixedPriceHeap {
 public:
  // Precondition: price > 0.
  explicit FixedPriceHeap(double price);

  // Adds a page; one inversion of its value.
  void Add(const IndexEntry& entry);
  // Orders what was added; call once, before the first pick.
  void Build();
  // The page whose value reached, or will reach, the price first; it counts as crawled at `at`.
  // Precondition: at least one page. Cost: one replacement of the top, O(log n).
  [[nodiscard]] PageId Pick(Instant at);
  // A signal adds `jump` to the exponent of the page. Cost: O(log n).
  void Signal(PageId page, double jump);

  [[nodiscard]] size_t size() const { return pages_.size(); }

 private:
  struct Page {
    float cycle = 0;  // seconds from a crawl to the price
    float speed = 0;
    uint32_t place = 0;  // in heap_
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
  std::vector<Node> heap_;   // the earliest on top, four children a node
};

}  // namespace freshet

#endif  // FRESHET_BENCH_FIXED_PRICE_HEAP_H_
