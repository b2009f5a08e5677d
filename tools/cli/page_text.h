// Texts that `get` and `explain` share.
#ifndef FRESHET_TOOLS_CLI_PAGE_TEXT_H_
#define FRESHET_TOOLS_CLI_PAGE_TEXT_H_

#include <fmt/format.h>

#include <string>

#include "tools/cli/session.h"
#include "tools/cli/table.h"

namespace freshet::cli {

// Returns how many intervals between crawls an estimate is based on, for example "1 interval" or
// "2.5 intervals".
[[nodiscard]] inline std::string ShowIntervals(double count) {
  return fmt::format("{} interval{}", ShowNumber(count), count == 1 ? "" : "s");
}

// Prints why a page cannot be shown. Names the page unless the server's message does.
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
