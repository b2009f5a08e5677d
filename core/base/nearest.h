// Guesses which known name somebody meant who wrote an unknown one.
#ifndef FRESHET_CORE_BASE_NEAREST_H_
#define FRESHET_CORE_BASE_NEAREST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace freshet {

// Letters that must be put in, left out, replaced or swapped with the next one to make one text of
// the other; `most` + 1 where there are more than that. Costs at most the length of a text times
// `most`. Thread-safe.
[[nodiscard]] size_t EditDistance(std::string_view a, std::string_view b, size_t most = SIZE_MAX);

// The name among `names`, written `section.name`, that is nearest to `name` as a whole or apart
// from the section; empty = none is near. Thread-safe.
[[nodiscard]] std::string Nearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_NEAREST_H_
