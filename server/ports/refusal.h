// Just enough HTTP/2 to refuse a gRPC client with a reason that the client shows to its user. The
// client's calls fail with RESOURCE_EXHAUSTED. If the connection were just closed, the client would
// keep reconnecting, and its calls would hang.
#ifndef FRESHET_SERVER_PORTS_REFUSAL_H_
#define FRESHET_SERVER_PORTS_REFUSAL_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "server/ports/http2_frames.h"

namespace freshet {

// The first bytes of every HTTP/2 client (RFC 9113, 3.4).
inline constexpr std::string_view kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

// The refusal of one connection. Makes the bytes to send in answer to the client's bytes. Buffers
// at most the head of one frame. Thread-compatible.
class Refusal {
 public:
  // `reason`: fewer than 100 printable ASCII characters, without '%'.
  explicit Refusal(std::string reason);

  // The bytes to send first.
  [[nodiscard]] std::string Greeting() const;
  // The bytes to send after `bytes` from the client. They refuse each call that begins in `bytes`.
  [[nodiscard]] std::string Answer(std::string_view bytes);
  // The bytes to send last. They say that no more calls are accepted, and why.
  [[nodiscard]] std::string Farewell() const;
  // Whether a call was refused, so that the client knows the reason.
  [[nodiscard]] bool answered() const { return last_stream_ > 0; }

 private:
  std::string reason_;
  FrameHeads heads_;
  uint32_t last_stream_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_REFUSAL_H_
