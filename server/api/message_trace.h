// Traces a share of the messages with items: a line of the log gives the time of each step from the
// message to its acknowledgement. `trace_share` of the configuration is the share;
// docs/operations.md explains the line.
#ifndef FRESHET_SERVER_API_MESSAGE_TRACE_H_
#define FRESHET_SERVER_API_MESSAGE_TRACE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/units.h"
#include "server/api/batch_counts.h"
#include "server/base/live.h"
#include "server/base/system_clock.h"
#include "server/engine/batch_trace.h"

namespace freshet {

// One traced message. Thread-safe.
class MessageTrace : public BatchTrace {
 public:
  // Called when the message is received. `clock` outlives this; `method` is static.
  MessageTrace(Clock& clock, std::string_view method, std::string request_id);

  // Writes the line. Called at most once, when the acknowledgement is on its way to the client. Not
  // called if the message never reaches its shards.
  void Finish(uint64_t sequence, const BatchCounts& counts) const;

 private:
  const std::string_view method_;
  const std::string request_id_;
  const Instant received_;
};

// Chooses the messages to trace. Thread-safe.
class Tracer {
 public:
  // `share` and `clock` outlive this object. `share` is from 0 to 1, and can change.
  Tracer(const Live<double>& share, Clock& clock) : share_(share), clock_(clock) {}

  // Called when a message of a stream is received; nullptr = the message is not traced. Out of n
  // consecutive messages, n times the share are traced, give or take one.
  [[nodiscard]] std::shared_ptr<MessageTrace> Sample(std::string_view method,
                                                     const std::string& request_id);

 private:
  const Live<double>& share_;
  Clock& clock_;
  std::atomic<uint64_t> messages_{0};
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_MESSAGE_TRACE_H_
