// The server's figures of the last month, for the plots of the console. They survive restarts.
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
  int64_t step = 0;                // seconds between consecutive rows, unless rows are missing
  std::vector<std::string> names;  // names of the series
  std::vector<HistoryRow> rows;    // oldest first
};

// The whole history. If the disk fails, the server and the history continue, but the history is
// lost when the process ends. Thread-safe.
class History {
 public:
  static constexpr int64_t kMaxWindow = int64_t{30} * 86400;
  // Seconds of samples that a crash may lose.
  static constexpr int64_t kFlushInterval = 10;

  History() = default;
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // Loads the history stored in the directory, and stores new rows there from now on. Creates the
  // directory if needed. A damaged file is renamed, and replaces a file that was renamed earlier.
  // Must be called before Add.
  void Open(const std::string& directory, Instant now) FRESHET_EXCLUDES(mutex_);
  // Adds the figures for the second of `now`. Ignores empty figures, and all but the first figures
  // of a second.
  void Add(Instant now, const Figures& figures) FRESHET_EXCLUDES(mutex_);
  // Stores rows that are not stored yet. Add calls it regularly.
  void Flush() FRESHET_EXCLUDES(mutex_);

  // The rows of the last `window` seconds (at most kMaxWindow) that begin after `since`, in Unix
  // seconds. Includes rows that are not complete yet.
  [[nodiscard]] HistoryWindow Read(Instant now, int64_t window, int64_t since = -1) const
      FRESHET_EXCLUDES(mutex_);
  // The rows of all single seconds that are still kept.
  [[nodiscard]] HistoryWindow Seconds() const FRESHET_EXCLUDES(mutex_);

 private:
  [[nodiscard]] Status OpenFile(Instant now) FRESHET_REQUIRES(mutex_);
  void PutAside(const Status& why) FRESHET_REQUIRES(mutex_);
  void FlushLocked() FRESHET_REQUIRES(mutex_);
  [[nodiscard]] HistoryFile::Batch Unstored() const FRESHET_REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::string path_ FRESHET_GUARDED_BY(mutex_);  // empty = nothing is stored
  HistoryRings rings_ FRESHET_GUARDED_BY(mutex_);
  std::unique_ptr<HistoryFile> file_ FRESHET_GUARDED_BY(mutex_);
  // The beginning of the last stored row of each level.
  std::array<int64_t, HistoryRings::kLevels.size()> stored_ FRESHET_GUARDED_BY(mutex_){};
  int64_t flushed_at_ FRESHET_GUARDED_BY(mutex_) = 0;
  bool complained_ FRESHET_GUARDED_BY(mutex_) = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_HISTORY_H_
