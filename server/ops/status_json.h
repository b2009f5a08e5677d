// Writes the status of the server as JSON for other programs, and stores figures that they post.
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

// Figures that other programs post, for example the true freshness in a demonstration. At most
// kMaxSeries names. A name has 1 to 40 characters of a-z and `_`. Thread-safe.
class Annotations {
 public:
  static constexpr size_t kMaxSeries = 16;

  // Stores all numbers of a JSON object {"name": number, ...}, or none if one is invalid.
  [[nodiscard]] Status Post(const std::string& json) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] std::map<std::string, double> values() const FRESHET_EXCLUDES(mutex_);

 private:
  mutable Mutex mutex_;
  std::map<std::string, double> values_ FRESHET_GUARDED_BY(mutex_);
};

// Writes the progress of a server that does not serve yet.
[[nodiscard]] std::string RenderStartingJson(const ServerStatus& status);

// Writes the figures, their history of the last ten minutes in steps of a second, and recent
// assignments.
[[nodiscard]] std::string RenderStatusJson(const ServerStatus& status, const HistoryWindow& history,
                                           const std::vector<RecentAssignment>& recent);

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_STATUS_JSON_H_
