// freshet: the command-line client. It links the API only.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "tools/cli/display.h"
#include "tools/cli/run.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  // gRPC's messages about failed handshakes are meant for its developers; the client prints its
  // own.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  const bool screen = isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
  const freshet::cli::Io io = {STDIN_FILENO, &std::cout,
                               &std::cerr,   isatty(STDERR_FILENO) == 1,
                               screen,       freshet::cli::TerminalColumns()};
  return freshet::cli::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), io);
}
