// The refusal of a flag's value by a program that computes with it.
#ifndef FRESHET_TOOLS_COMMON_WRONG_FLAG_H_
#define FRESHET_TOOLS_COMMON_WRONG_FLAG_H_

#include <string_view>

#include "core/base/status.h"
#include "core/base/wrong_value.h"
#include "fmt/format.h"

namespace freshet {

// InvalidArgument: "--rate: '0' is not a number above 0". Thread-safe.
template <typename Value>
[[nodiscard]] Status WrongFlag(std::string_view flag, const Value& value,
                               std::string_view allowed) {
  return InvalidArgument("{}: {}", flag, WrongValue(fmt::format("{}", value), allowed));
}

}  // namespace freshet

#endif  // FRESHET_TOOLS_COMMON_WRONG_FLAG_H_
