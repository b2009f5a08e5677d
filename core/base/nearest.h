// Guesses which known name was meant by an unknown one.
#ifndef FRESHET_CORE_BASE_NEAREST_H_
#define FRESHET_CORE_BASE_NEAREST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace freshet {

// The number of letters that must be inserted, removed, replaced or swapped with the next one to
// turn one text into the other; `most` + 1 if that number is greater than `most`. Time is at most
// proportional to the length of a text times `most`. Thread-safe.
[[nodiscard]] size_t EditDistance(std::string_view a, std::string_view b, size_t most = SIZE_MAX);

// The name in `names` that is nearest to `name`; empty = no name is near. Names have the form
// `section.name`. Whole names are compared, and also only the parts after the section. Thread-safe.
[[nodiscard]] std::string Nearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_NEAREST_H_
