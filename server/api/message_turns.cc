#include "server/api/message_turns.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace freshet {

MessageTurns::MessageTurns(const MessageThreads& threads)
    : threads_(threads),
      most_long_(std::max<size_t>(1, threads.callers + (threads.helper ? 1 : 0) - 1)) {
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
  Message message = {.handle = std::move(handle), .is_long = bytes >= kLongBytes};
  {
    const MutexLock lock(mutex_);
    if (callers_ == threads_.callers || (message.is_long && long_ == most_long_)) {
      (message.is_long ? long_waiting_ : waiting_)
          .Push(client, std::move(message.handle), kShortBytes + bytes);
      if (!threads_.helper) return;
      if (!helper_.joinable()) helper_ = std::thread([this] { Help(); });
      return more_.NotifyOne();
    }
    ++callers_;
    if (message.is_long) ++long_;
  }
  while (true) {
    Perform(std::move(message));
    const MutexLock lock(mutex_);
    message = Next();
    if (message.handle) continue;
    --callers_;
    return;
  }
}

void MessageTurns::Help() {
  while (true) {
    Message message;
    {
      const MutexLock lock(mutex_);
      while (!(message = Next()).handle && !ended_) more_.Wait(mutex_);
      if (!message.handle) return;
    }
    Perform(std::move(message));
  }
}

MessageTurns::Message MessageTurns::Next() {
  const bool may_be_long = !long_waiting_.empty() && long_ < most_long_;
  if (waiting_.empty() && !may_be_long) return {};
  was_long_ = may_be_long && (waiting_.empty() || !was_long_);
  if (was_long_) ++long_;
  return {.handle = (was_long_ ? long_waiting_ : waiting_).Pop(), .is_long = was_long_};
}

void MessageTurns::Perform(Message message) {
  message.handle();
  message.handle = nullptr;
  if (!message.is_long) return;
  const MutexLock lock(mutex_);
  --long_;
  // This thread may take a short one next.
  if (!long_waiting_.empty()) more_.NotifyOne();
}

size_t MessageTurns::waiting() const {
  const MutexLock lock(mutex_);
  return waiting_.size() + long_waiting_.size();
}

}  // namespace freshet
