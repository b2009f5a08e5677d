// import: reads pages that were exported from another server or another crawler, or from a table.
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "fmt/format.h"
#include "tools/cli/commands.h"
#include "tools/cli/json.h"
#include "tools/cli/table.h"
#include "tools/cli/transfer/importer.h"
#include "tools/cli/transfer/record_reader.h"
#include "tools/cli/transfer/resume_state.h"

namespace freshet::cli {
namespace {

// A chunk of pages is sent before the next pages are read. These limits on its pages and bytes
// bound the memory of an import, and what is sent again after a crash.
constexpr size_t kChunkPages = 8000;
constexpr size_t kChunkBytes = size_t{16} << 20;

struct ImportCommand {
  std::vector<std::string> inputs;
  std::string format = "auto";
  ImportOptions options;
  std::string time_zone;
  std::string resume;
  bool dry_run = false;
  bool no_history = false;
};

ImportFormat FormatNamed(const std::string& name) {
  static const std::map<std::string, ImportFormat> kFormats = {
      {"freshet", ImportFormat::kFreshet},
      {"nutch", ImportFormat::kNutch},
      {"stormcrawler", ImportFormat::kStorm},
      {"urlfrontier", ImportFormat::kFrontier}};
  const auto it = kFormats.find(name);
  return it == kFormats.end() ? ImportFormat::kAuto : it->second;
}

size_t BytesOf(const ImportedPage& page) {
  size_t bytes = page.page.ByteSizeLong();
  for (const v1::CrawlResult& result : page.results) bytes += result.ByteSizeLong();
  return bytes;
}

// Returns the options that decide what is sent, in the form of a command line.
std::string OptionsText(const ImportCommand& command) {
  const ImportOptions& options = command.options;
  std::string text;
  if (command.format != "auto") text += " --format " + command.format;
  if (!options.crawl_id.empty()) text += " --crawl-id " + options.crawl_id;
  if (!options.history) text += " --no-history";
  if (options.keep_dates) text += " --keep-dates";
  if (options.keep_intervals) text += " --keep-intervals";
  if (options.skip_completed) text += " --skip-completed";
  if (!command.time_zone.empty()) text += " --time-zone " + command.time_zone;
  return text.empty() ? "none" : text.substr(1);
}

// One run of the command. Owner thread only.
class ImportRun {
 public:
  ImportRun(Session& session, const ImportCommand& command)
      : session_(session),
        command_(command),
        progress_(session.progress_style(), "sent"),
        importer_(session, progress_, state_.counts) {}

  ExitCode Run() {
    absl::Status status = LoadState();
    if (!status.ok()) return session_.Fail(status);
    if (state_.complete) {
      session_.Note(fmt::format(
          "{}: this import is complete, and nothing was left to send; to repeat it, delete this "
          "file",
          command_.resume));
      return Conclude();
    }
    if (!command_.dry_run) status = session_.Connect();
    if (!status.ok()) return session_.Fail(status);
    for (size_t i = state_.input; i < command_.inputs.size(); ++i) {
      const ExitCode code = TakeInput(i);
      if (code != kAccepted) {
        Summarise();
        return code;
      }
    }
    state_.complete = true;
    state_.input = command_.inputs.size() - 1;
    state_.name = command_.inputs.back();
    status = SaveState();
    if (!status.ok()) return session_.Fail(status);
    return Conclude();
  }

 private:
  absl::Status LoadState() {
    const std::string options = OptionsText(command_);
    state_.options = options;
    if (command_.resume.empty()) return absl::OkStatus();
    const auto loaded = LoadImportState(command_.resume);
    if (!loaded.ok()) return loaded.status();
    if (!*loaded) return absl::OkStatus();
    state_ = **loaded;
    if (!state_.options) state_.options = options;
    if (*state_.options != options) {
      return absl::InvalidArgumentError(
          fmt::format("{} is of an import with other options: {}; now they are: {}. To import "
                      "with these, delete the file",
                      command_.resume, ShowText(*state_.options), ShowText(options)));
    }
    if (state_.complete && state_.input + 1 < command_.inputs.size()) {
      return absl::InvalidArgumentError(
          fmt::format("{} is of another import, which is complete: it had {}", command_.resume,
                      ShowCounted(state_.input + 1, "input")));
    }
    if (state_.input >= command_.inputs.size() || command_.inputs[state_.input] != state_.name) {
      return absl::InvalidArgumentError(
          fmt::format("{} is of another import: its input was {}", command_.resume, state_.name));
    }
    return absl::OkStatus();
  }

  absl::Status SaveState() {
    if (command_.resume.empty() || command_.dry_run) return absl::OkStatus();
    return Save(state_, command_.resume);
  }

