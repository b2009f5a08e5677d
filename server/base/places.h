// A counting semaphore for operations that are in flight at the same time. One client can hold only
// a share of the places (core/base/shares.h), so others always find one.
#ifndef FRESHET_SERVER_BASE_PLACES_H_
#define FRESHET_SERVER_BASE_PLACES_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "core/base/check.h"
#include "core/base/shares.h"
#include "sync/mutex.h"

namespace freshet {

// Thread-safe.
class Places {
  struct State;

 public:
  // A place, which is returned when this object is destroyed. Value type, thread-compatible.
  class Place {
   public:
    Place(std::shared_ptr<State> state, std::string client)
        : state_(std::move(state)), client_(std::move(client)) {}
    Place(Place&&) = default;
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (state_ != nullptr) state_->Give(client_);
    }

   private:
    std::shared_ptr<State> state_;
    std::string client_;
  };

  explicit Places(size_t most) : state_(std::make_shared<State>()) { state_->most = most; }

  // Takes a place. Unset = all places are taken, or the client already holds its share. `admin`:
  // see Claim.
  [[nodiscard]] std::optional<Place> Take(const std::string& client, bool admin) {
    const MutexLock lock(state_->mutex);
    const auto it = state_->by_client.find(client);
    const size_t held = it == state_->by_client.end() ? 0 : it->second;
    if (ShareLeft(held, state_->taken, state_->most, admin) == 0) return std::nullopt;
    ++state_->by_client[client];
    ++state_->taken;
    return Place(state_, client);
  }
  [[nodiscard]] size_t taken() const {
    const MutexLock lock(state_->mutex);
    return state_->taken;
  }

 private:
  // A Place may outlive its Places.
  struct State {
    void Give(const std::string& client) FRESHET_EXCLUDES(mutex) {
      const MutexLock lock(mutex);
      const auto it = by_client.find(client);
      CHECK(it != by_client.end() && taken > 0, "given back twice");
      if (--it->second == 0) by_client.erase(it);
      --taken;
    }
    size_t most = 0;
    Mutex mutex;
    size_t taken FRESHET_GUARDED_BY(mutex) = 0;
    absl::flat_hash_map<std::string, size_t> by_client FRESHET_GUARDED_BY(mutex);  // no zeros
  };

  const std::shared_ptr<State> state_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_PLACES_H_
