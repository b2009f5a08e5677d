// What operators set at run time: changed one after the other, in memory only once it is stored.
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

// Value type, thread-compatible.
struct PolicyStatus {
  std::string in_force;
  std::string pending;  // being made ready to take over; empty: none
  bool operator==(const PolicyStatus&) const = default;
};

// Politeness of hosts that have none of their own: as set at run time, else as configured.
[[nodiscard]] PolitenessDefaults PolitenessIn(const Settings& settings,
                                              const PolitenessDefaults& configured);

// Thread-safe. Outlives every change that is under way.
class RuntimeSettings {
 public:
  using Done = std::function<void(Reply)>;
  // Has settings stored and calls `done`, once and not before it returns, with what became of that.
  using Store = std::function<void(const Settings& settings, Done done)>;

  RuntimeSettings(Settings stored, std::string policy, Store store,
                  PolitenessDefaults configured = {})
      : store_(std::move(store)),
        configured_(configured),
        settings_(std::move(stored)),
        policy_(std::move(policy)),
        policy_before_(policy_) {}

  // Applies `change` to the settings as the changes asked for before left them, has the result
  // stored, and tells `done`. What is refused leaves no trace: later changes do not carry it along.
  void Change(std::function<void(Settings*)> change, Done done) FRESHET_EXCLUDES(mutex_);

  // What is stored.
  [[nodiscard]] Settings stored() const FRESHET_EXCLUDES(mutex_);

  // Politeness as it is configured, where nothing is stored.
  [[nodiscard]] PolitenessDefaults configured() const FRESHET_EXCLUDES(mutex_);
  void set_configured(const PolitenessDefaults& configured) FRESHET_EXCLUDES(mutex_);

  // Name of the policy that was set last.
  [[nodiscard]] std::string policy() const FRESHET_EXCLUDES(mutex_);
  // `in_force`: whether the one set before is in force on all shards. Else what was before that
  // goes on.
  void set_policy(std::string policy, bool in_force) FRESHET_EXCLUDES(mutex_);
  // What to call the policies, where the one set last is, or is not, in force on all shards.
  [[nodiscard]] PolicyStatus policy_status(bool in_force) const FRESHET_EXCLUDES(mutex_);

 private:
  struct Pending {
    std::function<void(Settings*)> change;
    Done done;
  };

  // Has the first of the pending changes stored.
  void StoreFirst() FRESHET_EXCLUDES(mutex_);
  void OnStored(const Settings& staged, Reply reply) FRESHET_EXCLUDES(mutex_);

  const Store store_;
  mutable Mutex mutex_;
  PolitenessDefaults configured_ FRESHET_GUARDED_BY(mutex_);
  Settings settings_ FRESHET_GUARDED_BY(mutex_);
  std::string policy_ FRESHET_GUARDED_BY(mutex_);
  std::string policy_before_ FRESHET_GUARDED_BY(mutex_);    // in force until policy_ is
  std::deque<Pending> pending_ FRESHET_GUARDED_BY(mutex_);  // the first one is being stored
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_RUNTIME_SETTINGS_H_
