#include "server/maintenance.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>

#include "core/base/safe_text.h"
#include "fmt/format.h"
#include "server/api/status.h"
#include "server/base/reporting.h"
#include "server/become_owner.h"
#include "server/config.h"
#include "server/frontier/frontier_names.h"
#include "server/store_options.h"
#include "server/verify.h"
#include "spdlog/spdlog.h"
#include "storage/frontier_verify.h"
#include "storage/repair.h"
#include "storage/restore.h"
#include "storage/store.h"

namespace freshet {
namespace {

constexpr int kWhole = 0;
constexpr int kNotWhole = 1;

// The options of the store, but without the disk space that the server keeps in reserve: a repair
// may need that space.
StoreOptions OptionsOf(const ServerConfig& config) {
  StoreOptions options = StoreOptionsOf(config);
  options.reserve_bytes = 0;
  return options;
}

// Runs `work`, which opens stores, and returns its result. While a store is being opened, logs the
// progress every second.
template <typename T>
StatusOr<T> Reporting(const ServerConfig& config,
                      const std::function<StatusOr<T>(const StoreOptions&)>& work) {
  OpenProgress progress;
  StoreOptions options = OptionsOf(config);
  options.progress = &progress;
  StatusOr<T> result = MakeStatus(absl::StatusCode::kInternal, "nothing was done");
  RunReporting({[&] { result = work(options); }}, kReportInterval, [&] {
    if (progress.stage != OpenStage::kOpen) spdlog::info("{}", Describe(RecoveryOf(progress)));
  });
  return result;
}

int Failed(std::string_view what, const Status& status) {
  fmt::print(stderr, "freshetd: {}: {}\n", what, SafeText(std::string(status.message())));
  return kNotWhole;
}

// Where a restore creates files: `directory`, or its parent if it does not exist.
std::string PlaceOf(const std::string& directory) {
  struct stat found {};
  const bool there = stat(directory.c_str(), &found) == 0;
  return there ? directory : std::filesystem::path(directory).parent_path().string();
}

// Prints an error like Failed does. If permission was denied, also names the user that root has
// become. `as_owner`: the result of BecomeOwnerOf.
int FailedAs(const std::string& as_owner, std::string_view what, const Status& status) {
  if (!absl::IsPermissionDenied(status)) return Failed(what, status);
  const std::string_view separator = as_owner.empty() ? "" : "; root acts here as ";
  return Failed(what, MakeStatus(status.code(), "{}{}{}", std::string(status.message()), separator,
                                 as_owner));
}

int PrintReport(std::string_view done, const std::string& dir, const VerifyReport& report) {
  for (const std::string& problem : report.problems) fmt::print("problem: {}\n", problem);
  if (report.problem_count > report.problems.size()) {
    fmt::print("problem: {} more\n", report.problem_count - report.problems.size());
  }
  for (const FamilyDigest& family : report.digests) {
    fmt::print("rows {}: {} digest={:016x}\n", family.family, family.rows, family.digest);
  }
  fmt::print("{} {}: pages={} hosts={} leases={} problems={}\n", done, dir, report.pages,
             report.hosts, report.leases, report.problem_count);
  return report.ok() ? kWhole : kNotWhole;
}

// Describes damaged tables in complete lines, for people; empty = none.
std::string DescribeTables(const storage::TableDamage& tables) {
  std::string text;
  if (tables.unreadable > 0) {
    text += fmt::format(
        "lost: tables={} of {}, {} bytes that cannot be read at all: how many pages and other rows "
        "these tables had is not known, and the numbers above do not include these rows\n",
        tables.unreadable, tables.tables, tables.unreadable_bytes);
  }
  if (tables.damaged > 0) {
    text += fmt::format(
        "damaged: tables={} of {}, with {} rows in {} bytes: the repair saves the rows that it can "
        "read\n",
        tables.damaged, tables.tables, tables.damaged_rows, tables.damaged_bytes);
  }
  if (!tables.complete) {
    text += "The list of tables is lost: whether tables are missing is not known\n";
  }
  return text;
}

// Prints the problems of the crawl frontier, and a line with its counts. Prints nothing if the
// frontier was never used. Returns kWhole if there are no problems, else kNotWhole.
int PrintFrontier(std::string_view done, std::string_view problem, const FrontierReport& report) {
  for (const std::string& text : report.problems) fmt::print("{}: {}\n", problem, text);
  if (report.queues == 0 && report.ok()) return kWhole;
  fmt::print("{} frontier: crawls={} queues={} urls={} in_flight={} problems={}\n", done,
             report.crawls, report.queues, report.urls, report.in_flight, report.problem_count);
  return report.ok() ? kWhole : kNotWhole;
}

int RepairFrontierOf(const ServerConfig& config) {
  const auto report = Reporting<FrontierReport>(
      config, [&](const StoreOptions& options) -> StatusOr<FrontierReport> {
        ASSIGN_OR_RETURN(const auto store, Store::Open(config.data_dir, options));
        ASSIGN_OR_RETURN(FrontierReport repaired, RepairFrontier(*store, [](std::string_view url) {
                           return std::string(FrontierHostOf(url));
                         }));
        RETURN_IF_ERROR(store->Close());
        return repaired;
      });
  if (!report.ok()) return Failed("the frontier is not repaired", report.status());
  (void)PrintFrontier(report->ok() ? "intact" : "repaired", "found", *report);
  if (report->lost_rows > 0) fmt::print("lost: frontier_rows={}\n", report->lost_rows);
  return kWhole;
}

int RepairPages(const ServerConfig& config, const std::string& as_owner) {
  // A repair fixes what RunVerify finds.
  const storage::RepairChecks checks{
      .verify = [&](const Store& store) { return VerifyStore(store, config); },
      .knows_policy = [](const std::string& name) { return ResolvePolicy(name).ok(); }};
  const auto report = Reporting<storage::RepairReport>(config, [&](const StoreOptions& options) {
    return storage::Repair(config.data_dir, options, checks);
  });
  if (!report.ok()) {
    return FailedAs(as_owner, "not repaired; all files are unchanged", report.status());
  }
  for (const std::string& note : report->notes) fmt::print("found: {}\n", note);
  if (report->intact) {
    fmt::print("intact {}: pages={} hosts={} leases={}\n", config.data_dir, report->pages,
               report->hosts, report->leases);
    return kWhole;
  }
  fmt::print(
      "saved: pages={} hosts={} leases={}\n"
      "lost: pages={} leases={} other_rows={}\n"
      "{}"
      "The damaged files are kept in {}\n"
      "repaired {}\n",
      report->pages, report->hosts, report->leases, report->lost_pages, report->lost_leases,
      report->lost_rows, DescribeTables(report->tables), report->original, config.data_dir);
  return kWhole;
}

}  // namespace

int RunVerify(const ServerConfig& config) {
  const StatusOr<std::string> as_owner = BecomeOwnerOf(config.data_dir);
  if (!as_owner.ok()) return Failed("cannot verify", as_owner.status());
  const StatusOr<std::unique_ptr<Store>> store =
      Reporting<std::unique_ptr<Store>>(config, [&](const StoreOptions& options) {
        StoreOptions existing = options;
        existing.create_if_missing = false;
        existing.alone = true;
        return Store::Open(config.data_dir, existing);
      });
  if (!store.ok()) {
    if (absl::IsDataLoss(store.status())) {
      fmt::print("problem: {}\n", SafeText(std::string(store.status().message())));
    }
    return FailedAs(*as_owner, "cannot verify", store.status());
  }
  const StatusOr<VerifyReport> report = VerifyStore(**store, config);
  if (!report.ok()) return Failed("cannot verify", report.status());
  const int pages = PrintReport("verified", config.data_dir, *report);
  const StatusOr<FrontierReport> frontier = VerifyFrontier(**store);
  if (!frontier.ok()) return Failed("cannot verify the frontier", frontier.status());
  return std::max(pages, PrintFrontier("verified", "problem", *frontier));
}

int RunRepair(const ServerConfig& config) {
  const StatusOr<std::string> as_owner = BecomeOwnerOf(config.data_dir);
  if (!as_owner.ok()) return Failed("not repaired", as_owner.status());
  const int pages = RepairPages(config, *as_owner);
  return pages == kWhole ? RepairFrontierOf(config) : pages;
}

int RunRestore(const ServerConfig& config, const std::string& checkpoint, bool leave_cluster) {
  const StatusOr<std::string> as_owner = BecomeOwnerOf(PlaceOf(config.data_dir));
  if (!as_owner.ok()) return Failed("cannot restore", as_owner.status());
  const auto report = Reporting<VerifyReport>(config, [&](StoreOptions options) {
    options.leave_log = leave_cluster;
    return storage::Restore(checkpoint, config.data_dir, options);
  });
  if (!report.ok()) return FailedAs(*as_owner, "cannot restore", report.status());
  if (report->ok()) {
    const int pages = PrintReport("restored", config.data_dir, *report);
    // If the checkpoint is from a standby that was killed, it can hold half of a commit. So the
    // frontier in the checkpoint of a cluster is repaired at once.
    return leave_cluster ? std::max(pages, RepairFrontierOf(config)) : pages;
  }
  (void)PrintReport("did not restore", config.data_dir, *report);
  return Failed("cannot restore",
                MakeStatus(absl::StatusCode::kDataLoss, "{} is damaged", checkpoint));
}

}  // namespace freshet
