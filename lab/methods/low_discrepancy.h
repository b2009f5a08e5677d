// Executes a rate plan at a constant total rate: chooses a page for each slot, so that no page is
// ever more than one crawl ahead of its rate or behind it. Algorithm 3 of Azar, Horvitz, Lubetzky,
// Peres and Shahaf ("Tractable near-optimal policies for crawling", PNAS 2018), after Tijdeman's
// solution of the chairman assignment problem.
#ifndef FRESHET_LAB_METHODS_LOW_DISCREPANCY_H_
#define FRESHET_LAB_METHODS_LOW_DISCREPANCY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/status.h"

namespace freshet {

// Slots have length 1/R and are numbered from 1. Page i with rate rho_i has jobs k = 1, 2, ...: job
// k is released at (k-1) R/rho_i slots and due at k R/rho_i. Each slot goes to the released,
// unfinished job that is due first, and at equal times to the smaller page index.
//
// Invariant, as long as sum rho <= R: after j slots since the last change of rates, page i has been
// crawled x_i times with |x_i - j rho_i/R| < 1 (to rounding). The page cannot be ahead, since a job
// is not released early. Nor can it be behind, since the fluid schedule meets every due time and
// earliest-due-first is optimal for unit jobs on one machine. If sum rho < R, some slots are idle.
//
// Thread-compatible. Memory: 40 bytes a page; a slot costs O(log pages).
class LowDiscrepancySchedule {
 public:
  // Creates a schedule. InvalidArgument unless crawl_rate is finite and > 0, every rate is finite
  // and >= 0, the sum is at most crawl_rate (to 1e-9), and there are fewer than 2^32 pages. A page
  // of rate 0 is never crawled.
  static StatusOr<LowDiscrepancySchedule> Create(std::span<const double> rates, double crawl_rate);

  // Returns the page to crawl in the next slot; nullopt = the slot stays idle.
  [[nodiscard]] std::optional<size_t> Next();

  // Sets new rates for the same pages. Each page keeps its relative place between two crawls:
  // halfway through its old interval means halfway through the new one. A page that had rate 0
  // starts a new interval. Errors: those of Create; nothing was changed then. Cost: O(pages).
  [[nodiscard]] Status Replan(std::span<const double> rates, double crawl_rate);

  // Returns the number of slots so far, including idle ones.
  [[nodiscard]] uint64_t slots() const { return slots_; }

 private:
  // Times are in slots. Job `job` is released at origin + (job - 1) interval: a multiple, so that
  // rounding does not add up over the jobs.
  struct Page {
    double origin = 0;
    double interval = 0;  // 0 = never crawled
    uint64_t job = 1;
    [[nodiscard]] double release() const {
      return origin + static_cast<double>(job - 1) * interval;
    }
    [[nodiscard]] double due() const { return origin + static_cast<double>(job) * interval; }
  };
  // A place in a heap; the smallest time comes first, then the smallest page.
  struct Entry {
    double time;
    uint32_t page;
    bool operator>(const Entry& other) const {
      return time != other.time ? time > other.time : page > other.page;
    }
  };

  static Status Validate(std::span<const double> rates, double crawl_rate);
  void Fill();

  std::vector<Page> pages_;
  std::vector<Entry> waiting_;  // heap by release
  std::vector<Entry> ready_;    // heap by due time
  uint64_t slots_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_LAB_METHODS_LOW_DISCREPANCY_H_
