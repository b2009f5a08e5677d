// Formats counts with singular or plural nouns, for messages.
#ifndef FRESHET_CORE_BASE_COUNTED_H_
#define FRESHET_CORE_BASE_COUNTED_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "fmt/format.h"

namespace freshet {

// Returns "1 page" or "2 pages". `many` is the plural; empty = `one` with an "s". Thread-safe.
[[nodiscard]] inline std::string Counted(uint64_t count, std::string_view one,
                                         std::string_view many = {}) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_COUNTED_H_
