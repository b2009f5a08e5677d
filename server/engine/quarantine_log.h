// Logs when quarantines of sources begin and end. The number of lines is limited, because clients
// could cause many quarantines by their signals and results.
#ifndef FRESHET_SERVER_ENGINE_QUARANTINE_LOG_H_
#define FRESHET_SERVER_ENGINE_QUARANTINE_LOG_H_

#include <string>

#include "core/base/units.h"
#include "core/estimate/lessons.h"
#include "server/base/log_limit.h"
#include "sync/mutex.h"

namespace freshet {

// Writes at most one line a minute for quarantines that begin, and one for quarantines that end.
// Thread-safe.
class QuarantineLog {
 public:
  // Logs the news, if no line of the same kind was written in the last minute. `source`: the name
  // of the source.
  void Say(const QuarantineNews& news, const std::string& source, Instant now)
      FRESHET_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  LogLimit begun_ FRESHET_GUARDED_BY(mutex_);
  LogLimit ended_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_QUARANTINE_LOG_H_
