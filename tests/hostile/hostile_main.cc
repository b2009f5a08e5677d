// Attacks freshetd with all hostile scripts, or with those that are named, and checks that honest
// clients are still served. A failure prints one line, with the command that repeats the script.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "CLI/CLI.hpp"
#include "fmt/format.h"
#include "google/protobuf/stubs/logging.h"
#include "tests/hostile/scripts.h"
#include "tests/hostile/siege.h"

namespace freshet::hostile {
namespace {

struct Options {
  double seconds = 8;
  uint64_t seed = 1;
  bool guarded = false;
  std::vector<std::string> scripts;

  [[nodiscard]] bool Wants(const std::string& name) const {
    return scripts.empty() || std::find(scripts.begin(), scripts.end(), name) != scripts.end();
  }
};

// Allows as many connections as the system permits, because attackers open more than a thousand.
void RaiseFileLimit() {
  rlimit files = {};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

// Returns "" or "SCRIPT: FAULT".
std::string Run(const Options& options, const std::string& directory) {
  for (const OwnScript& script : kOwnScripts) {
    // These scripts do not depend on identities.
    if (options.guarded || !options.Wants(script.name)) continue;
    std::string wrong;
    // Each script runs in its own thread, so that no other thread sees its mounts.
    std::thread([&] {
      wrong = script.play(directory + "/" + script.name, Random(options.seed));
    }).join();
    if (!wrong.empty()) return fmt::format("{}: {}", script.name, wrong);
  }
  std::vector<Script> scripts;
  for (const Script& script : kScripts) {
    if (options.Wants(script.name)) scripts.push_back(script);
  }
  if (scripts.empty()) return {};
  return RunSiege(directory, scripts, options.seed, options.seconds, options.guarded);
}

// Returns the flags that repeat the failed script. If the failure needed several scripts, returns
// the flags that repeat all chosen scripts.
std::string Again(const Options& options, const std::string& script) {
  std::string flags = options.guarded ? " --guarded" : "";
  if (script != "all" && script != "none") return flags + " --script " + script;
  for (const std::string& chosen : options.scripts) flags += " --script " + chosen;
  return flags;
}

int Main(const Options& options) {
  std::signal(SIGPIPE, SIG_IGN);
  // The scripts deliberately send text that is not UTF-8. Protobuf must not log it each time.
  google::protobuf::SetLogHandler(nullptr);
  RaiseFileLimit();
  std::string directory = std::filesystem::temp_directory_path() / "freshet_hostile_XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) {
    fmt::print(stderr, "hostile: cannot create {}\n", directory);
    return 1;
  }
  const std::string wrong = Run(options, directory);
  if (!wrong.empty()) {
    fmt::print(stderr,
               "hostile: FAILED seed={} script={}; data in {}; again: ./dev hostile --seed {} "
               "--seconds {}{}\n",
               options.seed, wrong, directory, options.seed, options.seconds,
               Again(options, wrong.substr(0, wrong.find(':'))));
    return 1;
  }
  fmt::print("hostile: seed {}, nothing broke\n", options.seed);
  std::error_code error;
  std::filesystem::remove_all(directory, error);
  return 0;
}

}  // namespace
}  // namespace freshet::hostile

int main(int argc, char** argv) {
  CLI::App app("Attacks freshetd with hostile scripts, and checks that honest clients are served.");
  freshet::hostile::Options options;
  app.add_option("--seconds", options.seconds, "how long the common server is attacked (8)")
      ->check(CLI::PositiveNumber);
  app.add_option("--seed", options.seed, "seed of all scripts (1)");
  app.add_flag("--guarded", options.guarded,
               "the server wants TLS and identities, which the hostile clients do not have");
  app.add_option("--script", options.scripts, "only these scripts (all)")
      ->check([](const std::string& name) {
        for (const auto& script : freshet::hostile::kScripts) {
          if (name == script.name) return std::string();
        }
        for (const auto& script : freshet::hostile::kOwnScripts) {
          if (name == script.name) return std::string();
        }
        return "there is no script " + name;
      });
  CLI11_PARSE(app, argc, argv);
  return freshet::hostile::Main(options);
}
