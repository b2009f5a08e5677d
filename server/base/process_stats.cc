#include "server/base/process_stats.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <vector>

#include "absl/strings/numbers.h"

namespace freshet {
namespace {

namespace fs = std::filesystem;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The fields of the stat file (proc(5)) from the third on. The second field is a name in brackets
// that can hold any characters, so parsing begins after it.
std::vector<std::string> FieldsOf(const std::string& stat) {
  const size_t end = stat.rfind(')');
  if (end == std::string::npos) return {};
  std::istringstream rest(stat.substr(end + 1));
  return {std::istream_iterator<std::string>(rest), {}};
}

double BootTime(const std::string& proc) {
  std::istringstream lines(ReadAll(proc + "/stat"));
  for (std::string name; lines >> name;) {
    double seconds = 0;
    if (name == "btime" && lines >> seconds) return seconds;
    std::getline(lines, name);
  }
  return 0;
}

}  // namespace

ProcessStats ReadProcessStats(const std::string& proc) {
  ProcessStats stats;
  const std::vector<std::string> fields = FieldsOf(ReadAll(proc + "/self/stat"));
  // Field numbers as in proc(5).
  const auto field = [&fields](size_t number) {
    uint64_t value = 0;
    const bool there = number - 3 < fields.size() && absl::SimpleAtoi(fields[number - 3], &value);
    return there ? value : 0;
  };
  const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
  stats.cpu_seconds = static_cast<double>(field(14) + field(15)) / ticks;
  stats.threads = field(20);
  if (const uint64_t started = field(22); started > 0) {
    stats.start_time = BootTime(proc) + static_cast<double>(started) / ticks;
  }
  stats.virtual_bytes = field(23);
  stats.resident_bytes = field(24) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  std::error_code error;
  for (fs::directory_iterator it(proc + "/self/fd", error), end; !error && it != end;
       it.increment(error)) {
    ++stats.open_fds;
  }
  // The descriptor that reads the directory does not count.
  if (stats.open_fds > 0) --stats.open_fds;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) stats.max_fds = limit.rlim_cur;
  return stats;
}

}  // namespace freshet
