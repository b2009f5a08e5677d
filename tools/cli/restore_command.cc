// restore: needs neither a server nor the code of the store. It runs the program freshetd that is
// installed next to this one.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <memory>
#include <string>

#include "fmt/format.h"
#include "tools/cli/commands.h"

extern char** environ;

namespace freshet::cli {
namespace {

// Returns the freshetd next to this program, or else the one on the path.
std::string Daemon() {
  char self[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", self, sizeof(self));
  if (size > 0) {
    std::string path(self, static_cast<size_t>(size));
    path.replace(path.rfind('/') + 1, std::string::npos, "freshetd");
    if (access(path.c_str(), X_OK) == 0) return path;
  }
  return "freshetd";
}

ExitCode Restore(Session& session, std::string checkpoint, std::string data_dir) {
  std::string daemon = Daemon();
  std::string restore = "--restore";
  std::string to = "--data-dir";
  std::string level = "--log-level";
  std::string warn = "warn";
  char* arguments[] = {daemon.data(),   restore.data(), checkpoint.data(), to.data(),
                       data_dir.data(), level.data(),   warn.data(),       nullptr};
  session.out().flush();
  pid_t child = 0;
  const int error = posix_spawnp(&child, daemon.c_str(), nullptr, nullptr, arguments, environ);
  if (error != 0) {
    session.Complain(fmt::format("cannot run {}: {}", daemon, std::strerror(error)));
    return kRefused;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return kRefused;
  }
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1;
  return code == 0 ? kAccepted : code == 2 ? kBadUsage : kRefused;
}

}  // namespace

void AddRestoreCommand(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "restore", "Make a data directory from a checkpoint; needs no running server");
  const auto checkpoint = std::make_shared<std::string>();
  const auto data_dir = std::make_shared<std::string>();
  command->add_option("CHECKPOINT", *checkpoint, "Directory of the checkpoint")->required();
  command->add_option("DATA_DIR", *data_dir, "The new data directory; it must be missing or empty")
      ->required();
  command->callback([checkpoint, data_dir, &action] {
    action = [checkpoint, data_dir](Session& session) {
      return Restore(session, *checkpoint, *data_dir);
    };
  });
}

}  // namespace freshet::cli
