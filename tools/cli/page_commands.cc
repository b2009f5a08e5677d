// upsert, remove and recheck: change the set of pages.
#include <fmt/format.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_replace.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "tools/cli/commands.h"
#include "tools/cli/completion.h"
#include "tools/cli/item_fields.h"
#include "tools/cli/parse.h"

namespace freshet::cli {
namespace {

struct UpsertOptions {
  std::vector<std::string> arguments;
  // Default settings for all rows, by column. Values are texts in the same form as in rows.
  std::vector<std::pair<std::string, std::string>> settings;
  bool reset = false;
  bool strict = false;
};

absl::Status NamesUrl(const Row& row) {
  if (row.Find("url") != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(fmt::format("row {}: url: missing", row.number));
}

// Returns the flag of a column, such as --max-interval for max_interval.
std::string FlagOf(std::string_view column) {
  if (column == "known_change_rate_per_day") return "--change-rate";
  return "--" + absl::StrReplaceAll(absl::string_view(column.data(), column.size()), {{"_", "-"}});
}

ExitCode Upsert(Session& session, const UpsertOptions& options) {
  v1::PageSpec defaults;
  for (const auto& [column, value] : options.settings) {
    absl::Status status = SetPageField(column, value, &defaults);
    if (!status.ok()) return session.Fail(Named(FlagOf(column), status));
  }
  const absl::Status connected = session.Connect();
  if (!connected.ok()) return session.Fail(connected);
  const auto stub = v1::PagesService::NewStub(session.channel());
  TellInput(session, options.arguments);
  const auto rows = RowsOfArguments(options.arguments, PageFormat(), LooksLikeUrl, session.input());
  v1::UpsertPagesRequest prototype;
  prototype.set_reset_unset_settings(options.reset);
  const auto convert = [&defaults](const Row& row, v1::PageSpec* page) -> absl::Status {
    *page = defaults;
    const absl::Status named = NamesUrl(row);
    return named.ok() ? FillItem(row, SetPageField, page) : named;
  };
  return UploadRows<v1::UpsertPagesRequest, v1::UpsertPagesResponse>(
      session, *rows, options.strict, "pages", prototype, convert,
      [&stub](grpc::ClientContext* context) { return stub->UpsertPages(context); });
}

void AddUpsert(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("upsert", "Add pages, or change their settings");
  const auto options = std::make_shared<UpsertOptions>();
  command->add_option("PAGES", options->arguments,
                      "URLs or names of files. A URL may be followed by its importance. Without "
                      "arguments the command reads standard input. A file has lines `url "
                      "importance`, a table (TSV or CSV) with a header, or JSON lines");
  const auto setting = [&](const char* flag, const char* column, const char* help) {
    return command->add_option_function<std::string>(
        flag,
        [options, column](const std::string& value) {
          options->settings.emplace_back(column, value);
        },
        help);
  };
  setting("--crawl-id", "crawl_id", "Crawl id (namespace) of the pages; default: DEFAULT");
  setting("--importance", "importance",
          "Importance of pages whose row gives none (default for new pages: 1)");
  setting("--min-interval", "min_interval", "Shortest time between crawls, such as 6h; 0 for none");
  setting("--max-interval", "max_interval", "Longest time between crawls; 0 for none");
  setting("--not-before", "not_before", "No crawl before this time");
  setting("--change-rate", "known_change_rate_per_day",
          "Changes per day, if you know them; the server learns them otherwise");
  setting("--complete-signals", "complete_signals",
          "Whether signals announce every change of the page")
      ->check(Suggest("{true,false}"));
  command->add_flag("--reset", options->reset,
                    "Set all settings that this command does not give to their defaults");
  AddStrict(*command, options->strict);
  command->callback([options, &action] {
    action = [options](Session& session) { return Upsert(session, *options); };
  });
}

struct UrlOptions {
  std::vector<std::string> arguments;
  std::string crawl_id;
  bool strict = false;
};

const RowFormat& UrlFormat() {
  static const RowFormat kFormat = {{"url", "crawl_id"}, {}, {"url"}};
  return kFormat;
}

// Sends one batch of URLs with the method `call`. Sends those again for which the server was too
// busy.
template <typename Request, typename Response, typename CallMethod>
grpc::Status SendUrls(Batch<Request> batch, Tally& tally, CallMethod call) {
  while (!batch.rows.empty()) {
    Response response;
    grpc::Status status = call(batch.request, &response);
    if (!status.ok()) return status;
    auto [again, delay] = Book(batch, response.ack(), tally);
    if (!again.rows.empty()) std::this_thread::sleep_for(delay);
    batch = std::move(again);
  }
  return grpc::Status::OK;
}

// Sends the URLs of all rows in batches, one call for each batch. All URLs of a call are in the
// same namespace.
template <typename Request, typename Response, typename CallMethod>
ExitCode SendAllUrls(Session& session, const UrlOptions& options, CallMethod call) {
  TellInput(session, options.arguments);
  const auto rows = RowsOfArguments(options.arguments, UrlFormat(), LooksLikeUrl, session.input());
  Progress progress(session.progress_style(), "pages");
  Tally tally(session, progress, "pages");
  Batch<Request> batch;
  absl::Status input;
  grpc::Status status;
  Row row;
  while (status.ok()) {
    const absl::StatusOr<NextRow> next = ReadRow(*rows, options.strict, NamesUrl, tally, &row);
    input = next.status();
    if (!next.ok() || *next == NextRow::kEnd) break;
    if (*next == NextRow::kUnreadable) continue;
    const std::string* crawl_id = row.Find("crawl_id");
    const std::string& space = crawl_id == nullptr ? options.crawl_id : *crawl_id;
    if (batch.Full() || rows->WouldWait() ||
        (!batch.rows.empty() && space != batch.request.crawl_id())) {
      status = SendUrls<Request, Response>(std::exchange(batch, {}), tally, call);
    }
    batch.request.set_crawl_id(space);
    batch.request.add_urls(*row.Find("url"));
    batch.bytes += row.Find("url")->size();
    batch.rows.push_back(row.number);
  }
  if (status.ok()) {
    status = SendUrls<Request, Response>(std::exchange(batch, {}), tally, call);
  }
  // Without any items, there is nothing to summarise.
  if (input.ok() || tally.items() > 0) tally.Summarise(0);
  ExitCode code = tally.code();
  if (!status.ok()) code = session.Fail(status);
  if (!input.ok()) code = session.Fail(input);
  return code;
}

ExitCode Remove(Session& session, const UrlOptions& options) {
  const absl::Status connected = session.Connect();
  if (!connected.ok()) return session.Fail(connected);
  const auto stub = v1::PagesService::NewStub(session.channel());
  return SendAllUrls<v1::RemovePagesRequest, v1::RemovePagesResponse>(
      session, options, [&](const auto& request, auto* response) {
        return Call(session, &v1::PagesService::Stub::RemovePages, *stub, request, response);
      });
}

ExitCode Recheck(Session& session, const UrlOptions& options) {
  const absl::Status connected = session.Connect();
  if (!connected.ok()) return session.Fail(connected);
  const auto stub = v1::PagesService::NewStub(session.channel());
  return SendAllUrls<v1::RecheckPagesRequest, v1::RecheckPagesResponse>(
      session, options, [&](const auto& request, auto* response) {
        return Call(session, &v1::PagesService::Stub::RecheckPages, *stub, request, response);
      });
}

void AddUrlCommand(CLI::App& app, Action& action, const char* name, const char* help,
                   ExitCode (*run)(Session&, const UrlOptions&)) {
  auto* command = app.add_subcommand(name, help);
  const auto options = std::make_shared<UrlOptions>();
  command->add_option(
      "URLS", options->arguments,
      "URLs or names of files; without arguments the command reads standard input. A file "
      "has one URL a line, a table (TSV or CSV) with a header, or JSON lines");
  command->add_option("--crawl-id", options->crawl_id,
                      "Crawl id (namespace) of the pages; default: DEFAULT");
  AddStrict(*command, options->strict);
  command->callback([options, run, &action] {
    action = [options, run](Session& session) { return run(session, *options); };
  });
}

}  // namespace

void AddPageCommands(CLI::App& app, Action& action) {
  AddUpsert(app, action);
  AddUrlCommand(app, action, "remove", "Forget pages and everything learned about them", Remove);
  AddUrlCommand(app, action, "recheck", "Crawl pages as soon as politeness allows", Recheck);
}

}  // namespace freshet::cli
