// freshetd: flags, configuration, the real clock and signals; everything else is in Server.
#include <csignal>
#include <cstdio>
#include <string>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "server/config.h"
#include "server/context.h"
#include "server/logging.h"
#include "server/maintenance.h"
#include "server/server.h"
#include "server/system_clock.h"
#include "spdlog/spdlog.h"
#include "storage/directory.h"

namespace freshet {
namespace {

constexpr int kFailure = 1;
constexpr int kBadUsage = 2;

// What to do instead of serving, at most one of them.
struct Maintenance {
  bool verify = false;
  bool repair = false;
  std::string checkpoint;
};

void AddMaintenanceFlags(CLI::App& app, Maintenance& maintenance) {
  CLI::Option* verify =
      app.add_flag("--verify", maintenance.verify, "check the whole store instead of serving it");
  CLI::Option* repair = app.add_flag("--repair", maintenance.repair,
                                     "make a damaged store usable, keeping its files aside");
  CLI::Option* restore =
      app.add_option("--restore", maintenance.checkpoint,
                     "make the data directory, missing or empty, of this checkpoint");
  verify->excludes(repair, restore);
  repair->excludes(restore);
}

void AddFlags(CLI::App& app, CommandLine& line) {
  app.add_option("--data-dir", line.data_dir, "directory of the store (./data/freshet)");
  app.add_option("--listen", line.listen, "gRPC address, port 0 = any free (127.0.0.1:7071)");
  app.add_option("--http-listen", line.http_listen,
                 "HTTP address of metrics and the operator page (127.0.0.1:7072)");
  app.add_option("--crawl-rate", line.crawl_rate, "assignments per second (10)");
  app.add_option("--policy", line.policy, "crawl policy (default)");
  app.add_option("--config", line.config_file, "YAML file; flags win over it");
  app.add_option("--durability", line.durability,
                 "when acknowledgements leave: sync, wal or none (sync)");
  app.add_option("--shards", line.shards, "number of shards (1)");
  app.add_option("--log-level", line.log_level, "trace, debug, info, warn, error or off (info)");
}

int Run(const ServerConfig& config) {
  // Blocked before any thread starts, so that all of them leave these signals to sigwait below.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  // A client that goes away must not end the server.
  std::signal(SIGPIPE, SIG_IGN);

  SystemClock clock;
  Server server(config, clock);
  const StatusOr<ServingInfo> info = server.Start();
  if (!info.ok()) {
    spdlog::critical("cannot start: {}", std::string(info.status().message()));
    return kFailure;
  }
  fmt::print("ready grpc={} http={} pages={} recovered_seconds={:.3f}\n", info->grpc_address,
             info->http_address, info->pages, info->recovered_seconds);
  std::fflush(stdout);
  spdlog::info("serving {} pages: grpc {}, operator page http://{}/", info->pages,
               info->grpc_address, info->http_address);
  int signal = 0;
  sigwait(&signals, &signal);
  spdlog::info("stopping");
  const Status status = server.Stop();
  if (!status.ok()) {
    spdlog::critical("stopped with the store in error: {}", status.ToString());
    return kFailure;
  }
  spdlog::info("stopped");
  return 0;
}

int Main(int argc, char** argv) {
  CLI::App app("Freshet, the recrawl scheduler: serves which page to fetch next.", "freshetd");
  app.set_version_flag("--version", std::string("freshetd ") + kVersion);
  CommandLine line;
  AddFlags(app, line);
  Maintenance maintenance;
  AddMaintenanceFlags(app, maintenance);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    fmt::print(stderr, "freshetd: {}\n", error.what());
    return kBadUsage;
  }
  StatusOr<ServerConfig> config = MakeConfig(line);
  if (!config.ok()) {
    fmt::print(stderr, "freshetd: {}\n", std::string(config.status().message()));
    return kBadUsage;
  }
  // Whatever is said of the store says where it is.
  const StatusOr<std::string> data_dir = storage::AbsolutePath(config->data_dir);
  if (!data_dir.ok()) {
    fmt::print(stderr, "freshetd: data_dir: {}\n", std::string(data_dir.status().message()));
    return kFailure;
  }
  config->data_dir = *data_dir;
  StartLogging(config->log_level);
  if (maintenance.verify) return RunVerify(*config);
  if (maintenance.repair) return RunRepair(*config);
  if (!maintenance.checkpoint.empty()) return RunRestore(*config, maintenance.checkpoint);
  return Run(*config);
}

}  // namespace
}  // namespace freshet

int main(int argc, char** argv) { return freshet::Main(argc, argv); }
