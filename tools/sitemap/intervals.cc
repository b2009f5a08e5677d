#include "tools/sitemap/intervals.h"

#include <algorithm>
#include <cstdint>

namespace freshet::sitemap {

Duration NextInterval(const IntervalRule& rule, Duration interval, bool changed) {
  if (interval == Duration()) {
    interval = rule.first;
  } else {
    const int64_t half = interval.micros() / 2;
    interval = Duration::Micros(changed ? half : interval.micros() + half);
  }
  return std::clamp(interval, rule.least, rule.most);
}

Instant NextPoll(Instant now, Duration interval, std::string_view url) {
  // A hash (FNV-1a) of what differs between documents and between polls.
  uint64_t hash = 0xcbf29ce484222325 ^ static_cast<uint64_t>(now.micros());
  for (const char c : url) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  const double unit = static_cast<double>(hash >> 11) * 0x1p-53;
  return now + Duration::FromSeconds(interval.seconds() * (0.9 + 0.2 * unit));
}

}  // namespace freshet::sitemap
