#include <sys/resource.h>

#include <fstream>
#include <string>
#include <thread>

#include "fmt/format.h"
#include "tools/bench_commands.h"

namespace freshet {
namespace {

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    const size_t colon = line.find(": ");
    if (!line.starts_with("model name") || colon == std::string::npos) continue;
    std::string name;
    for (const char c : line.substr(colon + 2)) {
      if (c != '"' && c != '\\' && static_cast<unsigned char>(c) >= ' ') name += c;
    }
    return name;
  }
  return "unknown";
}

}  // namespace

std::string BenchContext() {
  return fmt::format(R"("commit":"{}","cpu":"{}","cores":{})", FRESHET_COMMIT, CpuName(),
                     std::thread::hardware_concurrency());
}

double PeakMemoryMb() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

}  // namespace freshet
