// Logs the quarantines of sources. Clients choose signals and results, and so how many begin and
// end.
#ifndef FRESHET_SERVER_ENGINE_QUARANTINE_LOG_H_
#define FRESHET_SERVER_ENGINE_QUARANTINE_LOG_H_

#include <string>

#include "core/base/units.h"
#include "core/estimate/lessons.h"
#include "server/base/log_limit.h"
#include "sync/mutex.h"

namespace freshet {

// Writes at most one line a minute of quarantines that begin, and one of those that end.
// Thread-safe.
class QuarantineLog {
 public:
  // `source` is the name of the source.
  void Say(const QuarantineNews& news, const std::string& source, Instant now)
      FRESHET_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  LogLimit begun_ FRESHET_GUARDED_BY(mutex_);
  LogLimit ended_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_QUARANTINE_LOG_H_
