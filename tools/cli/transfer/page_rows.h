// Rows of a table with pages, which `freshet export --format tsv` writes and `freshet import`
// reads.
#ifndef FRESHET_TOOLS_CLI_TRANSFER_PAGE_ROWS_H_
#define FRESHET_TOOLS_CLI_TRANSFER_PAGE_ROWS_H_

#include <string>

#include "freshet/v1/pages.pb.h"
#include "tools/cli/rows.h"

namespace freshet::cli {

// The columns of pages, with the result of each page's last crawl.
[[nodiscard]] const RowFormat& PageRowFormat();

// PageRowHeader returns the header. The function below returns the row of a page, with the same
// order of columns. Both are without a line end.
[[nodiscard]] std::string PageRowHeader();
[[nodiscard]] std::string PageRow(const v1::Page& page);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TRANSFER_PAGE_ROWS_H_
