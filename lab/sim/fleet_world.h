// A world for a fleet: the pages of hosts of very different size, importance and change rate. Their
// events are the same for every crawler.
#ifndef FRESHET_LAB_SIM_FLEET_WORLD_H_
#define FRESHET_LAB_SIM_FLEET_WORLD_H_

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
  // The number of pages of the k-th largest host is proportional to k^-skew.
  double skew = 0.9;
  uint64_t seed = 1;
};

// Pages and their rates. Constant after construction; thread-compatible.
//
// Each host has a mean importance and a mean change rate, both log-normal over four orders of
// magnitude. Its pages are log-normal around these. Half of the hosts signal, each with a different
// recall and share of false signals.
class FleetWorld {
 public:
  struct Page {
    uint32_t host = 0;
    double importance = 0;
    double change_rate = 0;  // per second
    double false_rate = 0;   // false signals per second
    double recall = 0;
  };

  // Precondition: 1 <= hosts <= pages.
  explicit FleetWorld(const FleetWorldOptions& options);

  [[nodiscard]] const std::vector<Page>& pages() const { return pages_; }
  [[nodiscard]] double importance() const { return importance_; }  // of all pages
  [[nodiscard]] static std::string HostName(uint32_t host);
  [[nodiscard]] PageKey KeyOf(size_t page) const;
  // Returns the page with this key. Precondition: it belongs to this world.
  [[nodiscard]] static size_t PageOf(const PageKey& key);
  // Makes the event that adds the page at `now`, as a fresh page. If `told`, the event has the
  // change rate; otherwise the crawler must learn it.
  [[nodiscard]] UpsertPage Added(size_t page, bool told, Instant now) const;

 private:
  std::vector<Page> pages_;
  double importance_ = 0;
};

// The events of the world, and the freshness of copies. Times are seconds from the beginning, and
// do not step back. Owner thread only.
class FleetTruth {
 public:
  FleetTruth(const FleetWorld& world, uint64_t seed);

  // The time of the next event.
  [[nodiscard]] double next() const { return events_.top().at; }
  // Plays the next event. Calls `signal` if the event sends a signal.
  void Happen(const std::function<void(size_t page)>& signal);
  // Crawls the page, which is fresh afterwards. Returns true if it had changed since the previous
  // crawl.
  bool Crawl(size_t page, double now);
  // Returns the share of the time up to `now` in which copies were fresh, weighted by importance.
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
  double stale_ = 0;  // importance x seconds, over stale times that have ended
};

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_FLEET_WORLD_H_
