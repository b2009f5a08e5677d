// freshetd: reads flags and configuration, and sets up the real clock and signal handling. Server
// does everything else.
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "CLI/CLI.hpp"
#include "core/base/counted.h"
#include "core/base/sanitized.h"
#include "fmt/format.h"
#include "server/api/context.h"
#include "server/base/system_clock.h"
#include "server/base/wall_clock.h"
#include "server/check_config.h"
#include "server/config/loading.h"
#include "server/logging.h"
#include "server/logs/log_text.h"
#include "server/logs/loggers.h"
#include "server/maintenance.h"
#include "server/server.h"
#include "spdlog/spdlog.h"
#include "storage/directory.h"
#include "sync/mutex.h"
#include "tools/common/command_help.h"
#include "tools/common/command_line_fault.h"

namespace freshet {
namespace {

constexpr int kFailure = 1;
constexpr int kBadUsage = 2;
// Some senders, for example timeout(1), signal a process and then its process group. Signals within
// this time count as one request.
constexpr Duration kOneRequest = Duration::Millis(500);

// The tasks other than serving. At most one of them is set.
struct Maintenance {
  bool check_config = false;
  bool print_config = false;
  bool verify = false;
  bool repair = false;
  std::string checkpoint;
  bool leave_cluster = false;

  [[nodiscard]] bool asked() const { return verify || repair || !checkpoint.empty(); }
};

void AddMaintenanceFlags(CLI::App& app, Maintenance& maintenance) {
  CLI::Option* verify = app.add_flag("--verify", maintenance.verify,
                                     "Check the whole store, print what is wrong, and exit");
  CLI::Option* repair = app.add_flag("--repair", maintenance.repair,
                                     "Make a damaged store usable, keep its old files, and exit");
  CLI::Option* restore = app.add_option(
      "--restore", maintenance.checkpoint,
      "Restore this checkpoint into the data directory, which must be missing or empty, and exit");
  app.add_flag("--leave-cluster", maintenance.leave_cluster,
               "With --restore: make a single server, in no cluster, from a checkpoint of a server "
               "of a cluster")
      ->needs(restore);
  verify->excludes(repair, restore);
  repair->excludes(restore);
  CLI::Option* check =
      app.add_flag("--check-config", maintenance.check_config,
                   "Print everything that is wrong with the configuration, and exit");
  CLI::Option* print =
      app.add_flag("--print-config", maintenance.print_config,
                   "Print all configuration values in force and where each comes from, and exit");
  check->excludes(print, verify, repair, restore);
  print->excludes(verify, repair, restore);
}

void AddFlags(CLI::App& app, CommandLine& line) {
  app.add_option("--data-dir", line.data_dir, "Directory of the store (default ./data/freshet)");
  app.add_option("--listen", line.listen,
                 "Address for gRPC; port 0 picks a free port (default 127.0.0.1:7071)");
  app.add_option("--http-listen", line.http_listen,
                 "Address for HTTP: metrics and the console (default 127.0.0.1:7072)");
  app.add_option("--crawl-rate", line.crawl_rate,
                 "Crawls per second that the server may hand out (default 10)");
  app.add_option(
      "--policy", line.policy,
      "Crawl policy: a name that `freshet policy` lists (default: the policy named default)");
  app.add_option("--config", line.config_file,
                 "Configuration file (YAML); environment variables and flags override it");
  app.add_option(
      "--durability", line.durability,
      "What acknowledged data survives: a power cut (sync, the default), only a crash of the "
      "server (wal) or neither (none)");
  app.add_option("--shards", line.shards,
                 "Number of shards, the parts of the store that run in parallel (default 1)");
  app.add_option("--tls-certificate", line.tls_certificate,
                 "Certificate chain of the server (PEM); both ports then speak only TLS");
  app.add_option("--tls-key", line.tls_key, "Private key of the certificate (PEM)");
  app.add_option("--tls-client-ca", line.tls_client_ca,
                 "CA certificate (PEM) that signs the certificates of clients");
  app.add_option("--auth-file", line.auth_file, "File of identities and their roles (YAML)");
  app.add_flag("--insecure", line.insecure,
               "Serve other machines even without TLS or without checking who calls");
  app.add_option(
      "--log-level", line.log_level,
      "Lowest level of messages to log: trace, debug, info (the default), warn, error or off");
  app.add_option("--log-format", line.log_format,
                 "Format of log messages: text (the default) or json");
}

// SIGTERM and SIGINT, which end the server, and SIGHUP, which makes it read its files again.
sigset_t EndingSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGHUP);
  return signals;
}

// Blocks these signals (`how` = SIG_BLOCK) for this thread and the threads that it starts, or
// unblocks them (SIG_UNBLOCK), which also delivers pending ones.
void MaskEndSignals(int how) {
  const sigset_t signals = EndingSignals();
  pthread_sigmask(how, &signals, nullptr);
}

