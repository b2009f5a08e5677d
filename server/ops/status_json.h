// The status of the server as JSON, for programs, and figures that programs post.
#ifndef FRESHET_SERVER_OPS_STATUS_JSON_H_
#define FRESHET_SERVER_OPS_STATUS_JSON_H_

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "server/api/status.h"
#include "server/ops/history.h"
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

// Of a server that does not serve yet: how far it has come.
[[nodiscard]] std::string RenderStartingJson(const RecoveryStatus& recovery);

// Status, the last ten minutes second by second, recent assignments, annotations.
[[nodiscard]] std::string RenderStatusJson(const ServerStatus& status, const HistoryWindow& history,
                                           const std::vector<RecentAssignment>& recent,
                                           const std::map<std::string, double>& annotations);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_STATUS_JSON_H_
