#include "tools/cli/host_text.h"

#include <fmt/format.h>

#include "tools/cli/table.h"

namespace freshet::cli {

std::string ShowHost(const v1::HostState& host) {
  std::string text = fmt::format(
      "{}: {} between crawls, {} of a page, {} of {} in flight{}", ShowText(host.host()),
      ShowDuration(host.min_delay()), ShowDuration(host.min_page_interval()), host.in_flight(),
      ShowLimit(host.max_in_flight()), host.customised() ? "" : " (defaults)");
  if (host.has_blocked_until()) text += ", blocked until " + ShowTime(host.blocked_until());
  if (host.throttled_answers() > 0) {
    const std::string last = ShowTime(host.last_throttled_time());
    text +=
        host.throttled_answers() == 1
            ? fmt::format(", answered that it is fetched too often at {}", last)
            : fmt::format(", answered {} times in a row that it is fetched too often, last at {}",
                          host.throttled_answers(), last);
  }
  return text;
}

}  // namespace freshet::cli
