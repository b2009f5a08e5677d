#include "tests/crash/daemon.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>

#include "core/base/check.h"
#include "fmt/format.h"

extern char** environ;

namespace freshet::crash {
namespace {

std::string Described(int status) {
  if (WIFSIGNALED(status)) return fmt::format("freshetd died of signal {}", WTERMSIG(status));
  return fmt::format("freshetd ended with exit code {}", WEXITSTATUS(status));
}

}  // namespace

Daemon::~Daemon() {
  if (pid_ > 0) (void)Kill();
}

void Daemon::Spawn(const std::vector<std::string>& flags) {
  CHECK(pid_ < 0, "it runs already");
  std::vector<std::string> words = {FRESHET_BIN_DIR "/freshetd",
                                    "--data-dir",
                                    data_dir_,
                                    "--listen",
                                    "127.0.0.1:0",
                                    "--http-listen",
                                    "127.0.0.1:0",
                                    "--log-level",
                                    "warn"};
  words.insert(words.end(), flags.begin(), flags.end());
  if (max_files_ > 0) {
    const std::string limited = fmt::format("ulimit -n {} && exec \"$0\" \"$@\"", max_files_);
    words.insert(words.begin(), {"/bin/sh", "-c", limited});
  }
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int out[2];
  CHECK(pipe2(out, O_CLOEXEC) == 0);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log_.c_str(),
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  if (!directory_.empty()) posix_spawn_file_actions_addchdir_np(&actions, directory_.c_str());
  const int error = posix_spawn(&pid_, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  CHECK(error == 0, "cannot start {}", words.front());
  close(out[1]);
  out_ = out[0];
}

std::string Daemon::AwaitReady() {
  std::string line;
  char c = 0;
  while (read(out_, &c, 1) == 1 && c != '\n') line.push_back(c);
  close(std::exchange(out_, -1));
  char address[100] = {};
  char http[100] = {};
  if (std::sscanf(line.c_str(), "ready grpc=%99s http=%99s pages=%lu", address, http, &pages_) !=
      3) {
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    return "instead of getting ready, " + Described(status);
  }
  grpc_address_ = address;
  http_address_ = http;
  grpc::ChannelArguments arguments;
  // Without a local pool, channels to one address would share a connection, even to different
  // servers.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  channel_ = grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments);
  return {};
}

std::string Daemon::Kill() {
  kill(pid_, SIGKILL);
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  if (out_ >= 0) close(std::exchange(out_, -1));
  const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  return killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0) ? "" : Described(status);
}

std::string Daemon::Verify(std::vector<std::string> flags) {
  flags.emplace_back("--verify");
  Spawn(flags);
  std::string said;
  char buffer[4096];
  for (ssize_t n = 0; (n = read(out_, buffer, sizeof buffer)) > 0;) {
    said.append(buffer, static_cast<size_t>(n));
  }
  close(std::exchange(out_, -1));
  const std::string wrong = AwaitEnd();
  return wrong.empty() ? "" : "verification: " + wrong + ": " + said;
}

void Daemon::RequestStop() const { kill(pid_, SIGTERM); }

bool Daemon::EndsWithin(int seconds) const {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  CHECK(fd >= 0, "no handle of process {}", pid_);
  pollfd ended = {fd, POLLIN, 0};
  const bool in_time = poll(&ended, 1, seconds * 1000) == 1;
  close(fd);
  return in_time;
}

std::string Daemon::AwaitEnd() {
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : Described(status);
}

}  // namespace freshet::crash
