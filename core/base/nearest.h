// What somebody probably meant who wrote a name that is not known.
#ifndef FRESHET_CORE_BASE_NEAREST_H_
#define FRESHET_CORE_BASE_NEAREST_H_

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace freshet {

// Letters that must be put in, left out, replaced or swapped with the next one to make one text of
// the other. Costs the product of their lengths. Thread-safe.
[[nodiscard]] size_t EditDistance(std::string_view a, std::string_view b);

// The one of `names`, as `section.name`, that `name` is near to as a whole, or but for its section;
// empty: it is near to none. Thread-safe.
[[nodiscard]] std::string Nearest(std::string_view name, const std::vector<std::string>& names);

}  // namespace freshet

#endif  // FRESHET_CORE_BASE_NEAREST_H_
