// Handles numbers that many programs write into JSON although JSON does not allow them.
#ifndef FRESHET_TOOLS_CLI_ODD_NUMBERS_H_
#define FRESHET_TOOLS_CLI_ODD_NUMBERS_H_

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace freshet::cli {

// Returns the text with words such as NaN and Infinity, and numbers too large for a double, as
// strings ("NaN", "-Infinity"). A reader can then report the one field, instead of rejecting the
// whole object. All other text is returned unchanged, even if it is not JSON. Thread-safe.
[[nodiscard]] std::string QuoteOddNumbers(std::string_view json);

// Replaces these numbers by null, for readers that do not accept strings as numbers. For each
// number, appends "name: NaN is no number of JSON" to the vector.
[[nodiscard]] std::string DropOddNumbers(std::string_view json, std::vector<std::string>* dropped);

// Parses JSON, with odd numbers as strings. Returns a discarded value (is_object is false) for
// invalid JSON.
[[nodiscard]] nlohmann::json ParseObject(std::string_view json);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_ODD_NUMBERS_H_
