#include "server/base/background.h"

#include <utility>

namespace freshet {

bool Background::Post(const std::string& client, std::function<void()> work) {
  {
    const MutexLock lock(mutex_);
    if (stopped_) return false;
    work_.Push(client, std::move(work));
  }
  wake_.NotifyOne();
  return true;
}

size_t Background::waiting() const {
  const MutexLock lock(mutex_);
  return work_.size();
}

void Background::Stop() {
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  wake_.NotifyOne();
  if (thread_.joinable()) thread_.join();
}

void Background::Run() {
  while (true) {
    std::function<void()> next;
    {
      const MutexLock lock(mutex_);
      while (work_.empty() && !stopped_) wake_.Wait(mutex_);
      if (work_.empty()) return;
      next = work_.Pop();
    }
    next();
  }
}

}  // namespace freshet
