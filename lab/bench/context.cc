#include <malloc.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <string>
#include <thread>

#include "lab/bench/commands.h"
#include "lab/bench/resources.h"

namespace freshet {
namespace {

std::string CpuName() {
  std::ifstream info("/proc/cpuinfo");
  std::string line;
  while (std::getline(info, line)) {
    const size_t colon = line.find(": ");
    if (!line.starts_with("model name") || colon == std::string::npos) continue;
    return line.substr(colon + 2);
  }
  return "unknown";
}

}  // namespace

void PrintLine(nlohmann::ordered_json line) {
  line["commit"] = FRESHET_COMMIT;
  line["cpu"] = CpuName();
  line["cores"] = std::thread::hardware_concurrency();
  std::cout << line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
}

double PeakMemoryMb() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

double ThreadCpuSeconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double CpuSeconds() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double ResidentBytes() {
  malloc_trim(0);
  std::ifstream statm("/proc/self/statm");
  double size = 0;
  double resident = 0;
  double of_files = 0;
  statm >> size >> resident >> of_files;
  return (resident - of_files) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

}  // namespace freshet
