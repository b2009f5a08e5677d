// What the server looked like over the last month, which survives restarts: the plots of the
// console.
#ifndef FRESHET_SERVER_OPS_HISTORY_H_
#define FRESHET_SERVER_OPS_HISTORY_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "server/ops/history_file.h"
#include "server/ops/history_rings.h"
#include "sync/mutex.h"

namespace freshet {

// A part of a history. Value type, thread-compatible.
struct HistoryWindow {
  int64_t step = 0;                // seconds between rows, where none are missing
  std::vector<std::string> names;  // of the series
  std::vector<HistoryRow> rows;    // oldest first
};

// Thread-safe. Whatever becomes of the disk, the server goes on and the history with it: it is then
// lost with the process.
class History {
 public:
  static constexpr int64_t kMaxWindow = int64_t{30} * 86400;
  // Seconds of samples that a crash may cost.
  static constexpr int64_t kFlushInterval = 10;

  History() = default;
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // Goes on from what is stored in the directory, which is made, and stores there from here on. A
  // file that is damaged is renamed, in place of the one renamed before. Call before Add.
  void Open(const std::string& directory, Instant now) FRESHET_EXCLUDES(mutex_);
  // Figures of the second of `now`; the first of each second counts. None are no sample.
  void Add(Instant now, const Figures& figures) FRESHET_EXCLUDES(mutex_);
  // Stores what is not stored yet. Add calls it every so often.
  void Flush() FRESHET_EXCLUDES(mutex_);

  // The rows of the last `window` seconds, at most kMaxWindow, that begin after `since`; also those
  // of steps that are not over.
  [[nodiscard]] HistoryWindow Read(Instant now, int64_t window, int64_t since = -1) const
      FRESHET_EXCLUDES(mutex_);
  // Figures of every second for as long as they are kept.
  [[nodiscard]] HistoryWindow Seconds() const FRESHET_EXCLUDES(mutex_);

 private:
  [[nodiscard]] Status OpenFile(Instant now) FRESHET_REQUIRES(mutex_);
  void PutAside(const Status& why) FRESHET_REQUIRES(mutex_);
  void FlushLocked() FRESHET_REQUIRES(mutex_);
  [[nodiscard]] HistoryFile::Batch Unstored() const FRESHET_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::string path_ FRESHET_GUARDED_BY(mutex_);  // empty: nothing is stored
  HistoryRings rings_ FRESHET_GUARDED_BY(mutex_);
  std::unique_ptr<HistoryFile> file_ FRESHET_GUARDED_BY(mutex_);
  // The beginning of the last row of each level that is stored.
  std::array<int64_t, HistoryRings::kLevels.size()> stored_ FRESHET_GUARDED_BY(mutex_){};
  int64_t flushed_at_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool complained_ FRESHET_GUARDED_BY(mutex_) = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_HISTORY_H_
