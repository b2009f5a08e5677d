// freshet: the command-line client. It links the API only.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "tools/cli/run.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const freshet::cli::Io io = {STDIN_FILENO, &std::cout, &std::cerr, isatty(STDERR_FILENO) == 1};
  return freshet::cli::RunCommandLine(std::vector<std::string>(argv + 1, argv + argc), io);
}
