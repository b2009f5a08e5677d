// The real pages and their history on the wall clock. Crawls find the pages in this state.
#ifndef FRESHET_LAB_DEMO_REPLAYED_HISTORY_H_
#define FRESHET_LAB_DEMO_REPLAYED_HISTORY_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lab/common/history.h"
#include "lab/demo/timeline.h"

namespace freshet::demo {

// One page. Value type, thread-compatible.
struct ReplayedPage {
  std::string url;
  double importance = 1;
  int64_t born_micros = 0;              // wall time; never before the start
  std::vector<int64_t> changes_micros;  // wall times of content changes after the start, ascending
};

// The kinds of events. Events of a page at the same time have this order.
enum class ReplayedEventKind : uint8_t { kBirth, kChange, kMinorTouch };

// Value type, thread-compatible.
struct ReplayedEvent {
  int64_t time_micros = 0;
  ReplayedEventKind kind = ReplayedEventKind::kBirth;
  uint32_t page = 0;      // position in ReplayedHistory::pages()
  bool announced = true;  // a poll of the sitemap can find it
};

// A history on the wall clock. Constant after construction, so any thread may read it.
// Thread-compatible.
class ReplayedHistory {
 public:
  // Pages that were first seen after the end, and events before the start, are left out. Pages that
  // exist at the start are born then. The timeline must be fixed on the wall clock. A share
  // `recall` of the changes is announced: the same changes as in freshet-sim replay with its first
  // seed. All births and minor touches are announced.
  ReplayedHistory(const std::vector<HistoryPage>& history, const Timeline& timeline,
                  double recall = 1);

  [[nodiscard]] const Timeline& timeline() const { return timeline_; }
  [[nodiscard]] const std::vector<ReplayedPage>& pages() const { return pages_; }
  // All events after the start, by time.
  [[nodiscard]] const std::vector<ReplayedEvent>& events() const { return events_; }
  // Returns the position of the page with that URL; nullopt = none. Also finds pages by the
  // server's canonical URL, which can differ in escapes or the case of the host.
  [[nodiscard]] std::optional<uint32_t> Find(std::string_view url) const;

  // Whether the content of the page changed in the wall time (after, until].
  [[nodiscard]] bool ChangedWithin(uint32_t page, int64_t after_micros, int64_t until_micros) const;

 private:
  Timeline timeline_;
  std::vector<ReplayedPage> pages_;
  std::vector<ReplayedEvent> events_;
  std::unordered_map<std::string_view, uint32_t> page_of_url_;  // views into pages_
  std::unordered_map<std::string, uint32_t> page_of_plain_url_;
};

}  // namespace freshet::demo

#endif  // FRESHET_LAB_DEMO_REPLAYED_HISTORY_H_
