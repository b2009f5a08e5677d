// Traces: of a share of the messages of items, a line of the log that says how long each part of
// the way from the message to its acknowledgement took. The share is `trace_share` of the
// configuration; docs/operations.md explains the line.
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

// One message that is traced. Thread-safe.
class MessageTrace : public BatchTrace {
 public:
  // `clock` outlives it, `method` is static; made as the message is received.
  MessageTrace(Clock& clock, std::string_view method, std::string request_id);

  // The acknowledgement is on its way to the client: writes the line. Called once, or not at all
  // when the message never comes to its shards.
  void Finish(uint64_t sequence, const BatchCounts& counts) const;

 private:
  const std::string_view method_;
  const std::string request_id_;
  const Instant received_;
};

// Chooses the messages. Thread-safe.
class Tracer {
 public:
  // Both outlive it. `share` is within 0 and 1, and may change.
  Tracer(const Live<double>& share, Clock& clock) : share_(share), clock_(clock) {}

  // A message of this stream was received; nullptr: it is not traced. Of any n messages in a row
  // the share n of them is, to within one.
  [[nodiscard]] std::shared_ptr<MessageTrace> Sample(std::string_view method,
                                                     const std::string& request_id);

 private:
  const Live<double>& share_;
  Clock& clock_;
  std::atomic<uint64_t> messages_{0};
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_MESSAGE_TRACE_H_
