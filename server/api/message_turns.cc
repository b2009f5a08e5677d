#include "server/api/message_turns.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace freshet {

MessageTurns::MessageTurns(const MessageThreads& threads)
    : threads_(threads),
      most_long_(std::max<size_t>(1, threads.callers + (threads.helpers ? 1 : 0) - 1)) {
  CHECK(threads.callers > 0, "nothing would be handled");
}

MessageTurns::~MessageTurns() {
  std::array<std::thread, kHelpers> helpers;
  {
    const MutexLock lock(mutex_);
    ended_ = true;
    helpers.swap(helpers_);
  }
  for (Condition& more : more_) more.NotifyAll();
  for (std::thread& helper : helpers) {
    if (helper.joinable()) helper.join();
  }
}

MessageTurns::Kind MessageTurns::KindOf(size_t bytes) {
  if (bytes <= kShortBytes) return Kind::kShort;
  return bytes < kLongBytes ? Kind::kMiddle : Kind::kLong;
}

void MessageTurns::Handle(const std::string& client, size_t bytes, std::function<void()> handle) {
  Message message = {.handle = std::move(handle), .kind = KindOf(bytes)};
  {
    const MutexLock lock(mutex_);
    if (callers_ == threads_.callers || (message.kind == Kind::kLong && long_ == most_long_)) {
      auto& waiting = waiting_[static_cast<size_t>(message.kind)];
      waiting.Push(client, std::move(message.handle), kShortBytes + bytes);
      const bool is_short = message.kind == Kind::kShort;
      if (is_short) Wake(kForShort);
      if (!is_short || waiting.size() > 1) Wake(kForAny);
      return;
    }
    ++callers_;
    if (message.kind == Kind::kLong) ++long_;
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

void MessageTurns::Wake(Helper helper) {
  if (!threads_.helpers) return;
  if (!helpers_[helper].joinable()) {
    helpers_[helper] = std::thread([this, helper] { Help(helper); });
  }
  more_[helper].NotifyOne();
}

void MessageTurns::Help(Helper helper) {
  while (true) {
    Message message;
    {
      const MutexLock lock(mutex_);
      while (!(message = Next(helper)).handle && !ended_) more_[helper].Wait(mutex_);
      if (!message.handle) return;
    }
    Perform(std::move(message));
  }
}

bool MessageTurns::MayBe(Kind kind) const {
  return !waiting_[static_cast<size_t>(kind)].empty() &&
         (kind != Kind::kLong || long_ < most_long_);
}

MessageTurns::Message MessageTurns::Next(Helper helper) {
  Kind kind = Kind::kShort;
  if (helper == kForAny) {
    kind = last_;
    do {
      kind = static_cast<Kind>((static_cast<size_t>(kind) + 1) % kKinds);
    } while (!MayBe(kind) && kind != last_);
  }
  if (!MayBe(kind)) return {};
  if (helper == kForAny) last_ = kind;
  if (kind == Kind::kLong) ++long_;
  return {.handle = waiting_[static_cast<size_t>(kind)].Pop(), .kind = kind};
}

void MessageTurns::Perform(Message message) {
  message.handle();
  message.handle = nullptr;
  if (message.kind != Kind::kLong) return;
  const MutexLock lock(mutex_);
  --long_;
  // Wakes a helper for the next long message, because this thread might take a message of another
  // kind next.
  if (MayBe(Kind::kLong)) Wake(kForAny);
}

size_t MessageTurns::waiting() const {
  const MutexLock lock(mutex_);
  size_t waiting = 0;
  for (const auto& kind : waiting_) waiting += kind.size();
  return waiting;
}

}  // namespace freshet
