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

Progress::Progress(ProgressStyle style, std::string what)
    : style_(style), what_(std::move(what)), thread_([this] { Run(); }) {}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  Hide();
}

void Progress::Print(std::string_view line) {
  const std::lock_guard lock(mutex_);
  Hide();
  *style_.out << line << '\n';
}

// Called with mutex_ held, or when no other thread is left.
void Progress::Hide() {
  if (shown_) *style_.out << kEraseLine << std::flush;
  shown_ = false;
}

void Progress::Run() {
  const steady_clock::time_point start = steady_clock::now();
  milliseconds wait = kQuiet;
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, wait, [this] { return stop_; })) {
    Show(std::chrono::duration<double>(steady_clock::now() - start).count());
    wait = style_.terminal ? kTerminalPeriod : kLogPeriod;
  }
}

// Called with mutex_ held.
void Progress::Show(double seconds) {
  const uint64_t done = done_.load(std::memory_order_relaxed);
  const std::string count = done == 0
                                ? ""
                                : fmt::format(" {}, {}/s", ShowCount(done),
                                              ShowNumber(static_cast<double>(done) / seconds));
  const std::string text = fmt::format("{}:{} ({:.0f} s)", what_, count, seconds);
  if (style_.terminal) {
    *style_.out << kEraseLine << text << std::flush;
    shown_ = true;
  } else {
    *style_.out << text << std::endl;
  }
}

}  // namespace freshet::cli
