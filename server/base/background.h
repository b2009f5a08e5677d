// A thread for work that waits for the disk and belongs to no shard, such as lists and checkpoints.
#ifndef FRESHET_SERVER_BASE_BACKGROUND_H_
#define FRESHET_SERVER_BASE_BACKGROUND_H_

#include <functional>
#include <string>
#include <thread>

#include "server/base/client_turns.h"
#include "sync/mutex.h"

namespace freshet {

// Clients take turns, one piece of work at a time. The work of one client runs in the order of its
// Post calls. Callers split long work into pieces. Thread-safe.
class Background {
 public:
  Background() : thread_([this] { Run(); }) {}
  ~Background() { Stop(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Returns false and drops the work after Stop.
  bool Post(const std::string& client, std::function<void()> work) FRESHET_EXCLUDES(mutex_);
  // Posts work of the server itself.
  bool Post(std::function<void()> work) { return Post({}, std::move(work)); }
  // The number of pieces that have not begun.
  [[nodiscard]] size_t waiting() const FRESHET_EXCLUDES(mutex_);
  // Finishes all posted work and ends the thread. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);

 private:
  void Run() FRESHET_EXCLUDES(mutex_);

  mutable Mutex mutex_;
  Condition wake_;
  ClientTurns<std::function<void()>> work_ FRESHET_GUARDED_BY(mutex_);
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_BACKGROUND_H_
