// The last minutes as series, for the operator page: one sample a second.
#ifndef FRESHET_SERVER_OPS_STATUS_HISTORY_H_
#define FRESHET_SERVER_OPS_STATUS_HISTORY_H_

#include <deque>
#include <map>
#include <string>

#include "core/base/status.h"
#include "core/base/units.h"
#include "server/api/status.h"
#include "sync/mutex.h"

namespace freshet {

// Figures that programs beside the server post, such as the true freshness that a demonstration
// knows. Bounded: at most kMaxSeries names of a-z and `_`, 1 to 40 long. Thread-safe.
class Annotations {
 public:
  static constexpr size_t kMaxSeries = 16;

  // Takes the numbers of a JSON object {"name": number, ...}, all or none.
  [[nodiscard]] Status Post(const std::string& json) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] std::map<std::string, double> values() const FRESHET_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::map<std::string, double> values_ FRESHET_GUARDED_BY(mutex_);
};

// Thread-safe.
class StatusHistory {
 public:
  static constexpr size_t kMaxSamples = 600;

  struct Sample {
    Instant at;
    double crawls_per_second = 0;
    double results_per_second = 0;
    double signals_per_second = 0;
    double changed_share = 0;  // of the results since the sample before; NaN: there were none
    double believed_freshness = 0;
    double weighted_believed_freshness = 0;
    double price = 0;
    double ready = 0;
    std::map<std::string, double> annotations;
  };

  // Adds a sample: the rates are those since the status before.
  void Add(const ServerStatus& status, std::map<std::string, double> annotations)
      FRESHET_EXCLUDES(mutex_);
  // Oldest first.
  [[nodiscard]] std::deque<Sample> samples() const FRESHET_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::deque<Sample> samples_ FRESHET_GUARDED_BY(mutex_);
  ShardCounters counters_before_ FRESHET_GUARDED_BY(mutex_);
  uint64_t assignments_before_ FRESHET_GUARDED_BY(mutex_) = 0;
  Instant before_ FRESHET_GUARDED_BY(mutex_);
};

// The same of a server that does not serve yet: how far it has come.
[[nodiscard]] std::string RenderStartingJson(const RecoveryStatus& recovery);

// The operator page's data: status, history, recent assignments, annotations.
[[nodiscard]] std::string RenderStatusJson(const ServerStatus& status,
                                           const std::deque<StatusHistory::Sample>& history,
                                           const std::vector<RecentAssignment>& recent,
                                           const std::map<std::string, double>& annotations);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_STATUS_HISTORY_H_
