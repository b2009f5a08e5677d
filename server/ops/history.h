// The server's figures of the last month, which survive restarts: the plots of the console.
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
  int64_t step = 0;                // seconds between rows where none are missing
  std::vector<std::string> names;  // of the series
  std::vector<HistoryRow> rows;    // oldest first
};

// The whole history. If the disk fails, the server and the history go on; the history is then lost
// with the process. Thread-safe.
class History {
 public:
  static constexpr int64_t kMaxWindow = int64_t{30} * 86400;
  // Seconds of samples that a crash may cost.
  static constexpr int64_t kFlushInterval = 10;

  History() = default;
  ~History();
  History(const History&) = delete;
  History& operator=(const History&) = delete;

  // Goes on from the history stored in the directory, which is made if needed, and stores there
  // from now on. A damaged file is renamed, in place of the one renamed before. To be called before
  // Add.
  void Open(const std::string& directory, Instant now) FRESHET_EXCLUDES(mutex_);
  // Adds the figures of the second of `now`; only the first of each second count. Empty figures are
  // no sample.
  void Add(Instant now, const Figures& figures) FRESHET_EXCLUDES(mutex_);
  // Stores what is not stored yet. Add calls it regularly.
  void Flush() FRESHET_EXCLUDES(mutex_);

  // The rows of the last `window` seconds, at most kMaxWindow, that begin after `since`; also
  // unfinished ones.
  [[nodiscard]] HistoryWindow Read(Instant now, int64_t window, int64_t since = -1) const
      FRESHET_EXCLUDES(mutex_);
  // The figures of all seconds that are still kept.
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
