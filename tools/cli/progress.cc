#include "tools/cli/progress.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "tools/cli/table.h"

namespace freshet::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kQuiet{1000};
constexpr milliseconds kTerminalPeriod{250};
constexpr milliseconds kLogPeriod{5000};
constexpr const char* kEraseLine = "\r\x1b[K";

}  // namespace

Progress::Progress(ProgressStyle style, std::string what) : style_(style), what_(std::move(what)) {
  if (!style_.quiet) thread_ = std::thread([this] { Run(); });
}

Progress::~Progress() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
  const MutexLock lock(mutex_);
  Hide();
  if (faults_ > kMaxFaultsPrinted) {
    *style_.out << fmt::format("freshet: {} more lines like these are not printed\n",
                               ShowCount(faults_ - kMaxFaultsPrinted));
  }
}

void Progress::PrintFault(std::string_view line) {
  {
    const MutexLock lock(mutex_);
    if (++faults_ > kMaxFaultsPrinted) return;
  }
  Print(line);
}

void Progress::Print(std::string_view line) {
  const MutexLock lock(mutex_);
  Hide();
  *style_.out << line << '\n';
}

void Progress::Hide() {
  if (shown_) *style_.out << kEraseLine << std::flush;
  shown_ = false;
}

void Progress::Run() {
  const steady_clock::time_point start = steady_clock::now();
  steady_clock::time_point next = start + kQuiet;
  const MutexLock lock(mutex_);
  while (!stop_) {
    const steady_clock::time_point now = steady_clock::now();
    if (now >= next) {
      Show(std::chrono::duration<double>(now - start).count());
      next = now + (style_.terminal ? kTerminalPeriod : kLogPeriod);
    }
    wake_.WaitUntil(mutex_, next);
  }
}

void Progress::Show(double seconds) {
  const uint64_t done = done_.load(std::memory_order_relaxed);
  const std::string count = done == 0
                                ? ""
                                : fmt::format(": {}, {}/s", ShowCount(done),
                                              ShowNumber(static_cast<double>(done) / seconds));
  const std::string text = fmt::format("{}{} ({:.0f} s)", what_, count, seconds);
  if (style_.terminal) {
    *style_.out << kEraseLine << text << std::flush;
    shown_ = true;
  } else {
    *style_.out << text << std::endl;
  }
}

}  // namespace freshet::cli
