// freshet-demo: plays the real history of a site's pages against a running freshetd. Start it with
// `./dev run`.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>

#include "CLI/CLI.hpp"
#include "freshet/version.h"
#include "lab/demo/play.h"
#include "lab/demo/prepare.h"
#include "tools/common/command_help.h"
#include "tools/common/command_line_fault.h"

namespace freshet::demo {
namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;
constexpr int kNotReachable = 3;

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

int64_t Now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::microseconds>(now).count();
}

void CatchInterrupts() {
  struct sigaction action = {};
  action.sa_handler = [](int) { interrupted = true; };
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

Status RunPrepare(const PrepareOptions& options) {
  ASSIGN_OR_RETURN(const Prepared prepared, Prepare(options, Now()));
  if (!prepared.decision.reason.empty()) {
    std::fprintf(stderr, "%s\n", prepared.decision.reason.c_str());
  }
  std::fputs(ServerSettings(prepared).c_str(), stdout);
  return absl::OkStatus();
}

Status RunPlay(PlayOptions options) {
  CatchInterrupts();
  options.terminal = isatty(STDOUT_FILENO) != 0;
  options.now = Now;
  options.interrupted = [] { return interrupted.load(); };
  return Play(options);
}

int ExitCode(const Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return 0;
    case absl::StatusCode::kInvalidArgument:
    case absl::StatusCode::kNotFound:
      return kBadUsage;
    case absl::StatusCode::kUnavailable:
      return kNotReachable;
    default:
      return kFailed;
  }
}

int Run(int argc, char** argv) {
  CLI::App app("Plays the real history of a site's pages against a running freshetd.",
               "freshet-demo");
  app.require_subcommand(1);
  app.set_version_flag("--version", "freshet-demo " FRESHET_VERSION);
  Status status;

  PrepareOptions prepare;
  CLI::App* prepare_command = app.add_subcommand("prepare", "Readies a directory for a run");
  prepare_command->add_option("--run-dir", prepare.run_dir, "Directory of the run")->required();
  prepare_command->add_option("--history", prepare.history, "History to play")->required();
  prepare_command->add_option("--seconds", prepare.seconds, "How long the replay takes");
  prepare_command->add_option("--crawl-rate", prepare.crawl_rate_per_second, "Crawls a second");
  prepare_command->add_option("--rate", prepare.rate, "Crawls a history day for 1,000 pages");
  prepare_command->add_option("--years", prepare.years, "Plays the last years of the history");
  prepare_command->add_option("--recall", prepare.recall,
                              "Share of the changes that polls announce");
  for (CLI::Option* option : prepare_command->get_options()) {
    option->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  }
  prepare_command->callback([&] { status = RunPrepare(prepare); });

  PlayOptions play;
  CLI::App* play_command = app.add_subcommand("play", "Plays a readied run");
  play_command->add_option("--run-dir", play.run_dir, "Directory of the run")->required();
  play_command->add_option("--server", play.server, "HOST:PORT of freshetd's gRPC")->required();
  play_command->add_option("--http", play.http, "HOST:PORT of its console")->required();
  AddSecurityOptions(*play_command, play.security);
  play_command->add_option("--workers", play.workers, "Fetch workers")->check(CLI::Range(1, 64));
  play_command->callback([&] { status = RunPlay(play); });

  FinishHelp(app, {}, "");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "freshet-demo: %s (see --help)\n", CommandLineFault(app, error).c_str());
    return kBadUsage;
  }
  if (!status.ok()) {
    std::fprintf(stderr, "freshet-demo: %s\n", std::string(status.message()).c_str());
  }
  return ExitCode(status);
}

}  // namespace
}  // namespace freshet::demo

int main(int argc, char** argv) {
  try {
    return freshet::demo::Run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "freshet-demo: %s\n", error.what());
    return freshet::demo::kFailed;
  }
}
