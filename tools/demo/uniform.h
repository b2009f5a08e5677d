// What the same crawls would have achieved had they been spread evenly: the rule to beat.
#ifndef FRESHET_TOOLS_DEMO_UNIFORM_H_
#define FRESHET_TOOLS_DEMO_UNIFORM_H_

#include <cstdint>
#include <deque>

#include "tools/demo/ledger.h"
#include "tools/demo/replayed_history.h"

namespace freshet::demo {

// Crawls pages in turn, new ones first: every page as often as any other, signals ignored. Makes as
// many crawls as it is told. A simulation on the same history; nothing of it reaches a server.
// Thread-compatible.
class UniformSchedule {
 public:
  // Starts at `start_micros` with pages crawled as given, those crawled longest ago first. The
  // history outlives the schedule.
  UniformSchedule(const ReplayedHistory& replayed, const LastCrawls& last_crawls,
                  int64_t start_micros);

  // Makes `crawls` crawls at equal distances from the time advanced to before to this one.
  void AdvanceTo(int64_t now_micros, uint64_t crawls);

  // Its true freshness.
  [[nodiscard]] const Ledger& ledger() const { return ledger_; }

 private:
  void Crawl(int64_t now_micros);

  const ReplayedHistory* replayed_;
  Ledger ledger_;
  std::deque<uint32_t> turn_;
  size_t next_event_ = 0;  // of the history
};

}  // namespace freshet::demo

#endif  // FRESHET_TOOLS_DEMO_UNIFORM_H_
