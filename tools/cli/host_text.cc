#include "tools/cli/host_text.h"

#include <fmt/format.h>

#include <utility>

#include "absl/strings/str_replace.h"
#include "tools/cli/table.h"

namespace freshet::cli {

namespace {

std::string ShowOrigin(const v1::HostState& host, v1::TermOrigin origin) {
  switch (origin) {
    case v1::TERM_ORIGIN_DEFAULT:
      return "default";
    case v1::TERM_ORIGIN_CRAWL_ID:
      return "set for crawl ids";
    case v1::TERM_ORIGIN_RULE:
      return fmt::format("rule {}", ShowText(host.rule()));
    case v1::TERM_ORIGIN_HOST:
      return "set for the host";
    case v1::TERM_ORIGIN_REPORTED:
      return "its robots.txt";
    default:
      return "";
  }
}

struct Term {
  const char* name;
  std::string value;
  v1::TermOrigin origin;
};

// Returns one line for each setting, with its name, value and origin. Empty if all settings are the
// server's defaults.
std::string ShowOrigins(const v1::HostState& host) {
  const bool capped = host.max_crawls().count() > 0;
  const bool always = host.hours().empty() || host.hours() == "00:00-24:00";
  const Term terms[] = {{"between crawls", ShowDuration(host.min_delay()), host.min_delay_origin()},
                        {"between crawls of a page", ShowDuration(host.min_page_interval()),
                         host.min_page_interval_origin()},
                        {"in flight", ShowLimit(host.max_in_flight()), host.max_in_flight_origin()},
                        {"maximum of crawls",
                         capped ? fmt::format("{} in {}", ShowCount(host.max_crawls().count()),
                                              ShowDuration(host.max_crawls().per()))
                                : "none",
                         host.max_crawls_origin()},
                        {"hours", always ? "always" : ShowText(host.hours()), host.hours_origin()}};
  std::string text;
  bool any = false;
  for (const Term& term : terms) {
    if (term.origin == v1::TERM_ORIGIN_UNSPECIFIED) continue;
    any = any || term.origin != v1::TERM_ORIGIN_DEFAULT;
    text += fmt::format("\n  {:<26}{:<18}{}", term.name, term.value, ShowOrigin(host, term.origin));
  }
  return any ? text : "";
}

bool AllDefaults(const v1::HostState& host) {
  return !host.customised() && ShowOrigins(host).empty();
}

// Lines for properties that only some hosts have.
std::string ShowMore(const v1::HostState& host) {
  std::string text;
  if (host.max_crawls().count() > 0) {
    text +=
        fmt::format(", {} of at most {} crawls in {}", ShowCount(host.crawls_counted()),
                    ShowCount(host.max_crawls().count()), ShowDuration(host.max_crawls().per()));
  }
  if (!host.hours().empty() && host.hours() != "00:00-24:00") {
    text += ", within the hours " + ShowText(host.hours());
  }
  text += ShowOrigins(host);
  if (host.has_group()) {
    text += fmt::format("\ngroup {}: {} between crawls, {} in flight",
                        ShowText(host.group().name()), ShowDuration(host.group().min_delay()),
                        ShowLimit(host.group().max_in_flight()));
  }
  if (host.has_crawl_delay()) text += "\ncrawl-delay reported: " + ShowDuration(host.crawl_delay());
  if (!host.server_address().empty()) {
    text += "\naddress reported: " + ShowText(host.server_address());
  }
  return text;
}

}  // namespace

std::string ShowHost(const v1::HostState& host, size_t indent) {
  std::string text = fmt::format(
      "{}: {} between crawls, {} between crawls of a page, {} of {} in flight{}",
      ShowText(host.host()), ShowDuration(host.min_delay()), ShowDuration(host.min_page_interval()),
      host.in_flight(), ShowLimit(host.max_in_flight()), AllDefaults(host) ? " (defaults)" : "");
  if (host.has_blocked_until()) text += ", blocked until " + ShowTime(host.blocked_until());
  if (host.throttled_answers() > 0) {
    const std::string last = ShowTime(host.last_throttled_time());
    text += host.throttled_answers() == 1
                ? fmt::format(", said at {} that it is fetched too often", last)
                : fmt::format(
                      ", said {} times in a row that it is fetched too often, the last time at {}",
                      host.throttled_answers(), last);
  }
  text += ShowMore(host);
  return absl::StrReplaceAll(text, {{"\n", "\n" + std::string(indent, ' ')}});
}

}  // namespace freshet::cli
