// Just enough HTTP/2 to refuse a gRPC client in words that it shows: its calls fail with
// RESOURCE_EXHAUSTED and the reason. A connection that was merely closed, or sent away at once,
// would be opened again and again, and its calls wait in silence.
#ifndef FRESHET_SERVER_PORTS_REFUSAL_H_
#define FRESHET_SERVER_PORTS_REFUSAL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "server/ports/http2_frames.h"

namespace freshet {

// What every client of HTTP/2 says first (RFC 9113, 3.4).
inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// One connection that is refused: what to send, in answer to what has come. Holds no more than the
// head of one frame, whatever comes. Thread-compatible.
class Refusal {
 public:
  // `reason`: less than 100 printable characters of ASCII, without '%'.
  explicit Refusal(std::string reason);

  // To be sent first.
  [[nodiscard]] std::string Greeting() const;
  // To be sent after these bytes of the client: each call that they begin is refused.
  [[nodiscard]] std::string Answer(std::string_view bytes);
  // To be sent last: no more calls are taken, and why.
  [[nodiscard]] std::string Farewell() const;
  // Whether a call was refused: then the client knows.
  [[nodiscard]] bool answered() const { return last_stream_ > 0; }

 private:
  std::string reason_;
  FrameHeads heads_;
  uint32_t last_stream_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_REFUSAL_H_
