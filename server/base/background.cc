#include "server/base/background.h"

#include <utility>

namespace freshet {

bool Background::Post(const std::string& client, std::function<void()> work) {
  {
    const MutexLock lock(mutex_);
    if (stopped_) return false;
    std::deque<std::function<void()>>& of_client = work_[client];
    if (of_client.empty()) turns_.push_back(client);
    of_client.push_back(std::move(work));
    ++waiting_;
  }
  wake_.NotifyOne();
  return true;
}

size_t Background::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_;
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
      while (turns_.empty() && !stopped_) wake_.Wait(mutex_);
      if (turns_.empty()) return;
      std::string client = std::move(turns_.front());
      turns_.pop_front();
      const auto of_client = work_.find(client);
      next = std::move(of_client->second.front());
      of_client->second.pop_front();
      --waiting_;
      if (of_client->second.empty()) {
        work_.erase(of_client);
      } else {
        turns_.push_back(std::move(client));
      }
    }
    next();
  }
}

}  // namespace freshet
