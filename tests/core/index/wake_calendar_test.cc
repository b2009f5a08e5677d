// A calendar against a list of what was filed: nothing may come late, and nothing is lost.
#include "core/index/wake_calendar.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/base/random.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr double kSlowLow = 1;
constexpr double kSlowHigh = 4;

class CalendarModel {
 public:
  explicit CalendarModel(uint64_t seed)
      : random_(seed), calendar_(kSlowLow, kSlowHigh, 2 * kSlowHigh, 128, 5) {}

  void Step() {
    const uint64_t what = random_.Below(100);
    if (what < 60) {
      File(random_.Below(10) == 0 ? 30 * random_.Uniform() : 4 * random_.Uniform());
    } else if (what < 90) {
      now_ += random_.Below(20) == 0 ? 20 * random_.Uniform() : 0.1 * random_.Uniform();
    } else if (what < 94) {
      const double d = random_.Uniform();
      calendar_.ClaimFell(d, now_);
      for (auto& [page, at] : due_) at -= kSlowHigh * d;
    } else if (what < 98) {
      const double d = random_.Uniform();
      calendar_.ClaimRose(d, now_);
      for (auto& [page, at] : due_) at += kSlowLow * d;
    } else {
      size_t fetched = 0;
      std::vector<WakeEntry> room;
      const auto fetch = [&fetched](PageId) { ++fetched; };
      calendar_.SweepNext(chunks_, &room, fetch, [&](const WakeEntry& entry) {
        EXPECT_EQ(fetched, room.size());
        if (entry.page.value() % 5 != 0) return true;
        EXPECT_EQ(due_.erase(entry.page.value()), 1U);
        return false;
      });
    }
    Open();
    for (const auto& [page, at] : due_) EXPECT_GT(at, now_) << "page " << page << " comes late";
    EXPECT_EQ(calendar_.entries(), due_.size());
    EXPECT_EQ(chunks_.entries(), due_.size());
  }
  [[nodiscard]] bool early() const { return early_; }

 private:
  void File(double ahead) {
    const PageId page(next_page_++);
    const auto tag = static_cast<uint8_t>(page.value() % 8);
    if (calendar_.File(chunks_, page, tag, now_ + ahead, now_)) due_[page.value()] = now_ + ahead;
  }
  void Open() {
    while (now_ >= calendar_.next_open()) {
      std::vector<WakeEntry> opened;
      const double due_at = calendar_.Open(chunks_, now_, &opened);
      if (std::isinf(due_at)) break;
      for (const WakeEntry& entry : opened) {
        EXPECT_EQ(entry.tag(), entry.page.value() % 8);
        const auto it = due_.find(entry.page.value());
        ASSERT_NE(it, due_.end()) << "page " << entry.page.value() << " comes twice";
        EXPECT_LE(due_at, std::max(it->second, now_) + 1e-9);
        early_ = early_ || it->second > now_;
        due_.erase(it);
      }
    }
  }

  Random random_;
  WakeChunks chunks_;
  WakeCalendar calendar_;
  std::map<uint32_t, double> due_;
  double now_ = 5;
  uint32_t next_page_ = 0;
  bool early_ = false;
};

TEST(WakeCalendar, NothingComesLate) {
  bool early = false;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    CalendarModel model(seed);
    for (int i = 0; i < 2000 && !testing::Test::HasFailure(); ++i) model.Step();
    early = early || model.early();
  }
  EXPECT_TRUE(early) << "no entry was handed out ahead of time";
}

}  // namespace
}  // namespace freshet
