// The settings that operators change at run time. Changes are made one after the other, and each
// takes effect in memory only after it is stored.
#ifndef FRESHET_SERVER_ENGINE_RUNTIME_SETTINGS_H_
#define FRESHET_SERVER_ENGINE_RUNTIME_SETTINGS_H_

#include <deque>
#include <functional>
#include <string>
#include <utility>

#include "core/model/settings.h"
#include "core/schedule/event.h"
#include "core/schedule/host_gate.h"
#include "sync/mutex.h"

namespace freshet {

// The names of the present and the next policy. Value type, thread-compatible.
struct PolicyStatus {
  std::string in_force;
  std::string pending;  // the policy that is being prepared; empty = none
  bool operator==(const PolicyStatus&) const = default;
};

// The politeness of hosts that have no settings: as set at run time, else as configured.
[[nodiscard]] PolitenessDefaults PolitenessIn(const Settings& settings,
                                              const PolitenessDefaults& configured);

// The settings. Thread-safe. Must outlive every change under way.
class RuntimeSettings {
 public:
  using Done = std::function<void(Reply)>;
  // Stores settings and calls `done` with the outcome, once and only after Store has returned.
  using Store = std::function<void(const Settings& settings, Done done)>;

  RuntimeSettings(Settings stored, std::string policy, Store store,
                  PolitenessDefaults configured = {})
      : store_(std::move(store)),
        configured_(configured),
        settings_(std::move(stored)),
        policy_(std::move(policy)),
        policy_before_(policy_) {}

  // Applies `change` to the settings after all earlier changes, stores the result, and calls
  // `done`. A change that could not be stored has no effect, and later changes do not include it.
  void Change(std::function<void(Settings*)> change, Done done) FRESHET_EXCLUDES(mutex_);

  // The stored settings.
  [[nodiscard]] Settings stored() const FRESHET_EXCLUDES(mutex_);

  // The configured politeness. It applies where no value is stored.
  [[nodiscard]] PolitenessDefaults configured() const FRESHET_EXCLUDES(mutex_);
  void set_configured(const PolitenessDefaults& configured) FRESHET_EXCLUDES(mutex_);

  // The name of the policy that was set last.
  [[nodiscard]] std::string policy() const FRESHET_EXCLUDES(mutex_);
  // Sets the next policy. `in_force`: whether the policy that was set before is in force on all
  // shards. If not, the policy before that one is still in force.
  void set_policy(std::string policy, bool in_force) FRESHET_EXCLUDES(mutex_);
  // The names of the policies. `in_force`: whether the policy that was set last is in force on all
  // shards.
  [[nodiscard]] PolicyStatus policy_status(bool in_force) const FRESHET_EXCLUDES(mutex_);

 private:
  struct Pending {
    std::function<void(Settings*)> change;
    Done done;
  };

  // Stores the first pending change.
  void StoreFirst() FRESHET_EXCLUDES(mutex_);
  void OnStored(const Settings& staged, Reply reply) FRESHET_EXCLUDES(mutex_);

  const Store store_;
  mutable Mutex mutex_;
  PolitenessDefaults configured_ FRESHET_GUARDED_BY(mutex_);
  Settings settings_ FRESHET_GUARDED_BY(mutex_);
  std::string policy_ FRESHET_GUARDED_BY(mutex_);
  std::string policy_before_ FRESHET_GUARDED_BY(mutex_);    // in force until policy_ is
  std::deque<Pending> pending_ FRESHET_GUARDED_BY(mutex_);  // the first is being stored
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_RUNTIME_SETTINGS_H_
