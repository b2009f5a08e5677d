// Limits how long a server waits for a client to take its messages.
#ifndef FRESHET_SERVER_API_PATIENCE_H_
#define FRESHET_SERVER_API_PATIENCE_H_

#include <chrono>
#include <cstddef>
#include <optional>

#include "core/base/units.h"

namespace freshet {

// The time that a client gets to take each message: the time for its bytes at
// limits::kLeastBytesPerSecond, and a reserve. The reserve begins with `most`; slow clients use it
// up, fast ones refill it, up to `most`. If others need the room the reserve counts less, down to a
// second. Thread-compatible.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Patience(Duration most) : most_(most), left_(most) {}

  // Begins to send a message of `bytes`.
  void Begin(size_t bytes, Clock::time_point now);
  // The time from which a client that has not taken the bytes is too slow; max() = never, because
  // the call was cut. `crowding`: a field of Crowding (server/api/stream_set.h).
  [[nodiscard]] Clock::time_point Until(double crowding = 0) const;
  // The client has taken the bytes.
  void End(Clock::time_point now);
  // Notes that the call is cut. Only the first time counts.
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
