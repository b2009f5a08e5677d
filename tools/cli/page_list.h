// Requests for lists of pages, and the last line of a printed list.
#ifndef FRESHET_TOOLS_CLI_PAGE_LIST_H_
#define FRESHET_TOOLS_CLI_PAGE_LIST_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "fmt/format.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "tools/cli/commands.h"
#include "tools/cli/item_fields.h"
#include "tools/cli/parse.h"
#include "tools/cli/session.h"
#include "tools/cli/table.h"

namespace freshet::cli {

// Value type, thread-compatible.
struct ListOptions {
  std::string scope;  // a host, or the start of URLs
  std::optional<std::string> crawl_id;
  std::string page_token;
  std::string limit;
};

// Fills a request to list or to export pages; both have the same fields.
template <typename Request>
absl::Status FillList(const ListOptions& options, Request* request) {
  if (options.crawl_id) request->mutable_filter()->set_crawl_id(*options.crawl_id);
  if (LooksLikeUrl(options.scope)) {
    request->mutable_filter()->set_url_prefix(options.scope);
  } else if (!options.scope.empty()) {
    request->mutable_filter()->set_host(options.scope);
  }
  request->set_page_token(options.page_token);
  if (options.limit.empty()) return absl::OkStatus();
  const absl::StatusOr<uint64_t> limit = ParseCount(options.limit);
  if (limit.ok() && *limit == 0) return absl::InvalidArgumentError("--limit: 0 lists nothing");
  return Named("--limit", Assign(limit, [request](uint64_t x) { request->set_limit(x); }));
}

// Prints all messages of a stream of pages. Then reports on standard error whether the list is
// complete, and if not, how to continue it. A script might read only standard output, so the exit
// code is 0 only if the list is complete.
template <typename Response, typename Stream, typename Print>
ExitCode PrintStream(const Session& session, const ListOptions& options,
                     grpc::ClientContext& context, Stream& stream, Print print) {
  Response response;
  std::string token;
  uint64_t pages = 0;
  while (stream.Read(&response)) {
    print(response);
    token = response.next_page_token();
    pages += static_cast<uint64_t>(response.pages_size());
    // The output is closed, so nobody would read the rest.
    if (!session.out()) context.TryCancel();
  }
  const grpc::Status status = stream.Finish();
  session.out().flush();
  if (!session.out()) return kOutputLost;
  const std::string count = fmt::format("{} {}", ShowCount(pages), pages == 1 ? "page" : "pages");
  const std::string go_on = token.empty() ? "" : fmt::format(": --page-token {}", token);
  if (!status.ok()) {
    // If the output is still open, only the server can have cancelled the call.
    const bool unread = status.error_code() == grpc::StatusCode::CANCELLED;
    const ExitCode code =
        session.Fail(unread ? grpc::Status(grpc::StatusCode::UNAVAILABLE,
                                           "the list was left unread for too long")
                            : status);
    // The call was refused, so there is no list to report on.
    if (pages == 0 && code == kRefused) return code;
    session.Complain(fmt::format("cut off after {}; more may follow{}", count, go_on));
    return code;
  }
  if (token.empty()) {
    session.Note(fmt::format("{}, complete", count));
    return kAccepted;
  }
  const absl::StatusOr<uint64_t> limit = ParseCount(options.limit);
  if (limit.ok() && pages >= *limit) {
    session.Note(fmt::format("{}, more follows{}", count, go_on));
    return kAccepted;
  }
  session.Complain(fmt::format("the server ended the list before it had sent all pages, after {}{}",
                               count, go_on));
  return kUnreachable;
}

// Adds the options to a command. The result is filled when the command is parsed.
[[nodiscard]] std::shared_ptr<ListOptions> AddListOptions(CLI::App& command);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_PAGE_LIST_H_
