// Tests a wheel by comparison with a list of filed pages: no page wakes late, and none is lost.
#include "core/index/wake_wheel.h"

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

// A wheel and a list of its pages. Opens buckets as soon as possible; with `late`, only when it
// must.
class WheelModel {
 public:
  WheelModel(uint64_t seed, bool late)
      : random_(seed), wheel_(kSlowLow, kSlowHigh, 2 * kSlowHigh, 128, 5), late_(late) {}

  // Files several hundred pages with times close together.
  void Crowd() {
    const double ahead = 3 * random_.Uniform();
    for (uint64_t left = random_.Below(1200); left > 0; --left) {
      File(ahead + 0.5 * random_.Uniform());
    }
  }
  void Step() {
    const uint64_t what = random_.Below(100);
    if (what < 60) {
      File(random_.Below(10) == 0 ? 30 * random_.Uniform() : 4 * random_.Uniform());
    } else if (what < 90) {
      now_ += random_.Below(20) == 0 ? 20 * random_.Uniform() : 0.1 * random_.Uniform();
    } else if (what < 94) {
      const double d = random_.Uniform();
      wheel_.ThresholdFell(d, now_);
      for (auto& [page, at] : due_) at -= kSlowHigh * d;
    } else if (what < 98) {
      const double d = random_.Uniform();
      wheel_.ThresholdRose(d, now_);
      for (auto& [page, at] : due_) at += kSlowLow * d;
    } else {
      size_t fetched = 0;
      std::vector<WakeEntry> room;
      const auto fetch = [&fetched](PageId) { ++fetched; };
      wheel_.SweepNext(chunks_, &room, fetch, [&](const WakeEntry& entry) {
        EXPECT_EQ(fetched, room.size());
        if (entry.page.value() % 5 != 0) return true;
        EXPECT_EQ(due_.erase(entry.page.value()), 1U);
        return false;
      });
    }
    Open();
    for (const auto& [page, at] : due_) {
      EXPECT_GT(at, now_) << "page " << page << " comes late";
      EXPECT_GE(at, wheel_.next_due() - 1e-9) << "page " << page;
    }
    EXPECT_EQ(wheel_.entries(), due_.size());
    EXPECT_EQ(chunks_.entries(), due_.size());
  }
  [[nodiscard]] bool early() const { return early_; }

 private:
  void File(double ahead) {
    const PageId page(next_page_++);
    const auto tag = static_cast<uint8_t>(page.value() % 8);
    if (wheel_.File(chunks_, page, tag, now_ + ahead, now_)) due_[page.value()] = now_ + ahead;
  }
  void Open() {
    EXPECT_LE(wheel_.next_open(), wheel_.next_due());
    while (now_ >= (late_ ? wheel_.next_due() : wheel_.next_open())) {
      std::vector<WakeEntry> opened;
      const double due_at = wheel_.Open(chunks_, now_, &opened);
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
  WakeWheel wheel_;
  std::map<uint32_t, double> due_;
  double now_ = 5;
  uint32_t next_page_ = 0;
  bool late_;
  bool early_ = false;
};

TEST(WakeWheel, NothingComesLate) {
  bool early = false;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    WheelModel model(seed, seed % 2 == 0);
    for (int i = 0; i < 2000 && !testing::Test::HasFailure(); ++i) model.Step();
    early = early || model.early();
  }
  EXPECT_TRUE(early) << "no entry was handed out ahead of time";
}

TEST(WakeWheel, NothingComesLateOfACrowd) {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    WheelModel model(seed, seed % 2 == 0);
    for (int i = 0; i < 400 && !testing::Test::HasFailure(); ++i) {
      if (i % 20 == 0) model.Crowd();
      model.Step();
    }
  }
}

}  // namespace
}  // namespace freshet
