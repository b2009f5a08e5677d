// The error messages for wrong values. All programs use the same form: "'0' is not a number above
// 0". The caller prepends the name of the flag, key or field.
//
// All functions are thread-safe.
#ifndef FRESHET_CORE_BASE_WRONG_VALUE_H_
#define FRESHET_CORE_BASE_WRONG_VALUE_H_

#include <string>
#include <string_view>
#include <vector>

namespace freshet {

// Descriptions of allowed values that several programs share.
inline constexpr std::string_view kDurationWords =
    "a duration: a number with us, ms, s, m, h or d, such as 90s or 6h; without a unit in seconds";
inline constexpr std::string_view kCrawlCapWords =
    "a number of crawls in a span of time, such as 1000/1d, or 0 for no maximum";

// The value as one line in quotes. A long value is cut.
[[nodiscard]] std::string Quoted(std::string_view value);

// Returns "'VALUE' is not ALLOWED", such as "'soon' is not a number".
[[nodiscard]] std::string WrongValue(std::string_view value, std::string_view allowed);

// The message for a value that must be one of a few choices: "'snyc' is not one of sync, wal, none,
// did you mean sync?"
[[nodiscard]] std::string WrongChoice(std::string_view value,
                                      const std::vector<std::string>& choices);

// The message for a name that was looked up in a long list: "'gredy' is not a policy, did you mean
// greedy?". If no name is near, the message lists known names: "'x' is not a policy; these are
// known: ...".
[[nodiscard]] std::string WrongName(std::string_view name, std::string_view kind,
                                    const std::vector<std::string>& names);

// Returns ", did you mean NAME?" for the nearest name; empty if no name is near.
[[nodiscard]] std::string DidYouMean(std::string_view name, const std::vector<std::string>& names);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_WRONG_VALUE_H_
