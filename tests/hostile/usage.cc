#include "tests/hostile/usage.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace freshet::hostile {

Usage UsageOf(pid_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  Usage usage;
  std::ifstream status(process + "/status");
  for (std::string line; std::getline(status, line);) {
    uint64_t value = 0;
    if (std::sscanf(line.c_str(), "VmHWM: %lu", &value) == 1) usage.peak_mib = value / 1024;
    if (std::sscanf(line.c_str(), "Threads: %lu", &value) == 1) usage.threads = value;
  }
  std::error_code error;
  for (auto file = std::filesystem::directory_iterator(process + "/fd", error);
       !error && file != std::filesystem::directory_iterator(); file.increment(error)) {
    ++usage.files;
  }
  return usage;
}

}  // namespace freshet::hostile
