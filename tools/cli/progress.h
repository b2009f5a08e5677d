// Shows on a terminal or in a log how far a slow command has come.
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
  bool terminal = false;        // rewrites one line; else a new line now and then
  bool quiet = false;           // shows only lines of Print
};

// Shows `what`, the count and the elapsed time, from one second after its construction until its
// destruction. Thread-safe.
class Progress {
 public:
  Progress(ProgressStyle style, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Counts more items as done.
  void Add(uint64_t items) { done_.fetch_add(items, std::memory_order_relaxed); }

  // Prints a line to the same place, without mixing it with the progress.
  void Print(std::string_view line);
  // Prints a line about a faulty item. Prints the first kMaxFaultsPrinted of them, and at the end
  // the number of the others.
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
