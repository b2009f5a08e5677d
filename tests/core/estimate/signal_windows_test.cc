// Tests how single signals are assigned to bursts.
#include "core/estimate/signal_windows.h"

#include <string>
#include <string_view>

#include "core/base/limits.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

constexpr Instant kStart = Instant::FromUnixSeconds(1'700'000'000);
constexpr Duration kWindowDay = Duration::Days(1);

// Assigns a signal in a separate batch.
PlacedSignal Place(SignalWindows& windows, std::string_view host, uint8_t source, uint64_t poll,
                   uint32_t pages, Instant now) {
  SignalWindows::Staged staged;
  const PlacedSignal placed = windows.Place(host, source, poll, pages, now, staged);
  windows.Install(staged);
  return placed;
}

TEST(SignalWindows, PollsShowTheirOwnSize) {
  SignalWindows windows(kWindowDay);
  for (int i = 0; i < 5; ++i) {
    const PlacedSignal placed = Place(windows, "a.test", 2, 77, 40, kStart);
    EXPECT_EQ(placed.source_class, SourceClass(2, BurstClass::kMany));
    EXPECT_EQ(placed.burst, 77u);
  }
}

TEST(SignalWindows, SingleSignalsOfAMassEditAreOneBurst) {
  SignalWindows windows(kWindowDay);
  uint64_t burst = 0;
  for (int i = 1; i <= 500; ++i) {
    const Instant now = kStart + Duration::Seconds(i);
    const PlacedSignal placed = Place(windows, "a.test", 0, 0, 1, now);
    EXPECT_EQ(placed.source_class.burst(), BurstClassOf(static_cast<size_t>(i)));
    if (i < 3) {
      EXPECT_EQ(placed.burst, 0u) << i;
    } else if (i == 3) {
      burst = placed.burst;
      EXPECT_NE(burst, 0u);
    } else {
      EXPECT_EQ(placed.burst, burst) << i;
    }
  }
}

TEST(SignalWindows, HostsSourcesAndHoursAreApart) {
  SignalWindows windows(kWindowDay);
  for (int i = 0; i < 100; ++i) (void)Place(windows, "a.test", 0, 0, 1, kStart);
  EXPECT_EQ(Place(windows, "b.test", 0, 0, 1, kStart).source_class.burst(), BurstClass::kFew);
  EXPECT_EQ(Place(windows, "a.test", 1, 0, 1, kStart).source_class.burst(), BurstClass::kFew);
  const Instant soon = kStart + Duration::Hours(5);
  EXPECT_EQ(Place(windows, "a.test", 0, 0, 1, soon).source_class.burst(), BurstClass::kMass);
  const Instant later = kStart + Duration::Hours(6);
  EXPECT_EQ(Place(windows, "a.test", 0, 9, 1, later).source_class.burst(), BurstClass::kFew);
  EXPECT_EQ(Place(windows, "a.test", 0, 9, 2, later).burst, 9u) << "its own poll, while small";
}

TEST(SignalWindows, ManyHostsAreForgottenNotKept) {
  SignalWindows windows(kWindowDay);
  for (int i = 0; i < 3; ++i) (void)Place(windows, "a.test", 0, 0, 1, kStart);
  for (size_t i = 0; i < limits::kMaxSignalWindows; ++i) {
    (void)Place(windows, "h" + std::to_string(i) + ".test", 0, 0, 1, kStart);
  }
  EXPECT_EQ(Place(windows, "a.test", 0, 0, 1, kStart).source_class.burst(), BurstClass::kFew);
}

TEST(SignalWindows, LeaveNoTraceOfWhatIsDropped) {
  SignalWindows windows(kWindowDay);
  for (int i = 0; i < 5; ++i) {
    SignalWindows::Staged dropped;
    for (size_t k = 1; k <= 20; ++k) {
      EXPECT_EQ(windows.Place("a.test", 0, 0, 1, kStart, dropped).source_class.burst(),
                BurstClassOf(k));
    }
  }
  EXPECT_EQ(Place(windows, "a.test", 0, 0, 1, kStart).source_class.burst(), BurstClass::kFew);
}

}  // namespace
}  // namespace freshet
