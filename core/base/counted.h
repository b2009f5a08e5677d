// Counts with their nouns in the right number, for messages.
#ifndef FRESHET_CORE_BASE_COUNTED_H_
#define FRESHET_CORE_BASE_COUNTED_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "fmt/format.h"

namespace freshet {

// "1 page", "2 pages"; `many` where the plural has another ending. Thread-safe.
[[nodiscard]] inline std::string Counted(uint64_t count, std::string_view one,
                                         std::string_view many = {}) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_COUNTED_H_
