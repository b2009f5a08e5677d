// next, report and signal: do the work of a worker or poller that does not open a stream itself.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"
#include "tools/cli/commands.h"
#include "tools/cli/item_fields.h"
#include "tools/cli/json.h"
#include "tools/cli/parse.h"
#include "tools/cli/poll.h"
#include "tools/cli/sitemap.h"
#include "tools/cli/sitemap_sender.h"
#include "tools/cli/table.h"

namespace freshet::cli {
namespace {

struct NextOptions {
  std::string assignments = "1";
  std::string wait;
  std::string worker;
  std::string lease;
  std::vector<std::string> crawl_ids;
};

absl::Status FillNext(const NextOptions& options, v1::NextRequest* request) {
  const absl::StatusOr<uint64_t> count = ParseCount(options.assignments);
  if (!count.ok()) return Named("N", count.status());
  request->set_max_assignments(static_cast<uint32_t>(std::min<uint64_t>(*count, UINT32_MAX)));
  request->set_worker(options.worker);
  if (!options.wait.empty()) {
    const auto wait = ParseDuration(options.wait);
    if (!wait.ok()) return Named("--wait", wait.status());
    *request->mutable_max_wait() = *wait;
  }
  if (!options.lease.empty()) {
    const auto lease = ParseDuration(options.lease);
    if (!lease.ok()) return Named("--lease", lease.status());
    *request->mutable_lease_duration() = *lease;
  }
  for (const std::string& crawl_id : options.crawl_ids) request->add_crawl_ids(crawl_id);
  return absl::OkStatus();
}

void PrintAssignments(const Session& session, const v1::NextResponse& response) {
  if (session.json()) {
    for (const auto& a : response.assignments()) session.out() << ToJsonLine(a) << '\n';
    return;
  }
  if (response.has_allowance()) {
    const v1::AllowanceUse& use = response.allowance();
    session.out() << fmt::format(
        "no page is assigned: {} of {} leases that {} may have are open: `freshet report` their "
        "results, or wait until they run out\n",
        use.open_leases(), use.max_open_leases(),
        use.newcomers() ? "workers of this address that have reported nothing yet"
                        : "workers of this name");
    return;
  }
  if (response.assignments().empty()) {
    session.out() << (response.has_retry_after()
                          ? "no page is due: crawling is paused, or the crawl rate is 0\n"
                          : "no page is due: `freshet get URL` says what a page waits for\n");
    return;
  }
  Table table(session.out(),
              {{"lease", Table::Align::kRight},
               {"deadline"},
               {"last crawl"},
               {"value", Table::Align::kRight},
               {"url"}},
              session.columns());
  for (const v1::Assignment& a : response.assignments()) {
    table.Add({std::to_string(a.lease_id()), ShowTime(a.deadline()),
               ShowTime(a.last_crawl_time(), a.has_last_crawl_time()),
               ShowNumber(a.expected_value()), ShowText(a.url())});
  }
  table.Flush();
}

ExitCode Next(Session& session, const NextOptions& options) {
  v1::NextRequest request;
  absl::Status status = FillNext(options, &request);
  if (status.ok()) status = session.Connect();
  if (!status.ok()) return session.Fail(status);
  const auto stub = v1::SchedulerService::NewStub(session.channel());
  v1::NextResponse response;
  const grpc::Status called =
      Call(session, &v1::SchedulerService::Stub::Next, *stub, request, &response);
  if (!called.ok()) return session.Fail(called);
  PrintAssignments(session, response);
  return kAccepted;
}

void AddNext(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("next", "Take pages to crawl");
  const auto options = std::make_shared<NextOptions>();
  command->add_option("N,-n,--max-assignments", options->assignments,
                      "Maximum number of pages to take (default 1)");
  command->add_option("--wait", options->wait, "How long to wait for the first page (default 1s)");
  command->add_option("--worker", options->worker, "Name of the worker that takes the pages");
  command->add_option("--lease", options->lease, "How long the pages are leased (default 5m)");
  command
      ->add_option("--crawl-id", options->crawl_ids,
                   "Take only pages of this crawl id; you can repeat this flag")
      ->take_all();
  command->callback([options, &action] {
    action = [options](Session& session) { return Next(session, *options); };
  });
}

struct ReportOptions {
  std::vector<std::string> arguments;
  std::string crawl_id;
  bool strict = false;
};

ExitCode Report(Session& session, const ReportOptions& options) {
  const absl::Status connected = session.Connect();
  if (!connected.ok()) return session.Fail(connected);
  const auto stub = v1::IngestService::NewStub(session.channel());
  const auto rows =
      RowsOfArguments(options.arguments, ResultFormat(), LooksLikeUrl, session.input());
  const auto convert = [&options](const Row& row, v1::CrawlResult* result) -> absl::Status {
    result->set_crawl_id(options.crawl_id);
    if (row.Find("url") == nullptr && row.Find("lease_id") == nullptr) {
      return absl::InvalidArgumentError(
          fmt::format("row {}: url: missing, and so is lease_id", row.number));
    }
    // A row must tell the server what happened, by an outcome, a content digest, or an http_status
    // of 400 or more.
    if (row.Find("outcome") == nullptr && row.Find("content_digest") == nullptr &&
        row.Find("http_status") == nullptr) {
      return absl::InvalidArgumentError(fmt::format(
          "row {}: outcome: missing, and so are content_digest and http_status", row.number));
    }
    return FillItem(row, SetResultField, result);
  };
  return UploadRows<v1::ReportCrawlsRequest, v1::ReportCrawlsResponse>(
      session, *rows, options.strict, "results", {}, convert,
      [&stub](grpc::ClientContext* context) { return stub->ReportCrawls(context); });
}

void AddReport(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("report", "Report what crawls found");
  const auto options = std::make_shared<ReportOptions>();
  command->add_option(
      "RESULTS", options->arguments,
      "URLs or leases, each followed by its outcome and, if known, the time of the fetch; or names "
      "of files. Without arguments the command reads standard input. A file has lines `url outcome "
      "fetch_time`, a table (TSV or CSV) with a header, or JSON lines. An outcome is changed, "
      "unchanged, error, gone, moved or robots_denied");
  command->add_option("--crawl-id", options->crawl_id,
                      "Crawl id (namespace) of the pages; default: DEFAULT");
  AddStrict(*command, options->strict);
  command->callback([options, &action] {
    action = [options](Session& session) { return Report(session, *options); };
  });
}

const RowFormat& SignalFormat() {
  static const RowFormat kFormat = {
      {"url", "crawl_id", "source", "change_time", "signal_id"},
      {{"time", "change_time"}, {"lastmod", "change_time"}, {"id", "signal_id"}},
      {"url", "source", "change_time"}};
  return kFormat;
}

absl::Status SetSignalField(std::string_view column, const std::string& value,
                            v1::ChangeSignal* signal) {
  if (column == "url") {
    signal->set_url(value);
  } else if (column == "crawl_id") {
    signal->set_crawl_id(value);
  } else if (column == "source") {
    signal->set_source(value);
  } else if (column == "signal_id") {
    signal->set_signal_id(value);
  } else {
    return Assign(ParseTime(value), [signal](auto& x) { *signal->mutable_change_time() = x; });
  }
  return absl::OkStatus();
}

struct SignalOptions {
  std::vector<std::string> arguments;
  std::vector<std::string> sitemaps;
  std::string source;
  std::string crawl_id;
  std::string since;
  bool each = false;
  bool strict = false;
};

absl::Status FillSignal(const Row& row, const SignalOptions& options, v1::ChangeSignal* signal) {
  signal->Clear();
  signal->set_crawl_id(options.crawl_id);
  signal->set_source(options.source);
  absl::Status status = FillItem(row, SetSignalField, signal);
  if (!status.ok()) return status;
  for (const auto& [column, missing] :
       {std::pair{"url", signal->url().empty()}, {"source", signal->source().empty()}}) {
    if (missing) {
      return absl::InvalidArgumentError(fmt::format("row {}: {}: missing", row.number, column));
    }
  }
  return absl::OkStatus();
}

// All rows of one input that name the same source are one poll.
absl::Status SendPolls(RowSource& rows, const SignalOptions& options, Tally& tally,
                       SignalUploader& uploader) {
  std::map<std::string, Poll> polls;
  Row row;
  v1::ChangeSignal signal;
  absl::Status status;
  while (true) {
    const auto fill = [&](const Row& read) { return FillSignal(read, options, &signal); };
    const absl::StatusOr<NextRow> next = ReadRow(rows, options.strict, fill, tally, &row);
    status = next.status();
    if (!next.ok() || *next == NextRow::kEnd) break;
    if (*next == NextRow::kUnreadable) continue;
    const auto poll = polls.try_emplace(signal.source(), polls.size() + 1, uploader).first;
    if (!poll->second.Add(signal, row.number)) break;
  }
  for (auto& [source, poll] : polls) poll.Flush();
  return status;
}

// Counts that are printed in addition to the outcomes of the signals.
struct SitemapCounts {
  uint64_t undated = 0;
  uint64_t old = 0;
};

// An entry that cannot be sent.
struct Unsent {
  uint64_t number = 0;
  std::string url;
  std::string why;
};

struct Sitemap {
  std::string path;
  std::vector<sitemap::FeedEntry> entries;
};

absl::StatusOr<std::vector<Sitemap>> ReadSitemaps(const SignalOptions& options, int input) {
  std::vector<Sitemap> sitemaps;
  for (const std::string& path : options.sitemaps) {
    absl::StatusOr<std::vector<sitemap::FeedEntry>> entries = ReadSitemap(path, input);
    if (!entries.ok()) return Named(path, entries.status());
    sitemaps.push_back({path, *std::move(entries)});
  }
  return sitemaps;
}

// Sends a sitemap as one poll. Only counts entries without a date, which claim no change, and
// entries dated before `since`, which were sent before.
SitemapCounts SendSitemap(const Sitemap& sitemap, const SignalOptions& options, Instant since,
                          Instant now, SignalUploader& uploader, std::vector<Unsent>& unsent) {
  SitemapCounts counts;
  Poll poll(1, uploader);
  uint64_t number = 0;
  for (const sitemap::FeedEntry& entry : sitemap.entries) {
    ++number;
    if (entry.url.empty()) {
      unsent.push_back({number, "an entry", "it names no URL"});
    } else if (!entry.why.empty()) {
      unsent.push_back({number, entry.url, entry.why});
    } else if (absl::IsNotFound(entry.modified.status())) {
      ++counts.undated;
    } else if (!entry.modified.ok()) {
      const absl::string_view reason = entry.modified.status().message();
      unsent.push_back({number, entry.url, fmt::format("lastmod: {}", std::string(reason))});
    } else if (entry.modified->latest < since) {
      ++counts.old;
    } else {
      const Instant changed = std::min(entry.modified->latest, now);
      if (!poll.Add(SignalOf(entry, changed, options.source, options.crawl_id), number)) break;
    }
  }
  poll.Flush();
  return counts;
}

ExitCode Conclude(const Session& session, const grpc::Status& status, const absl::Status& input,
                  uint64_t unacknowledged, const Tally& tally) {
  tally.Summarise(unacknowledged);
  ExitCode code = tally.code();
  if (!status.ok()) code = session.Fail(status);
  if (!input.ok()) code = session.Fail(input);
  return code;
}

ExitCode SignalSitemaps(Session& session, SignalOptions options) {
  Instant since = Instant::FromMicros(INT64_MIN);
  if (!options.since.empty()) {
    const auto time = ParseTime(options.since);
    if (!time.ok()) return session.Fail(Named("--since", time.status()));
    since = Instant::FromUnixSeconds(time->seconds());
  }
  if (options.source.empty()) options.source = "sitemap";
  const auto sitemaps = ReadSitemaps(options, session.input());
  if (!sitemaps.ok()) return session.Fail(absl::InvalidArgumentError(sitemaps.status().message()));
  const absl::Status connected = session.Connect();
  if (!connected.ok()) return session.Fail(connected);
  const auto stub = v1::IngestService::NewStub(session.channel());
  Progress progress(session.progress_style(), "signals");
  Tally tally(session, progress, "signals");
  SignalUploader uploader(session, tally, [&stub](grpc::ClientContext* context) {
    return stub->SignalChanges(context);
  });
  std::vector<Unsent> unsent;
  const Instant now = Instant::FromMicros(std::chrono::duration_cast<std::chrono::microseconds>(
                                              std::chrono::system_clock::now().time_since_epoch())
                                              .count());
  for (const Sitemap& sitemap : *sitemaps) {
    const SitemapCounts counts = SendSitemap(sitemap, options, since, now, uploader, unsent);
    if (counts.undated + counts.old > 0) {
      progress.Print(fmt::format("freshet: {}: {} without lastmod, {} before --since", sitemap.path,
                                 ShowCounted(counts.undated, "entry", "entries"), counts.old));
    }
  }
  const grpc::Status status = uploader.Finish();
  for (const auto& [number, url, why] : unsent) tally.Refused(number, url, why);
  return Conclude(session, status, absl::OkStatus(), uploader.unacknowledged(), tally);
}

ExitCode Signal(Session& session, const SignalOptions& options) {
  if (!options.sitemaps.empty()) return SignalSitemaps(session, options);
  const absl::Status connected = session.Connect();
  if (!connected.ok()) return session.Fail(connected);
  const auto stub = v1::IngestService::NewStub(session.channel());
  const auto rows =
      RowsOfArguments(options.arguments, SignalFormat(), LooksLikeUrl, session.input());
  const auto open = [&stub](grpc::ClientContext* context) { return stub->SignalChanges(context); };
  if (options.each) {
    v1::SignalChangesRequest single;
    single.set_poll_size(1);
    return UploadRows<v1::SignalChangesRequest, v1::SignalChangesResponse>(
        session, *rows, options.strict, "signals", single,
        [&options](const Row& row, v1::ChangeSignal* signal) {
          return FillSignal(row, options, signal);
        },
        open);
  }
  Progress progress(session.progress_style(), "signals");
  Tally tally(session, progress, "signals");
  SignalUploader uploader(session, tally, open);
  const absl::Status input = SendPolls(*rows, options, tally, uploader);
  const grpc::Status status = uploader.Finish();
  return Conclude(session, status, input, uploader.unacknowledged(), tally);
}

void AddSignal(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("signal", "Report that pages may have changed");
  const auto options = std::make_shared<SignalOptions>();
  auto* rows = command->add_option(
      "SIGNALS", options->arguments,
      "URLs, each followed by its source and, if known, the time of the change; or names of files. "
      "Without arguments the command reads standard input. A file has lines `url source time`, a "
      "table (TSV or CSV) with a header, or JSON lines. All rows together count as one poll of "
      "each source");
  auto* each = command->add_flag(
      "--each", options->each,
      "Send each row as soon as it is read; each row then counts as a separate poll");
  auto* sitemap =
      command
          ->add_option("--sitemap", options->sitemaps,
                       "Sitemap to read (XML, plain or gzip); each sitemap counts as one poll")
          ->excludes(rows)
          ->excludes(each);
  command
      ->add_option("--since", options->since, "Leave out entries whose lastmod is before this time")
      ->needs(sitemap);
  command->add_option("--source", options->source,
                      "Source of rows that give none (default with --sitemap: sitemap)");
  command->add_option("--crawl-id", options->crawl_id,
                      "Crawl id (namespace) of the pages; default: DEFAULT");
  AddStrict(*command, options->strict);
  command->callback([options, &action] {
    action = [options](Session& session) { return Signal(session, *options); };
  });
}

}  // namespace

void AddCrawlCommands(CLI::App& app, Action& action) {
  AddNext(app, action);
  AddReport(app, action);
  AddSignal(app, action);
}

}  // namespace freshet::cli
