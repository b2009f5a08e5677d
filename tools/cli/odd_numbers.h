// Numbers that are none of JSON, and that many programs write into it all the same.
#ifndef FRESHET_TOOLS_CLI_ODD_NUMBERS_H_
#define FRESHET_TOOLS_CLI_ODD_NUMBERS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::cli {

// The text with NaN, Infinity and their like, and numbers that no double holds, as strings ("NaN",
// "-Infinity"): a reader then misses one field, and can say which, instead of the whole object. The
// rest is as it was, whether it is JSON or not. Thread-safe.
[[nodiscard]] std::string QuoteOddNumbers(std::string_view json);

// The same with null in their places, for readers that do not take strings for numbers. Adds
// "name: NaN is no number of JSON" for each.
[[nodiscard]] std::string DropOddNumbers(std::string_view json, std::vector<std::string>* dropped);

// Reads JSON, with odd numbers as strings. Discarded (is_object is false) if it is none even so.
[[nodiscard]] nlohmann::json ParseObject(std::string_view json);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_ODD_NUMBERS_H_
