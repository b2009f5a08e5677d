// Parses dates of sitemaps and feeds, in all common forms.
#ifndef FRESHET_TOOLS_SITEMAP_FEED_DATE_H_
#define FRESHET_TOOLS_SITEMAP_FEED_DATE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/units.h"

namespace freshet::sitemap {

// A date is stored as an interval, because many dates name only a day, or no zone. Value type,
// thread-compatible.
struct FeedDate {
  // The first instant of the date if it is in UTC. Dates are compared by this instant, so that a
  // page is not reported as changed if only the form of its date differs.
  Instant told;
  Instant earliest;  // first possible instant: days begin first at +14:00
  Instant latest;    // last possible instant: days end last at -12:00
};

// Parses the forms in docs/sitemaps.md: W3C and ISO 8601 (2024-05-17T08:30:01.5+02:00, with a blank
// for the T, without seconds, without separators, only a month or year), RFC 822 and its successors
// (Fri, 17 May 24 08:30 CEST), asctime, names of months and zones in any case. Ignores a zone that
// is unknown or ambiguous. Accepts the years 1 to 9999. InvalidArgument: the text is not a date;
// the reason contains the text. Thread-safe.
[[nodiscard]] absl::StatusOr<FeedDate> ParseFeedDate(std::string_view text);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_FEED_DATE_H_
