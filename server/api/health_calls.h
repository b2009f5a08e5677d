// The standard gRPC health service. Its calls are counted like all others.
#ifndef FRESHET_SERVER_API_HEALTH_CALLS_H_
#define FRESHET_SERVER_API_HEALTH_CALLS_H_

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "server/api/call_method.h"
#include "server/api/call_reactor.h"
#include "sync/mutex.h"

namespace freshet {

class HealthCall;

// The service and its watchers. Thread-safe.
class HealthCalls {
 public:
  explicit HealthCalls(const CallParts& host) : host_(host) {}

  // Sets the state of a service, which is known from then on. The empty name is the server, which
  // is always known.
  void Set(const std::string& service, bool serving) FRESHET_EXCLUDES(mutex_);
  // Sets all known services.
  void SetAll(bool serving) FRESHET_EXCLUDES(mutex_);
  // Ends all Watch calls. Called when the server stops.
  void EndWatches() FRESHET_EXCLUDES(mutex_);
  // The methods of the service. The service outlives them.
  [[nodiscard]] std::vector<CallMethod> Methods();

 private:
  friend class HealthCall;

  [[nodiscard]] Reactor* Start(std::string_view path, CallKind kind, ServerCall* call);
  // Whether the service is serving; unset = the service is not known.
  [[nodiscard]] std::optional<bool> Find(const std::string& service) const FRESHET_EXCLUDES(mutex_);
  void Watch(const std::shared_ptr<HealthCall>& call) FRESHET_EXCLUDES(mutex_);
  void Forget(const std::shared_ptr<HealthCall>& call) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] std::set<std::shared_ptr<HealthCall>> watchers() const FRESHET_EXCLUDES(mutex_);
  void TellWatchers() FRESHET_EXCLUDES(mutex_);

  const CallParts host_;
  mutable Mutex mutex_;
  std::map<std::string, bool> serving_ FRESHET_GUARDED_BY(mutex_) = {{"", false}};
  std::set<std::shared_ptr<HealthCall>> watchers_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_HEALTH_CALLS_H_
