// Says on a terminal or in a log how far a slow command has come.
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
  bool terminal = false;        // one line that is rewritten, else a line now and then
  bool quiet = false;           // nothing but what Print is given
};

// From one second after it was made until it is destroyed, shows `what`, the count and the elapsed
// time. Thread-safe.
class Progress {
 public:
  Progress(ProgressStyle style, std::string what);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Counts more items as done.
  void Add(uint64_t items) { done_.fetch_add(items, std::memory_order_relaxed); }

  // Prints a line of something else to the same place, without the two getting mixed up.
  void Print(std::string_view line);
  // Prints a line about a faulty item among many: the first kMaxFaultsPrinted of them, and at
  // the end how many more there were.
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
