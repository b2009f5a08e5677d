// Shows the progress of a slow command on a terminal or in a log.
#ifndef FRESHET_TOOLS_CLI_PROGRESS_H_
#define FRESHET_TOOLS_CLI_PROGRESS_H_

#include <atomic>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <thread>

#include "sync/mutex.h"

namespace freshet::cli {

inline constexpr uint64_t kMaxFaultsPrinted = 100;

// Where and how progress is shown.
struct ProgressStyle {
  std::ostream* out = nullptr;  // never null while in use
  bool terminal = false;        // rewrites one line; otherwise prints a new line now and then
  bool quiet = false;           // shows only the lines of Print
};

// Shows `what`, the count and the elapsed time. The display begins one second after construction
// and ends with destruction. Thread-safe.
class Progress {
 public:
  Progress(ProgressStyle style, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Adds to the count of processed items.
  void Add(uint64_t items) { done_.fetch_add(items, std::memory_order_relaxed); }

  // Prints a line to the same stream without garbling the progress display.
  void Print(std::string_view line);
  // Prints a line about a faulty item. After kMaxFaultsPrinted lines, the others are only counted;
  // their number is printed at the end.
  void PrintFault(std::string_view line);

 private:
  void Run();
  void Show(double seconds) FRESHET_REQUIRES(mutex_);
  void Hide() FRESHET_REQUIRES(mutex_);

  const ProgressStyle style_;
  const std::string what_;
  std::atomic<uint64_t> done_ = 0;
  Mutex mutex_;
  Condition wake_;
  bool stop_ FRESHET_GUARDED_BY(mutex_) = false;
  uint64_t faults_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool shown_ FRESHET_GUARDED_BY(mutex_) = false;  // a line is on the terminal
  std::thread thread_;
};

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_PROGRESS_H_
