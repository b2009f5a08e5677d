// One thread for work that may wait for a disk and belongs to no shard: lists and checkpoints.
#ifndef FRESHET_SERVER_BASE_BACKGROUND_H_
#define FRESHET_SERVER_BASE_BACKGROUND_H_

#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "server/base/mailbox.h"

namespace freshet {

// Thread-safe. Work is done in the order of Post.
class Background {
 public:
  Background() : thread_([this] { Run(); }) {}
  ~Background() { Stop(); }
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;

  // Returns false, and drops the work, once stopped.
  bool Post(std::function<void()> work) {
    return mailbox_.PushAlways(std::move(work)) == PushOutcome::kTaken;
  }
  // Work that has not begun.
  [[nodiscard]] size_t waiting() const { return mailbox_.size(); }
  // Does what was posted and ends the thread. Idempotent.
  void Stop() {
    mailbox_.Close();
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    while (true) {
      mailbox_.Wait(Duration::Infinite());
      const bool closed = mailbox_.closed();
      std::vector<std::function<void()>> work;
      std::vector<std::function<void()>> expired;
      mailbox_.Drain(1, Instant(), &work, &expired);
      for (const auto& each : work) each();
      if (closed && mailbox_.empty()) return;
    }
  }

  Mailbox<std::function<void()>> mailbox_{MailboxLimits{}};
  std::thread thread_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_BACKGROUND_H_
