// Looks at the topics of a cluster now and then: somebody may change their settings while servers
// run, and what that costs shows only when it is too late. Internal to storage/kafka.
#ifndef FRESHET_STORAGE_KAFKA_TOPIC_WATCH_H_
#define FRESHET_STORAGE_KAFKA_TOPIC_WATCH_H_

#include <atomic>
#include <chrono>
#include <thread>

#include "storage/kafka/kafka_log.h"
#include "sync/mutex.h"

namespace freshet::kafka {

// Thread-safe.
class TopicWatch {
 public:
  // Looks first after `first`, and then every `every`, on a thread of its own, and tells where the
  // options say to: 'E' of what loses rows or lets removed ones come back, 'W' of what may.
  TopicWatch(const KafkaOptions& options, std::chrono::milliseconds first,
             std::chrono::milliseconds every);
  // Waits for a look that is under way, some seconds at most.
  ~TopicWatch();
  TopicWatch(const TopicWatch&) = delete;
  TopicWatch& operator=(const TopicWatch&) = delete;

 private:
  void Run(std::chrono::milliseconds first, std::chrono::milliseconds every);
  void Look() const;

  std::atomic<bool> stopping_ = false;
  const KafkaOptions options_;
  Mutex mutex_;
  Condition wake_;
  std::thread thread_;
};

}  // namespace freshet::kafka

#endif  // FRESHET_STORAGE_KAFKA_TOPIC_WATCH_H_
