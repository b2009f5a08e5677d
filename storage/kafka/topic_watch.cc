#include "storage/kafka/topic_watch.h"

#include <string>

#include "fmt/format.h"
#include "storage/kafka/topics.h"

namespace freshet::kafka {
namespace {

KafkaOptions CancelledBy(KafkaOptions options, const std::atomic<bool>& stop) {
  options.cancelled = &stop;
  return options;
}

}  // namespace

TopicWatch::TopicWatch(const KafkaOptions& options, std::chrono::milliseconds first,
                       std::chrono::milliseconds every)
    : options_(CancelledBy(options, stopping_)),
      thread_([this, first, every] { Run(first, every); }) {}

TopicWatch::~TopicWatch() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  thread_.join();
}

void TopicWatch::Run(std::chrono::milliseconds first, std::chrono::milliseconds every) {
  using Steady = std::chrono::steady_clock;
  auto next = Steady::now() + first;
  while (!stopping_) {
    {
      const MutexLock lock(mutex_);
      while (!stopping_ && Steady::now() < next) {
        wake_.WaitFor(mutex_, std::chrono::duration_cast<std::chrono::milliseconds>(
                                  next - Steady::now() + std::chrono::milliseconds(1)));
      }
    }
    if (!stopping_) Look();
    next = Steady::now() + every;
  }
}

void TopicWatch::Look() const {
  const Status status = LookAtTopics(options_);
  if (status.ok() || stopping_ || !options_.log) return;
  const bool fault = absl::IsFailedPrecondition(status) || absl::IsDataLoss(status);
  options_.log(fault ? 'E' : 'W', fmt::format("looking at the topics of the cluster again: {}",
                                              std::string(status.message())));
}

}  // namespace freshet::kafka