// Waits for signals that every other thread has blocked: the first one asks for an orderly end, the
// second one ends the process at once. Owner thread only.
class EndSignals {
 public:
  // Both functions are called on a separate thread: `on_first` once, at the first signal that asks
  // for the end, and `on_hang_up` at every SIGHUP.
  EndSignals(Clock& clock, std::function<void()> on_first, std::function<void()> on_hang_up)
      : clock_(clock),
        on_hang_up_(std::move(on_hang_up)),
        thread_([this, first = std::move(on_first)] { Run(first); }) {}
  ~EndSignals() {
    over_ = true;
    pthread_kill(thread_.native_handle(), SIGINT);
    thread_.join();
  }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;

  // Acts as if a signal had asked for the end. The next signal then still counts as a first one, so
  // it does not end the process at once. Thread-safe.
  void Ask() {
    asked_ = true;
    (void)kill(getpid(), SIGTERM);
  }
  [[nodiscard]] bool come() const { return come_; }
  void Await() {
    const MutexLock lock(mutex_);
    while (!come_) first_.Wait(mutex_);
  }

 private:
  void Run(const std::function<void()>& on_first) {
    int signal = 0;
    Instant came_at;
    while (sigwait(&signals_, &signal) == 0 && !over_) {
      if (signal == SIGHUP) {
        on_hang_up_();
        continue;
      }
      if (come_ && clock_.Now() - came_at < kOneRequest) continue;
      if (come_ && asked_.exchange(false)) {
        spdlog::info("already stopping");
        came_at = clock_.Now();
        continue;
      }
      if (come_) {
        spdlog::critical("ending at once: a second signal came before everything was closed");
        std::_Exit(kFailure);
      }
      spdlog::info("stopping");
      came_at = clock_.Now();
      on_first();
      const MutexLock lock(mutex_);
      come_ = true;
      first_.NotifyAll();
    }
  }

  const sigset_t signals_ = EndingSignals();
  Clock& clock_;
  const std::function<void()> on_hang_up_;
  std::atomic<bool> over_ = false;
  std::atomic<bool> come_ = false;
  std::atomic<bool> asked_ =
      false;  // set by Ask; the next signal that comes while the server stops is ignored
  Mutex mutex_;
  Condition first_;
  std::thread thread_;  // last, because it uses the members above
};

int Stop(Server& server) {
  const Status status = server.Stop();
  if (!status.ok()) {
    spdlog::critical("stopped, but the store has an error: {}", status.ToString());
    return kFailure;
  }
  spdlog::info("stopped");
  return 0;
}

// Logs what --insecure means.
void WarnOfInsecurity(const ServerConfig& config) {
  if (config.tls_certificate.empty()) {
    spdlog::warn("insecure: without TLS anybody on the network can read the traffic of clients");
  }
  if (config.auth_file.empty() && config.tls_client_ca.empty()) {
    spdlog::warn("insecure: without identities anybody who reaches {} or {} may do everything",
                 config.listen, config.http_listen);
  }
}

// Reads all files of the configuration again.
void Reload(const CommandLine& line, Server& server) {
  LoadedConfig loaded = LoadConfig(line, ProcessEnvironment());
  const StatusOr<std::string> data_dir = storage::AbsolutePath(loaded.config.data_dir);
  if (data_dir.ok()) loaded.config.data_dir = *data_dir;
  if (loaded.problems.empty()) return server.Reload(loaded.config);
  for (const ConfigProblem& problem : loaded.problems) {
    Logger(LogModule::kConfig).error("{}", loaded.Describe(problem));
  }
  Logger(LogModule::kConfig).error("the new configuration is not used; the old one stays in force");
  server.Reload();
}

// Ends the process when everything is closed. A normal exit might delay a restart: gRPC 1.51 waits
// up to ten seconds for a sleeping thread if a client was slow to read its answers.
[[noreturn]] void EndProcess(int code) {
  FlushLogs();
  std::fflush(stdout);
  std::_Exit(code);
}

