// What keeps a page of documentation and the results that it shows the same: the rows of a
// comparison as a file, and the tables of a page that are printed from them.
#ifndef FRESHET_TOOLS_SIM_COMPARE_DOCS_H_
#define FRESHET_TOOLS_SIM_COMPARE_DOCS_H_

#include <istream>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "tools/sim/compare.h"

namespace freshet {

// What was compared. Value type, thread-compatible.
struct RecordedComparison {
  std::vector<ComparedRow> rows;
  std::vector<std::string> policies;  // in the order in which the rows name them
};

// The rows of what FormatTable has printed as TSV. InvalidArgument for anything else, and for no
// rows.
[[nodiscard]] StatusOr<RecordedComparison> ReadComparison(std::istream& input);

// `page` with `text` instead of all that stands between the lines
//
//   <!-- freshet-sim compare: NAME -->
//   <!-- end of NAME -->
//
// InvalidArgument unless both are there once, in this order.
[[nodiscard]] StatusOr<std::string> ReplaceBlock(const std::string& page, const std::string& name,
                                                 const std::string& text);
// The same of a file. NotFound if it cannot be opened.
[[nodiscard]] Status ReplaceBlockOfFile(const std::string& path, const std::string& name,
                                        const std::string& text);

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_COMPARE_DOCS_H_
