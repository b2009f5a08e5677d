// Checks the topics of a cluster from time to time: somebody may change their settings while
// servers run, and the damage would show too late. Internal to storage/kafka.
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
  // Checks after `first`, and then every `every`, on a thread of its own, and logs where the
  // options say. 'E': rows are lost or removed ones come back; 'W': they may.
  TopicWatch(const KafkaOptions& options, std::chrono::milliseconds first,
             std::chrono::milliseconds every);
  // Waits for a running check, some seconds at most.
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
