// Runs freshetd in a separate process, and the client with it.
#ifndef FRESHET_TESTS_CLI_REAL_SERVER_H_
#define FRESHET_TESTS_CLI_REAL_SERVER_H_

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/cli/fake_server.h"

namespace freshet::cli {

// A freshetd on free ports with a separate directory. Thread-compatible.
class RealServer {
 public:
  explicit RealServer(std::string data_dir) : data_dir_(std::move(data_dir)) { Start(); }
  ~RealServer() { Stop(SIGKILL); }
  RealServer(const RealServer&) = delete;
  RealServer& operator=(const RealServer&) = delete;

  // Ends the process with a signal and returns its status.
  int Stop(int signal) {
    if (process_ <= 0) return 0;
    kill(process_, signal);
    int status = 0;
    waitpid(process_, &status, 0);
    process_ = 0;
    return status;
  }

  void Start() {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    process_ = fork();
    if (process_ == 0) {
      dup2(ends[1], STDOUT_FILENO);
      dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
      close(ends[0]);
      execl(FRESHET_BIN_DIR "/freshetd", "freshetd", "--data-dir", data_dir_.c_str(), "--listen",
            "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--crawl-rate", "1000", "--policy",
            "greedy_ncis", nullptr);
      _exit(127);
    }
    close(ends[1]);
    std::FILE* out = fdopen(ends[0], "r");
    char address[64] = "";
    ASSERT_EQ(std::fscanf(out, "ready grpc=%63s", address), 1) << "the server did not come up";
    std::fclose(out);
    address_ = address;
  }

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] Outcome Run(std::vector<std::string> arguments, const std::string& input = "") {
    arguments.insert(arguments.begin(), {"--server", address_});
    return RunClient(std::move(arguments), input);
  }
  [[nodiscard]] nlohmann::json RunJson(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "--json");
    const Outcome run = Run(std::move(arguments));
    EXPECT_EQ(run.code, kAccepted) << run.err;
    return nlohmann::json::parse(run.out, nullptr, false);
  }

 private:
  std::string data_dir_;
  std::string address_;
  pid_t process_ = 0;
};

}  // namespace freshet::cli

#endif  // FRESHET_TESTS_CLI_REAL_SERVER_H_
