// A world for a fleet: pages of hosts of very different size, importance and change, and what
// happens to them, the same whoever crawls them.
#ifndef FRESHET_TOOLS_SIM_FLEET_WORLD_H_
#define FRESHET_TOOLS_SIM_FLEET_WORLD_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "core/base/units.h"
#include "core/schedule/event.h"

namespace freshet {

// Value type, thread-compatible.
struct FleetWorldOptions {
  size_t pages = 200'000;
  size_t hosts = 4000;
  // The host of rank k has pages in proportion to k^-skew.
  double skew = 0.9;
  uint64_t seed = 1;
};

// Pages and their rates. Thread-compatible; constant.
//
// A host has a mean importance and a mean change rate, each log-normal over four orders of
// magnitude, and so have pages around those of their host. Half of the hosts signal, each with a
// recall and a share of false signals of its own.
class FleetWorld {
 public:
  struct Page {
    uint32_t host = 0;
    double importance = 0;
    double change_rate = 0;  // per second, as is:
    double false_rate = 0;   // of signals
    double recall = 0;
  };

  // Precondition: 1 <= hosts <= pages.
  explicit FleetWorld(const FleetWorldOptions& options);

  [[nodiscard]] const std::vector<Page>& pages() const { return pages_; }
  [[nodiscard]] double importance() const { return importance_; }  // of all
  [[nodiscard]] static std::string HostName(uint32_t host);
  [[nodiscard]] PageKey KeyOf(size_t page) const;
  // The page of that key. Precondition: it is one of this world.
  [[nodiscard]] static size_t PageOf(const PageKey& key);
  // Adds it as fresh at `now`; its change rate is told, or is to be learned.
  [[nodiscard]] UpsertPage Added(size_t page, bool told, Instant now) const;

 private:
  std::vector<Page> pages_;
  double importance_ = 0;
};

// What happens in the world, and how fresh copies are. Owner thread only; times are seconds from
// the begin, and do not step back.
class FleetTruth {
 public:
  FleetTruth(const FleetWorld& world, uint64_t seed);

  // When something happens next.
  [[nodiscard]] double next() const { return events_.top().at; }
  // Lets that happen; `signal` is told where a signal is sent of it.
  void Happen(const std::function<void(size_t page)>& signal);
  // Whether the page had changed since its last crawl. It is fresh again.
  bool Crawl(size_t page, double now);
  // The share of time up to `now`, weighted by importance, in which copies were fresh.
  [[nodiscard]] double Freshness(double now) const;

 private:
  struct Happening {
    double at = 0;
    uint32_t page = 0;
    bool change = false;
    bool operator>(const Happening& other) const { return at > other.at; }
  };
  struct Copy {
    Random random{0};
    bool fresh = true;
    double stale_since = 0;
  };
  void Push(uint32_t page, bool change, double now);

  const FleetWorld& world_;
  std::vector<Copy> copies_;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> events_;
  double stale_ = 0;  // importance x seconds of copies that are fresh again
};

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_FLEET_WORLD_H_
