// Collects the log messages of a Kafka log, so that tests can read them.
#ifndef FRESHET_TESTS_STORAGE_KAFKA_SAID_H_
#define FRESHET_TESTS_STORAGE_KAFKA_SAID_H_

#include <string>
#include <string_view>
#include <vector>

#include "storage/kafka/kafka_log.h"
#include "sync/mutex.h"

namespace freshet {

// Collects log messages. Thread-safe. Must outlive all users of the options.
class Said {
 public:
  // Returns the options, logging to this object.
  [[nodiscard]] KafkaOptions By(KafkaOptions options) {
    options.log = [this](char level, std::string_view line) {
      const MutexLock lock(mutex_);
      lines_.emplace_back(line);
      if (level == 'W') warnings_.emplace_back(line);
    };
    return options;
  }
  [[nodiscard]] std::vector<std::string> lines() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return lines_;
  }
  [[nodiscard]] std::vector<std::string> warnings() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return warnings_;
  }

 private:
  mutable Mutex mutex_;
  std::vector<std::string> lines_ FRESHET_GUARDED_BY(mutex_);
  std::vector<std::string> warnings_ FRESHET_GUARDED_BY(mutex_);  // warnings among the lines
};

}  // namespace freshet

#endif  // FRESHET_TESTS_STORAGE_KAFKA_SAID_H_
