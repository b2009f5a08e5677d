// What the same crawls would have achieved had they been spread evenly: the rule to beat.
#ifndef FRESHET_TOOLS_DEMO_UNIFORM_H_
#define FRESHET_TOOLS_DEMO_UNIFORM_H_

#include <cstdint>
#include <deque>

#include "tools/demo/ledger.h"
#include "tools/demo/world.h"

namespace freshet::demo {

// Crawls pages in turn at a constant rate, new ones first: every page as often as any other,
// signals ignored. A simulation on the same history; nothing of it reaches a server.
// Thread-compatible.
class UniformSchedule {
 public:
  // Starts at `start_micros` with pages crawled as given, those crawled longest ago first.
  // crawls_per_second: finite, >= 0. The world outlives the schedule.
  UniformSchedule(const World& world, const LastCrawls& last_crawls, int64_t start_micros,
                  double crawls_per_second);

  // Makes the crawls that are due up to that time.
  void AdvanceTo(int64_t now_micros);

  // Its true freshness.
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

 private:
  void Crawl(int64_t now_micros);

  const World* world_;
  Ledger ledger_;
  std::deque<uint32_t> turn_;
  size_t next_event_ = 0;  // of the world
  int64_t start_;
  double crawls_per_micro_;
  uint64_t crawls_ = 0;
};

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_UNIFORM_H_
