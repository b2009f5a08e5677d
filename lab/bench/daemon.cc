#include "lab/bench/daemon.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/base/check.h"
#include "fmt/format.h"
#include "httplib.h"

namespace freshet {
namespace {

// Timeout of a request to the HTTP port, in seconds.
constexpr time_t kHttpPatience = 10;

Status CannotStart(const std::string& program) {
  return MakeStatus(absl::StatusCode::kUnavailable, "cannot start {}", program);
}

// Returns a port that is free now; 0 = none was found.
uint16_t FreePort() {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  uint16_t port = 0;
  if (bind(socket, reinterpret_cast<const sockaddr*>(&address), size) == 0 &&
      getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0) {
    port = ntohs(address.sin_port);
  }
  close(socket);
  return port;
}

}  // namespace

std::optional<ProcessUse> UseOf(pid_t process) {
  const std::string dir = fmt::format("/proc/{}/", process);
  std::ifstream stat(dir + "stat");
  std::string line;
  if (!std::getline(stat, line)) return std::nullopt;
  // The name is in parentheses and can contain any characters. User and system time are fields 14
  // and 15.
  std::istringstream fields(line.substr(line.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  double user = 0;
  double system = 0;
  fields >> user >> system;
  ProcessUse use;
  use.cpu_seconds = (user + system) / static_cast<double>(sysconf(_SC_CLK_TCK));
  std::ifstream status(dir + "status");
  while (std::getline(status, line)) {
    if (line.starts_with("VmRSS:")) use.resident_mb = std::atof(line.c_str() + 6) / 1024;
  }
  return use;
}

StatusOr<std::map<std::string, double>> ReadMetrics(const std::string& address,
                                                    const std::string& ca) {
  httplib::Client client((ca.empty() ? "http://" : "https://") + address);
  client.set_read_timeout(kHttpPatience);
  if (!ca.empty()) client.set_ca_cert_path(ca);
  const httplib::Result answer = client.Get("/metrics");
  if (!answer || answer->status != 200) {
    return MakeStatus(absl::StatusCode::kUnavailable, "no metrics at {}", address);
  }
  std::map<std::string, double> metrics;
  std::istringstream lines(answer->body);
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.rfind(' ');
    if (line.starts_with('#') || space == std::string::npos) continue;
    const double value = std::atof(line.c_str() + space);
    const std::string name = line.substr(0, space);
    const size_t labels = name.find('{');
    metrics[name.substr(0, labels)] += value;
    if (labels != std::string::npos) metrics[name] = value;
  }
  return metrics;
}

Status BenchDaemon::Start(const std::string& data_dir, const std::string& log,
                          const std::vector<std::string>& flags) {
  CHECK(pid_ < 0, "it runs already");
  std::error_code error;
  const auto beside = std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
  const std::string program = program_.empty() ? (beside / "freshetd").string() : program_;
  log_ = log;
  http_address_ = fmt::format("127.0.0.1:{}", FreePort());
  std::vector<std::string> words = {program,       "--data-dir",  data_dir,
                                    "--listen",    "127.0.0.1:0", "--http-listen",
                                    http_address_, "--log-level", "warn"};
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return CannotStart(program);
  const int log_file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  pid_ = fork();
  if (pid_ == 0) {
    // The daemon must not outlive this process, even if this process is killed.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(out[1], STDOUT_FILENO);
    dup2(log_file, STDERR_FILENO);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(out[1]);
  close(log_file);
  out_ = out[0];
  return pid_ > 0 ? Status() : CannotStart(program);
}

Status BenchDaemon::AwaitReady() {
  CHECK(out_ >= 0, "was started, and is not ready yet");
  std::string line;
  char c = 0;
  while (read(out_, &c, 1) == 1 && c != '\n') line.push_back(c);
  close(std::exchange(out_, -1));
  char grpc[100] = {};
  if (std::sscanf(line.c_str(), "ready grpc=%99s http=%*s pages=%lu recovered_seconds=%lf", grpc,
                  &pages_, &recovered_seconds_) == 3) {
    grpc_address_ = grpc;
    return {};
  }
  (void)AwaitEnd();
  std::ifstream log(log_);
  std::ostringstream said;
  said << log.rdbuf();
  return MakeStatus(absl::StatusCode::kUnavailable, "freshetd did not get ready: {}", said.str());
}

Status BenchDaemon::Stop() {
  kill(pid_, SIGTERM);
  const int status = AwaitEnd();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
  return MakeStatus(absl::StatusCode::kInternal, "freshetd ended with wait status {}", status);
}

void BenchDaemon::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  (void)AwaitEnd();
}

int BenchDaemon::AwaitEnd() {
  int status = 0;
  waitpid(std::exchange(pid_, -1), &status, 0);
  if (out_ >= 0) close(std::exchange(out_, -1));
  return status;
}

}  // namespace freshet
