// Limits how long a server waits for a client to take its messages.
#ifndef FRESHET_SERVER_API_PATIENCE_H_
#define FRESHET_SERVER_API_PATIENCE_H_

#include <chrono>
#include <cstddef>
#include <optional>

#include "core/base/units.h"

namespace freshet {

// The time that a client has to read each message: the time that the bytes take at
// limits::kLeastBytesPerSecond, plus a reserve. The reserve starts at `most`. A slow client uses up
// the reserve, and a fast client refills it, up to `most`. If other clients need the memory, less
// of the reserve counts, down to a second. Thread-compatible.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Patience(Duration most) : most_(most), left_(most) {}

  // Notes that a message of `bytes` bytes is being sent.
  void Begin(size_t bytes, Clock::time_point now);
  // The instant at which a client that has not read the message becomes too slow; max() = never,
  // because the call is already cut. `crowding` is a field of Crowding (server/api/stream_set.h).
  [[nodiscard]] Clock::time_point Until(double crowding = 0) const;
  // Notes that the client has read the message.
  void End(Clock::time_point now);
  // Notes that the call was cut. Later calls of this function have no effect.
  void Cut(Clock::time_point now) {
    if (!cut_) cut_ = now;
  }
  // Whether the call was cut so long ago that its last bytes must be stuck in the connection.
  [[nodiscard]] bool Stuck(Clock::time_point now) const;

 private:
  const Duration most_;
  Duration left_;
  Duration for_bytes_;
  Clock::time_point began_;
  std::optional<Clock::time_point> cut_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_PATIENCE_H_
