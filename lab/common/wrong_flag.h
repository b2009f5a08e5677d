// Makes the error for a wrong value of a flag.
#ifndef FRESHET_LAB_COMMON_WRONG_FLAG_H_
#define FRESHET_LAB_COMMON_WRONG_FLAG_H_

#include <string_view>

#include "core/base/status.h"
#include "core/base/wrong_value.h"
#include "fmt/format.h"

namespace freshet {

// Returns InvalidArgument with a message such as "--rate: '0' is not a number above 0".
// Thread-safe.
template <typename Value>
[[nodiscard]] Status WrongFlag(std::string_view flag, const Value& value,
                               std::string_view allowed) {
  return InvalidArgument("{}: {}", flag, WrongValue(fmt::format("{}", value), allowed));
}

}  // namespace freshet

#endif  // FRESHET_LAB_COMMON_WRONG_FLAG_H_
