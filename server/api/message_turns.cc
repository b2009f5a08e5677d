#include "server/api/message_turns.h"

#include <utility>

#include "core/base/check.h"

namespace freshet {

MessageTurns::MessageTurns(const MessageThreads& threads) : threads_(threads) {
  CHECK(threads.callers > 0, "nothing would be handled");
}

MessageTurns::~MessageTurns() {
  std::thread helper;
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    helper = std::move(helper_);
  }
  more_.NotifyAll();
  if (helper.joinable()) helper.join();
}

void MessageTurns::Handle(const std::string& client, size_t bytes, std::function<void()> handle) {
  {
    const MutexLock lock(mutex_);
    if (callers_ == threads_.callers) {
      waiting_.Push(client, std::move(handle), kShortBytes + bytes);
      if (!threads_.helper) return;
      if (!helper_.joinable()) helper_ = std::thread([this] { Help(); });
      return more_.NotifyOne();
    }
    ++callers_;
  }
  while (true) {
    handle();
    // What it holds may be destroyed here, without the lock.
    handle = nullptr;
    const MutexLock lock(mutex_);
    if (waiting_.empty()) {
      --callers_;
      return;
    }
    handle = waiting_.Pop();
  }
}

void MessageTurns::Help() {
  while (true) {
    std::function<void()> handle;
    {
      const MutexLock lock(mutex_);
      while (waiting_.empty() && !ended_) more_.Wait(mutex_);
      if (waiting_.empty()) return;
      handle = waiting_.Pop();
    }
    handle();
  }
}

size_t MessageTurns::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size();
}

}  // namespace freshet
