// Heads of HTTP/2 frames (RFC 9113, sections 4 and 6).
#ifndef FRESHET_SERVER_PORTS_HTTP2_FRAMES_H_
#define FRESHET_SERVER_PORTS_HTTP2_FRAMES_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace freshet {

enum FrameType : uint8_t {
  kDataFrame = 0,
  kHeadersFrame = 1,
  kRstStreamFrame = 3,
  kSettingsFrame = 4,
  kPushPromiseFrame = 5,
  kPingFrame = 6,
  kGoAwayFrame = 7,
  kWindowUpdateFrame = 8,
  kContinuationFrame = 9,
};
inline constexpr uint8_t kAckFlag = 1;        // of SETTINGS and PING
inline constexpr uint8_t kEndStreamFlag = 1;  // of DATA and HEADERS
inline constexpr uint8_t kEndHeadersFlag = 4;
inline constexpr uint8_t kPaddedFlag = 8;  // of DATA and HEADERS

// The head of a frame, before its payload. Value type, thread-compatible.
struct FrameHead {
  uint32_t length = 0;  // of the payload
  uint8_t type = 0;     // a FrameType, or an unknown one
  uint8_t flags = 0;
  uint32_t stream = 0;
};

// Finds the heads in the bytes of one side of HTTP/2. Thread-compatible.
class FrameHeads {
 public:
  // Bytes of the preface that a client sends before its frames.
  static constexpr uint32_t kPrefaceBytes = 24;

  // Skips the first `before` bytes, such as a client's preface.
  explicit FrameHeads(uint32_t before = kPrefaceBytes) : skip_(before) {}

  // Takes bytes up to the next head, and returns the head; unset = it has yet to come, and all
  // bytes were taken.
  [[nodiscard]] std::optional<FrameHead> Next(std::string_view* bytes);
  // Takes the available part of the payload behind the last head. Next skips the rest of it.
  [[nodiscard]] std::string_view TakePayload(std::string_view* bytes);

 private:
  static constexpr size_t kHeadBytes = 9;

  uint32_t skip_;  // bytes before the next head
  std::array<uint8_t, kHeadBytes> head_{};
  size_t there_ = 0;  // bytes of head_
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP2_FRAMES_H_