int Run(const ServerConfig& config, const CommandLine& line) {
  // A client that disconnects must not end the server.
  std::signal(SIGPIPE, SIG_IGN);

  SystemClock clock;
  Server server(config, clock);
  EndSignals signals(
      clock, [&server] { server.RequestStop(); }, [&] { Reload(line, server); });
  std::atomic<bool> replaced = false;
  server.WhenReplaced([&] {
    spdlog::critical("another server of the cluster is active now, so this server ends");
    replaced = true;
    // If a signal has already come, the server is already stopping.
    if (!signals.come()) signals.Ask();
  });
  server.WhenToEnd([&](std::string_view why, bool at_once) {
    if (signals.come() && !at_once) return;
    spdlog::log(at_once ? spdlog::level::critical : spdlog::level::warn,
                "this server ends {}so that another server of the cluster can serve: {}",
                at_once ? "at once " : "", why);
    if (at_once) std::_Exit(kFailure);
    signals.Ask();
  });
  if (config.insecure) WarnOfInsecurity(config);
  const StatusOr<ServingInfo> info = server.Start();
  if (absl::IsCancelled(info.status())) {
    spdlog::info("stopped before it served");
    return replaced ? kFailure : 0;
  }
  if (!info.ok()) {
    spdlog::critical("cannot start: {}", std::string(info.status().message()));
    return kFailure;
  }
  if (signals.come()) return Stop(server);
  fmt::print("ready grpc={} http={} pages={} recovered_seconds={:.3f}\n", info->grpc_address,
             info->http_address, info->pages, info->recovered_seconds);
  std::fflush(stdout);
  spdlog::info("serving {}: grpc {}, console {}://{}/", Counted(info->pages, "page"),
               info->grpc_address, config.tls_certificate.empty() ? "http" : "https",
               info->http_address);
  signals.Await();
  const int status = Stop(server);
  // The exit code for failure makes the service manager start the server again, as a standby.
  const int code = replaced ? kFailure : status;
  if (!kSanitized) EndProcess(code);
  return code;
}

int RunMaintenance(const ServerConfig& config, const Maintenance& maintenance) {
  // A signal can end these tasks at any time. They only read, work on copies, or change the store
  // by whole commits.
  MaskEndSignals(SIG_UNBLOCK);
  if (maintenance.verify) return RunVerify(config);
  if (maintenance.repair) return RunRepair(config);
  return RunRestore(config, maintenance.checkpoint, maintenance.leave_cluster);
}

constexpr std::array kExamples = {
    CommandExample{"freshetd",
                   "  freshetd --data-dir /var/lib/freshet --crawl-rate 25\n"
                   "  freshetd --check-config --config /etc/freshet/freshet.yaml\n"
                   "  freshetd --data-dir /var/lib/freshet --verify\n"},
};
constexpr const char* kFooter =
    "Files: --data-dir is a directory that the server makes; --config names the configuration, "
    "such\n"
    "as /etc/freshet/freshet.yaml.\n"
    "Environment: a variable for each key with one value, such as FRESHET_CRAWL_RATE for "
    "crawl_rate.\n"
    "Exit code: 0 ended by a signal, 1 failed, 2 bad command line or configuration.";

int Main(int argc, char** argv) {
  // Signals are blocked first, so that an early one is not lost.
  MaskEndSignals(SIG_BLOCK);
  // Only the owner may read the store's files. They hold pages, and the secret that fingerprints
  // depend on.
  umask(S_IRWXG | S_IRWXO);
  CLI::App app(
      "Freshet, the recrawl scheduler: a server that decides which page a crawler fetches next.",
      "freshetd");
  app.set_version_flag("--version", std::string("freshetd ") + kVersion);
  CommandLine line;
  AddFlags(app, line);
  Maintenance maintenance;
  AddMaintenanceFlags(app, maintenance);
  FinishHelp(app, kExamples, kFooter);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help and --version
    fmt::print(stderr, "freshetd: {} (see --help)\n", CommandLineFault(app, error));
    return kBadUsage;
  }
  LoadedConfig loaded = LoadConfig(line, ProcessEnvironment());
  if (maintenance.check_config) return RunCheckConfig(std::move(loaded));
  if (maintenance.print_config) return RunPrintConfig(loaded);
  if (const Status status = loaded.status(); !status.ok()) {
    fmt::print(stderr, "freshetd: {}\n", LogText(std::string(status.message())));
    return kBadUsage;
  }
  ServerConfig& config = loaded.config;
  // Messages about the store give its full path.
  const StatusOr<std::string> data_dir = storage::AbsolutePath(config.data_dir);
  if (!data_dir.ok()) {
    fmt::print(stderr, "freshetd: data_dir: {}\n", std::string(data_dir.status().message()));
    return kFailure;
  }
  config.data_dir = *data_dir;
  StartLogging(config);
  if (const Status status = CheckWallClock(); !status.ok()) {
    spdlog::critical("cannot start: {}", std::string(status.message()));
    return kFailure;
  }
  return maintenance.asked() ? RunMaintenance(config, maintenance) : Run(config, line);
}

}  // namespace
}  // namespace freshet

// jemalloc reads this at the start. With this setting, background threads return memory that has
// been free for ten seconds. Without it only allocating threads return memory, and an idle server
// would keep the memory of an earlier flood of calls.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "background_thread:true";
}

int main(int argc, char** argv) { return freshet::Main(argc, argv); }
