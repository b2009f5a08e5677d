// Parses dates of sitemaps and feeds, in all common forms.
#ifndef FRESHET_TOOLS_SITEMAP_FEED_DATE_H_
#define FRESHET_TOOLS_SITEMAP_FEED_DATE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/units.h"

namespace freshet::sitemap {

// A date is an interval: many name only a day, or no zone. Value type, thread-compatible.
struct FeedDate {
  // Its first instant if the date is in UTC. Dates are compared by this, so that a page in two
  // forms of the same date is not news.
  Instant told;
  Instant earliest;  // first possible instant: days begin first at +14:00
  Instant latest;    // last possible instant: days end last at -12:00
};

// Parses the forms in docs/sitemaps.md: W3C and ISO 8601 (2024-05-17T08:30:01.5+02:00, with a blank
// for the T, without seconds, without separators, only a month or year), RFC 822 and its successors
// (Fri, 17 May 24 08:30 CEST), asctime, names of months and zones in any case. Ignores a zone that
// is unknown or ambiguous. The years 1 to 9999. InvalidArgument with a reason that contains the
// text. Thread-safe.
[[nodiscard]] absl::StatusOr<FeedDate> ParseFeedDate(std::string_view text);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_FEED_DATE_H_
