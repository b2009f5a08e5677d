// Dates of sitemaps and feeds, in all forms in which they are met.
#ifndef FRESHET_TOOLS_SITEMAP_FEED_DATE_H_
#define FRESHET_TOOLS_SITEMAP_FEED_DATE_H_

#include <string_view>

#include "absl/status/statusor.h"
#include "core/base/units.h"

namespace freshet::sitemap {

// A date is an interval: many say a day alone, or no zone. Value type, thread-compatible.
struct FeedDate {
  // The first instant of it if it is of UTC. Two dates are compared by this, so that one page is
  // not new for being told of in two forms.
  Instant told;
  Instant earliest;  // that it may mean: a day begins first at +14:00
  Instant latest;    // that it may mean: a day ends last at -12:00
};

// Reads what docs/sitemaps.md lists: W3C and ISO 8601 (2024-05-17T08:30:01.5+02:00, with a
// blank for the T, without seconds, without separators, a month or a year alone), RFC 822 and its
// successors (Fri, 17 May 24 08:30 CEST), asctime, names of months and zones in any case.
// A zone that is not known, or that means several, is as if there were none. The years 1 to 9999.
// InvalidArgument with a reason that carries the text. Thread-safe.
[[nodiscard]] absl::StatusOr<FeedDate> ParseFeedDate(std::string_view text);

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_FEED_DATE_H_
