// The state that the standard gRPC health service reports.
#ifndef FRESHET_SERVER_OPS_HEALTH_H_
#define FRESHET_SERVER_OPS_HEALTH_H_

#include <atomic>
#include <string>
#include <vector>

#include "server/api/health_calls.h"

namespace freshet {

// Serving from Serve to the first failure or the end. Thread-safe.
class Health {
 public:
  // From now on `calls`, which outlives this, answers SERVING for the server and for `services`, by
  // their full names, unless a failure was reported before.
  void Serve(HealthCalls* calls, const std::vector<std::string>& services);
  // The store cannot be written: NOT_SERVING for good.
  void ReportFailure();
  // Whether the disk is full. SERVING all the same: reading goes on.
  void SetFull(bool full) { full_ = full; }
  // The server stops: NOT_SERVING.
  void Stop();
  [[nodiscard]] bool serving() const { return serving_ && !failed_; }
  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] bool full() const { return full_; }
  [[nodiscard]] bool stopping() const { return stopping_; }

 private:
  void Tell(bool serving);

  std::atomic<HealthCalls*> calls_{nullptr};
  std::atomic<bool> serving_{false};
  std::atomic<bool> failed_{false};
  std::atomic<bool> full_{false};
  std::atomic<bool> stopping_{false};
};

}  // namespace freshet

#endif  // FRESHET_SERVER_OPS_HEALTH_H_
