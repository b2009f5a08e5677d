// Headers of HTTP/2 frames (RFC 9113, sections 4 and 6), called heads here to distinguish them from
// HEADERS frames.
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

// The fixed-size header of a frame, before its payload. Value type, thread-compatible.
struct FrameHead {
  uint32_t length = 0;  // of the payload
  uint8_t type = 0;     // a FrameType, or an unknown one
  uint8_t flags = 0;
  uint32_t stream = 0;
};

// Finds the frame heads in the bytes of one direction of a connection. Thread-compatible.
class FrameHeads {
 public:
  // Size of the preface that a client sends before its frames.
  static constexpr uint32_t kPrefaceBytes = 24;

  // Skips the first `before` bytes, for example a client's preface.
  explicit FrameHeads(uint32_t before = kPrefaceBytes) : skip_(before) {}

  // Consumes bytes up to the end of the next head, and returns the head. Unset = the head is not
  // complete yet, and all bytes were consumed.
  [[nodiscard]] std::optional<FrameHead> Next(std::string_view* bytes);
  // Consumes and returns the available part of the payload after the last head. Next skips the rest
  // of it.
  [[nodiscard]] std::string_view TakePayload(std::string_view* bytes);

 private:
  static constexpr size_t kHeadBytes = 9;

  uint32_t skip_;  // bytes before the next head
  std::array<uint8_t, kHeadBytes> head_{};
  size_t there_ = 0;  // bytes of head_ that have arrived
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_HTTP2_FRAMES_H_