  absl::StatusOr<std::unique_ptr<RecordReader>> Open(const std::string& name) {
    const ImportFormat format = FormatNamed(command_.format);
    if (name == "-") {
      return OpenRecords(ByteSource::FromDescriptor(session_.input()), format, command_.options);
    }
    absl::StatusOr<std::unique_ptr<ByteSource>> bytes = ByteSource::Open(name);
    if (!bytes.ok()) return bytes.status();
    return OpenRecords(*std::move(bytes), format, command_.options);
  }

  ExitCode TakeInput(size_t number) {
    const std::string& name = command_.inputs[number];
    const bool here = number == state_.input && state_.row > 0;
    absl::StatusOr<std::unique_ptr<RecordReader>> reader = Open(name);
    absl::Status status = reader.status();
    ImportedPage page;
    if (status.ok() && here) status = SkipTo(**reader, &page);
    bool kept = page.row > 0;  // SkipTo has read a page that is not sent yet
    while (status.ok()) {
      if (!kept) {
        const absl::StatusOr<bool> more = (*reader)->Next(&page);
        if (absl::IsInvalidArgument(more.status())) {
          RefuseRecord(name, more.status());
          continue;
        }
        status = more.status();
        if (!more.ok() || !*more) break;
      }
      kept = false;
      const bool full = chunk_.size() >= kChunkPages || chunk_bytes_ >= kChunkBytes;
      // All pages of one row are in the same chunk, because the next run continues after a whole
      // row.
      if (full && page.row != chunk_.back().row) {
        const ExitCode code = SendChunk(number);
        if (code != kAccepted) return code;
      }
      Keep(name, page);
    }
    const ExitCode code = SendChunk(number);
    if (code != kAccepted || status.ok()) return code;
    session_.Complain(fmt::format("{}: {}", name, std::string(status.message())));
    return kBadUsage;
  }

  // Skips the pages that were acknowledged before. If the first page after them was read, it is in
  // `page`.
  absl::Status SkipTo(RecordReader& reader, ImportedPage* page) {
    bool found = false;
    while (true) {
      const absl::StatusOr<bool> more = reader.Next(page);
      if (absl::IsInvalidArgument(more.status())) continue;
      if (!more.ok()) return more.status();
      if (*more && page->row == state_.row) {
        found = found || page->page.url() == state_.url;
        continue;
      }
      if (*more && page->row < state_.row) continue;
      if (!found) {
        return absl::FailedPreconditionError(
            fmt::format("not the input that {} is of: row {} is not {}", command_.resume,
                        state_.row, ShowName(state_.url)));
      }
      if (!*more) page->row = 0;
      return absl::OkStatus();
    }
  }

  void RefuseRecord(const std::string& name, const absl::Status& status) {
    ++state_.counts.refused;
    progress_.PrintFault(
        fmt::format("freshet: {}: {}", ShowText(name),
                    ShowText(std::string_view(status.message().data(), status.message().size()))));
  }

  void Keep(const std::string& name, ImportedPage& page) {
    for (const std::string& fault : page.left_out) {
      progress_.PrintFault(fmt::format("freshet: {}: row {}: {}: {}; left out", ShowText(name),
                                       page.row, ShowName(page.page.url()), ShowText(fault)));
    }
    if (command_.dry_run && session_.json()) PrintPage(page);
    chunk_bytes_ += BytesOf(page);
    chunk_.push_back(std::move(page));
    page = {};
  }

  void PrintPage(const ImportedPage& page) const {
    nlohmann::ordered_json object = {{"row", page.row}, {"page", ToJson(page.page)}};
    object["results"] = nlohmann::json::array();
    for (const v1::CrawlResult& result : page.results) object["results"].push_back(ToJson(result));
    object["pending_signals"] = nlohmann::json::array();
    for (const auto& pending : page.signals) object["pending_signals"].push_back(ToJson(pending));
    object["recheck"] = page.recheck;
    session_.out() << JsonText(object) << '\n';
  }

  ExitCode SendChunk(size_t number) {
    if (chunk_.empty()) return kAccepted;
    if (command_.dry_run) {
      state_.counts.pages += chunk_.size();
      for (const ImportedPage& page : chunk_) {
        state_.counts.results += page.results.size();
        state_.counts.histories_left_out += page.history_left_out;
        state_.counts.undated += page.undated;
        for (const auto& pending : page.signals) state_.counts.signals += pending.signals();
      }
    } else {
      const grpc::Status sent = importer_.Send(chunk_, command_.inputs[number]);
      if (!sent.ok()) return Interrupted(sent);
      state_.input = number;
      state_.name = command_.inputs[number];
      state_.row = chunk_.back().row;
      state_.url = chunk_.back().page.url();
    }
    chunk_.clear();
    chunk_bytes_ = 0;
    const absl::Status saved = SaveState();
    return saved.ok() ? kAccepted : session_.Fail(saved);
  }

