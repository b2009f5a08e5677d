// How long a server waits for a client to take what it is sent.
#ifndef FRESHET_SERVER_API_PATIENCE_H_
#define FRESHET_SERVER_API_PATIENCE_H_

#include <chrono>
#include <cstddef>

#include "core/base/units.h"

namespace freshet {

// How long a client may leave what it is sent: so long in all, and longer by what it has taken, at
// limits::kLeastBytesPerSecond; never more than so long again. Where others need the room it is
// less, down to a second and what the bytes take at that rate. Thread-compatible.
class Patience {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Patience(Duration most) : most_(most), left_(most) {}

  // So many bytes are sent.
  void Begin(size_t bytes, Clock::time_point now);
  // When the client is too slow that has not taken them. `crowding` is of Crowding
  // (server/api/stream_set.h).
  [[nodiscard]] Clock::time_point Until(double crowding = 0) const;
  // It has taken them.
  void End(Clock::time_point now);

 private:
  const Duration most_;
  Duration left_;
  Duration for_bytes_;
  Clock::time_point began_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_PATIENCE_H_
