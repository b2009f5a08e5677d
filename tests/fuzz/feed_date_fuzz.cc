// Tests dates in feeds: any text is refused with a reason or gives a date. A date is an interval of
// about a year at most, and lies between the years 0 and 10000.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/base/check.h"
#include "tools/sitemap/feed_date.h"
#include "tools/sitemap/poller.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using freshet::Duration;
  using freshet::Instant;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto date = freshet::sitemap::ParseFeedDate(text);
  if (!date.ok()) {
    CHECK(!date.status().message().empty(), "no reason");
    return 0;
  }
  CHECK(date->earliest <= date->told && date->told <= date->latest, "{} to {}",
        date->earliest.micros(), date->latest.micros());
  CHECK(date->latest - date->earliest <= Duration::Days(368), "longer than a year");
  constexpr int64_t kYear0 = -62'167'219'200;
  constexpr int64_t kYear10001 = 253'433'923'200;
  CHECK(date->earliest >= Instant::FromUnixSeconds(kYear0) &&
            date->latest <= Instant::FromUnixSeconds(kYear10001),
        "{} is of no year that has four digits", date->told.micros());
  const std::string kept =
      freshet::sitemap::PossibleLastModified(std::string(text), Instant::FromUnixSeconds(1 << 30));
  CHECK(kept.empty() || (date->told >= freshet::sitemap::kEarliestDate &&
                         date->told <= Instant::FromUnixSeconds(1 << 30)),
        "{} cannot be true", date->told.micros());
  return 0;
}
