#include "server/engine/runtime_settings.h"

#include "core/base/check.h"

namespace freshet {

PolitenessDefaults PolitenessIn(const Settings& settings, const PolitenessDefaults& configured) {
  PolitenessDefaults politeness = configured;
  politeness.min_delay = settings.min_delay.value_or(configured.min_delay);
  politeness.max_in_flight = settings.max_in_flight.value_or(configured.max_in_flight);
  politeness.min_page_interval = settings.min_page_interval.value_or(configured.min_page_interval);
  return politeness;
}

void RuntimeSettings::Change(std::function<void(Settings*)> change, Done done) {
  {
    const MutexLock lock(mutex_);
    pending_.push_back({.change = std::move(change), .done = std::move(done)});
    if (pending_.size() > 1) return;
  }
  StoreFirst();
}

void RuntimeSettings::StoreFirst() {
  Settings staged;
  {
    const MutexLock lock(mutex_);
    CHECK(!pending_.empty());
    staged = settings_;
    pending_.front().change(&staged);
  }
  store_(staged, [this, staged](Reply reply) { OnStored(staged, std::move(reply)); });
}

void RuntimeSettings::OnStored(const Settings& staged, Reply reply) {
  Done done;
  bool more = false;
  {
    const MutexLock lock(mutex_);
    if (reply.status.ok()) settings_ = staged;
    done = std::move(pending_.front().done);
    pending_.pop_front();
    more = !pending_.empty();
  }
  // The next change starts first, so `done` does not delay it.
  if (more) StoreFirst();
  done(std::move(reply));
}

Settings RuntimeSettings::stored() const {
  const MutexLock lock(mutex_);
  return settings_;
}

PolitenessDefaults RuntimeSettings::configured() const {
  const MutexLock lock(mutex_);
  return configured_;
}

void RuntimeSettings::set_configured(const PolitenessDefaults& configured) {
  const MutexLock lock(mutex_);
  configured_ = configured;
}

std::string RuntimeSettings::policy() const {
  const MutexLock lock(mutex_);
  return policy_;
}

void RuntimeSettings::set_policy(std::string policy, bool in_force) {
  const MutexLock lock(mutex_);
  if (in_force) policy_before_ = policy_;
  policy_ = std::move(policy);
}

PolicyStatus RuntimeSettings::policy_status(bool in_force) const {
  const MutexLock lock(mutex_);
  if (in_force) return {.in_force = policy_, .pending = {}};
  return {.in_force = policy_before_, .pending = policy_};
}

}  // namespace freshet
