// Describes the allowed values of an option. CLI11 keeps them only as the name of a type, such as
// "FLOAT:FLOAT in [0 - 3600]" or "TEXT:{sync,wal,none}".
#ifndef FRESHET_TOOLS_COMMON_ALLOWED_VALUES_H_
#define FRESHET_TOOLS_COMMON_ALLOWED_VALUES_H_

#include <string>
#include <vector>

#include "CLI/CLI.hpp"

namespace freshet {

// The values of one option. Value type, thread-compatible.
struct AllowedValues {
  std::string kind = "TEXT";  // name in the help: N for numbers, FILE or TEXT
  std::string noun;           // "a number", "a whole number"; empty = any text
  std::string low;            // bounds of a number, both or none
  std::string high;
  std::vector<std::string> choices;  // empty = no fixed values
};

// Thread-compatible.
[[nodiscard]] AllowedValues AllowedValuesOf(const CLI::Option& option);

// Returns "a number from 0 to 3600"; empty if any text is allowed or there are choices.
// Thread-safe.
[[nodiscard]] std::string Described(const AllowedValues& allowed);

}  // namespace freshet

#endif  // FRESHET_TOOLS_COMMON_ALLOWED_VALUES_H_
