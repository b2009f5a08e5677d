// The commands of `freshet`, grouped by the service that they call.
#ifndef FRESHET_TOOLS_CLI_COMMANDS_H_
#define FRESHET_TOOLS_CLI_COMMANDS_H_

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "tools/cli/item_fields.h"
#include "tools/cli/rows.h"
#include "tools/cli/session.h"
#include "tools/cli/upload.h"

namespace freshet::cli {

// The command that the command line names, with its options bound. Parsing sets it.
using Action = std::function<ExitCode(Session&)>;

// Each function adds some commands to the program; parsing one of them sets `action`, which
// outlives `app`.
void AddPageCommands(CLI::App& app, Action& action);      // upsert, remove, recheck
void AddReadCommands(CLI::App& app, Action& action);      // get, list
void AddExportCommand(CLI::App& app, Action& action);     // export
void AddImportCommand(CLI::App& app, Action& action);     // import
void AddExplainCommand(CLI::App& app, Action& action);    // explain
void AddCrawlCommands(CLI::App& app, Action& action);     // next, report, signal
void AddSitemapCommand(CLI::App& app, Action& action);    // sitemap
void AddLogCommands(CLI::App& app, Action& action);       // log-level, audit
void AddOperatorCommands(CLI::App& app, Action& action);  // rate, policy, host, pause, ...
void AddReportCommands(CLI::App& app, Action& action);    // stats, trust, sources
void AddTopCommand(CLI::App& app, Action& action);        // top
void AddFleetCommand(CLI::App& app, Action& action);      // fleet
void AddHealthCommand(CLI::App& app, Action& action);     // health
void AddAuthCommands(CLI::App& app, Action& action);      // auth hash-token, auth check
void AddTenantCommands(CLI::App& app, Action& action);    // crawls, hosts
void AddShadowCommand(CLI::App& crawls, Action& action);  // shadow, below `crawls`
void AddRestoreCommand(CLI::App& app, Action& action);    // restore, which calls no service
// completion, which calls no service either. The scripts complete the commands of `app`.
void AddCompletionCommand(CLI::App& app, Action& action);

// Returns true if an argument is the URL that starts a new item.
[[nodiscard]] inline bool LooksLikeUrl(std::string_view argument) {
  return argument.find("://") != std::string_view::npos;
}

// Puts every column of a row into an item of the API by `set(column, value, item)`.
template <typename Item, typename Set>
absl::Status FillItem(const Row& row, Set set, Item* item) {
  for (const auto& [column, value] : row.fields) {
    const absl::Status status = set(column, value, item);
    if (!status.ok()) return Named(fmt::format("row {}", row.number), Named(column, status));
  }
  return absl::OkStatus();
}

// Called for a command without arguments. Tells a user at a terminal that the command reads its
// input from there.
inline void TellInput(const Session& session, const std::vector<std::string>& arguments) {
  if (!arguments.empty() || isatty(session.input()) != 1) return;
  session.Note("reading standard input, one row a line; Ctrl-D ends it");
}

// The outcome of reading the next row.
enum class NextRow { kItem, kUnreadable, kEnd };

// Reads the next row and converts it. Prints a line about a row that cannot be read or converted,
// and counts the row as refused. Returns the error instead if `strict`, or if the row was typed as
// an argument. All other errors end the input.
template <typename Convert>
absl::StatusOr<NextRow> ReadRow(RowSource& rows, bool strict, Convert convert, Tally& tally,
                                Row* row) {
  const absl::StatusOr<bool> more = rows.Next(row);
  if (more.ok() && !*more) return NextRow::kEnd;
  const absl::Status status = more.ok() ? convert(*row) : more.status();
  if (status.ok()) return NextRow::kItem;
  if (strict || rows.WasTyped() || !absl::IsInvalidArgument(status)) return status;
  tally.Unreadable(row->number, std::string(status.message()));
  return NextRow::kUnreadable;
}

// Adds the flag that makes a command stop at the first unreadable row.
inline void AddStrict(CLI::App& command, bool& strict) {
  command.add_flag("--strict", strict,
                   "Stop at the first unreadable row; without this flag the command reports such "
                   "rows and skips them");
}

// Sends all rows of a source over a stream, and returns the exit code of the command.
//   convert(row, item): fills an item, or returns InvalidArgument for the row.
template <typename Request, typename Response, typename Convert>
ExitCode UploadRows(
    Session& session, RowSource& rows, bool strict, std::string_view noun, const Request& prototype,
    Convert convert,
    const std::function<
        std::unique_ptr<grpc::ClientReaderWriter<Request, Response>>(grpc::ClientContext*)>& open) {
  Progress progress(session.progress_style(), std::string(noun));
  Tally tally(session, progress, std::string(noun));
  Uploader<Request, Response> uploader(session, tally, open);
  absl::Status input;
  Batch<Request> batch;
  batch.request = prototype;
  Row row;
  while (true) {
    if (!batch.rows.empty() && (batch.Full() || rows.WouldWait())) {
      if (!uploader.Send(std::exchange(batch, {prototype, {}, 0, 1}))) break;
    }
    auto* item = Items(batch.request)->Add();
    const auto fill = [&](const Row& read) { return convert(read, item); };
    const absl::StatusOr<NextRow> next = ReadRow(rows, strict, fill, tally, &row);
    input = next.status();
    if (!next.ok() || *next != NextRow::kItem) Items(batch.request)->RemoveLast();
    if (!next.ok() || *next == NextRow::kEnd) break;
    if (*next == NextRow::kUnreadable) continue;
    batch.bytes += item->ByteSizeLong();
    batch.rows.push_back(row.number);
  }
  if (!batch.rows.empty()) uploader.Send(std::move(batch));
  const grpc::Status status = uploader.Finish();
  // Without any items, there is nothing to summarise.
  if (input.ok() || tally.items() + uploader.unacknowledged() > 0) {
    tally.Summarise(uploader.unacknowledged());
  }
  ExitCode code = tally.code();
  if (!status.ok()) code = session.Fail(status);
  if (!input.ok()) code = session.Fail(input);
  return code;
}

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_COMMANDS_H_