  ExitCode Interrupted(const grpc::Status& status) const {
    const ExitCode code = session_.Fail(status);
    if (command_.resume.empty()) return code;
    session_.Complain(
        fmt::format("to continue, run the same command again: {} holds the progress of the import",
                    command_.resume));
    return code;
  }

  void Summarise() const {
    const ImportCounts& counts = state_.counts;
    if (session_.json() && command_.dry_run) return;
    if (session_.json()) {
      session_.out() << nlohmann::ordered_json({{"pages", counts.pages},
                                                {"refused", counts.refused},
                                                {"results", counts.results},
                                                {"signals", counts.signals},
                                                {"incomplete", counts.incomplete},
                                                {"histories_left_out", counts.histories_left_out},
                                                {"undated", counts.undated}})
                            .dump()
                     << '\n';
      return;
    }
    session_.out() << fmt::format(
        "{} {}, {} refused; with {} and {}", ShowCounted(counts.pages, "page"),
        command_.dry_run ? "would be imported" : "imported", ShowCount(counts.refused),
        ShowCounted(counts.results, "crawl"), ShowCounted(counts.signals, "signal"));
    if (counts.incomplete > 0) {
      session_.out() << fmt::format(", {} more refused", ShowCount(counts.incomplete));
    }
    session_.out() << '\n';
    if (counts.histories_left_out > 0) {
      session_.Note(
          fmt::format("{} without the crawls before the last: signals that came "
                      "between them cannot be imported",
                      ShowCounted(counts.histories_left_out, "page")));
    }
    if (counts.undated > 0) {
      session_.Note(fmt::format(
          "{} without a last crawl: the input does not say when it was (StormCrawler and URL "
          "Frontier: metadata key lastProcessedDate)",
          ShowCounted(counts.undated, "page")));
    }
  }

  ExitCode Conclude() const {
    Summarise();
    return state_.counts.refused + state_.counts.incomplete > 0 ? kRefused : kAccepted;
  }

  Session& session_;
  const ImportCommand& command_;
  Progress progress_;
  ImportState state_;
  Importer importer_;
  std::vector<ImportedPage> chunk_;
  size_t chunk_bytes_ = 0;
};

ExitCode Import(Session& session, ImportCommand command) {
  if (command.inputs.empty()) command.inputs = {"-"};
  command.options.history = !command.no_history;
  command.options.now = absl::FromChrono(std::chrono::system_clock::now());
  absl::TimeZone zone;
  if (!command.time_zone.empty()) {
    if (!absl::LoadTimeZone(command.time_zone, &zone)) {
      return session.Fail(absl::InvalidArgumentError(fmt::format(
          "--time-zone: '{}' is not a time zone that this machine knows", command.time_zone)));
    }
    command.options.zone = &zone;
  }
  return ImportRun(session, command).Run();
}

}  // namespace

void AddImportCommand(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "import", "Add pages with their history, from an export or from another crawler");
  const auto options = std::make_shared<ImportCommand>();
  command->add_option(
      "FILES", options->inputs,
      "Files, plain or gzip (- or no file: standard input). A file has the output of `freshet "
      "export`, rows as for `freshet upsert`, JSON lines of a crawl frontier, a dump of Nutch's "
      "crawldb, or StormCrawler's status index or table");
  command->add_option("--format", options->format, "Input format; auto detects it for each file")
      ->check(CLI::IsMember({"auto", "freshet", "nutch", "stormcrawler", "urlfrontier"}))
      ->capture_default_str();
  command->add_option("--resume", options->resume,
                      "File in which the command stores its progress; if the file exists, the "
                      "import continues there");
  command->add_option("--crawl-id", options->options.crawl_id,
                      "Crawl id of pages whose record has none; default: DEFAULT");
  command->add_flag("--no-history", options->no_history, "Import only the last crawl of each page");
  command->add_flag(
      "--keep-dates", options->options.keep_dates,
      "Do not crawl a page before the next fetch date that the other crawler has for it");
  command->add_flag(
      "--keep-intervals", options->options.keep_intervals,
      "Use the fetch interval of the other crawler as the longest time between crawls");
  command->add_flag("--skip-completed", options->options.skip_completed,
                    "Leave out pages that the other crawler would never fetch again");
  command->add_option("--time-zone", options->time_zone,
                      "Time zone of dates without a clear time zone, such as Europe/Paris");
  command->add_flag("--dry-run", options->dry_run,
                    "Send nothing; with --json print what the command would send for each page");
  command->callback([options, &action] {
    action = [options](Session& session) { return Import(session, *options); };
  });
}

}  // namespace freshet::cli
