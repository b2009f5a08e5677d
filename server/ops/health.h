// The state that the standard gRPC health service reports.
#ifndef FRESHET_SERVER_OPS_HEALTH_H_
#define FRESHET_SERVER_OPS_HEALTH_H_

#include <atomic>
#include <string>
#include <vector>

#include "server/api/health_calls.h"

namespace freshet {

// Reports SERVING from Serve until the first failure or Stop. Thread-safe.
class Health {
 public:
  // Makes `calls` answer SERVING for the server and for `services`, which are full names, unless a
  // failure was reported before. `calls` outlives this object.
  void Serve(HealthCalls* calls, const std::vector<std::string>& services);
  // Reports that the store cannot be written. From then on the health is NOT_SERVING.
  void ReportFailure();
  // Sets whether the disk is full. The health stays SERVING, because reads still work.
  void SetFull(bool full) { full_ = full; }
  // Reports that the server stops: NOT_SERVING.
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
