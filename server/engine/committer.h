// Runs the commits of a shard on a separate thread, so that the shard can take requests and read
// pages for its next turn during a commit.
#ifndef FRESHET_SERVER_ENGINE_COMMITTER_H_
#define FRESHET_SERVER_ENGINE_COMMITTER_H_

#include <functional>
#include <utility>

#include "core/base/check.h"
#include "core/base/status.h"
#include "server/base/background.h"
#include "sync/mutex.h"

namespace freshet {

// One commit at a time. Owner thread only.
class Committer {
 public:
  // Starts a commit: calls `commit`, then `ended`, on the other thread. Everything that the two use
  // must live until Finish has returned. Precondition: Finish has returned for the previous commit.
  void Begin(std::function<Status()> commit, std::function<void()> ended) FRESHET_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      CHECK(!under_way_, "two commits at a time");
      under_way_ = true;
    }
    const bool taken = thread_.Post([this, commit = std::move(commit), ended = std::move(ended)] {
      Status status = commit();
      {
        const MutexLock lock(mutex_);
        status_ = std::move(status);
        under_way_ = false;
      }
      condition_.NotifyOne();
      ended();
    });
    CHECK(taken, "commits on a thread that has ended");
  }

  [[nodiscard]] bool under_way() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return under_way_;
  }
  // Waits for the end of the last commit, and returns its status.
  [[nodiscard]] Status Finish() FRESHET_EXCLUDES(mutex_) {
    MutexLock lock(mutex_);
    while (under_way_) condition_.Wait(mutex_);
    return status_;
  }

 private:
  mutable Mutex mutex_;
  Condition condition_;
  bool under_way_ FRESHET_GUARDED_BY(mutex_) = false;
  Status status_ FRESHET_GUARDED_BY(mutex_);
  Background thread_;  // last: is destroyed first
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_COMMITTER_H_
