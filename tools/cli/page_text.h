// Texts that `get` and `explain` share.
#ifndef FRESHET_TOOLS_CLI_PAGE_TEXT_H_
#define FRESHET_TOOLS_CLI_PAGE_TEXT_H_

#include <fmt/format.h>

#include <string>

#include "tools/cli/session.h"
#include "tools/cli/table.h"

namespace freshet::cli {

// Says how many intervals between crawls an estimate uses: "1 interval", "2.5 intervals".
[[nodiscard]] inline std::string ShowIntervals(double count) {
  return fmt::format("{} interval{}", ShowNumber(count), count == 1 ? "" : "s");
}

// Explains why a page cannot be shown, and names the page unless the server did.
[[nodiscard]] inline ExitCode FailOfPage(const Session& session, const grpc::Status& status,
                                         const std::string& url) {
  std::string message = status.error_message();
  if (message.find(url) == std::string::npos) message.insert(0, url + ": ");
  if (status.error_code() == grpc::StatusCode::NOT_FOUND) {
    message += "; `freshet upsert` adds a page, and --crawl-id names another crawl id";
  }
  return session.Fail({status.error_code(), message});
}

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_PAGE_TEXT_H_
