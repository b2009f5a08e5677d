// Checks the topics of a cluster from time to time. Someone might change their settings while
// servers run, and the damage would be noticed too late. Internal to storage/kafka.
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
  // Checks after `first`, and then every `every`, on a separate thread. Logs to the options' log:
  // 'E' = rows are lost or removed rows will reappear, 'W' = this might happen.
  TopicWatch(const KafkaOptions& options, std::chrono::milliseconds first,
             std::chrono::milliseconds every);
  // Waits for a running check, for a few seconds at most.
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
