// Keeps the documentation in agreement with the results: reads the rows of a comparison from a
// file, and writes the tables of a page.
#ifndef FRESHET_LAB_SIM_COMPARE_DOCS_H_
#define FRESHET_LAB_SIM_COMPARE_DOCS_H_

#include <istream>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "lab/sim/compare.h"

namespace freshet {

// A recorded comparison. Value type, thread-compatible.
struct RecordedComparison {
  std::vector<ComparedRow> rows;
  std::vector<std::string> policies;  // in the order of their first rows
};

// Reads rows that FormatTable printed as TSV. InvalidArgument: the text is not such a table, or has
// no rows.
[[nodiscard]] StatusOr<RecordedComparison> ReadComparison(std::istream& input);

// Returns `page` with `text` in place of all text between the lines
//
//   <!-- freshet-sim compare: NAME -->
//   <!-- end of NAME -->
//
// InvalidArgument unless each line occurs once, in this order.
[[nodiscard]] StatusOr<std::string> ReplaceBlock(const std::string& page, const std::string& name,
                                                 const std::string& text);
// Replaces the block in a file. NotFound: it cannot be opened.
[[nodiscard]] Status ReplaceBlockOfFile(const std::string& path, const std::string& name,
                                        const std::string& text);

}  // namespace freshet

#endif  // FRESHET_LAB_SIM_COMPARE_DOCS_H_
