// Limits the useless work that an HTTP/2 client can cause, by watching the headers of its frames.
// gRPC 1.51 accepts header blocks of any length, in quadratic time, and any number of calls that
// are cancelled at once. It also accepts messages in pieces of one byte, and any number of unread
// messages (docs/security.md).
#ifndef FRESHET_SERVER_PORTS_FRAME_WATCH_H_
#define FRESHET_SERVER_PORTS_FRAME_WATCH_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/units.h"
#include "server/ports/http2_frames.h"
#include "server/ports/message_frames.h"
#include "server/ports/wire_shares.h"
#include "server/ports/wire_turns.h"

namespace freshet {

// The limits. Value type, thread-compatible.
struct FrameLimits {
  // Limits of a HEADERS frame with its CONTINUATION frames:
  uint64_t block_bytes = 0;
  uint64_t block_frames = 0;
  // Calls before the client has acknowledged the server's settings. Until then gRPC enforces no
  // limit on calls.
  uint64_t early_calls = 0;
  // Limits of one connection, within kWindow:
  uint64_t resets = 0;  // RST_STREAM
  // SETTINGS, PRIORITY, GOAWAY and unknown frames; DATA that is empty or holds only a scrap of a
  // message (MessageFrames::kScrapBytes); and WINDOW_UPDATE frames and acknowledgements beyond the
  // expected number:
  uint64_t idle = 0;
  // DATA frames of streams that are closed or were never open:
  uint64_t stray = 0;
  // Small DATA frames of one stream since the server last opened its window.
  uint64_t unread = 0;

  // Another server of the fleet shows this key in the headers of a call. Its connection carries the
  // calls of many clients, so from then on only header sizes are limited. The key directly follows
  // `mark`, which is not secret (MarkOfKey in server/auth/on_behalf.h). Empty = no key is accepted.
  std::string_view mark;
  std::string_view key;

  static constexpr Duration kWindow = Duration::Seconds(10);
};

// The limits of a server that accepts `metadata_bytes` of metadata in a call and
// `streams_per_connection` calls on a connection.
[[nodiscard]] FrameLimits FrameLimitsFor(int64_t metadata_bytes, int64_t streams_per_connection);

// Watches the frames of one connection in both directions. Thread-compatible.
class FrameWatch {
 public:
  explicit FrameWatch(const FrameLimits& limits) : limits_(limits) {}

  // Takes the next bytes from the client, in pieces of any size. Returns false if the client has
  // exceeded a limit: the caller then reads no more.
  [[nodiscard]] bool Take(std::string_view bytes);
  // Takes bytes that the server is about to send, in pieces of any size. Must be called before the
  // write, because the client can answer before the write returns. The server sends its settings
  // first, so the client cannot acknowledge them before the first call of Sending. An earlier
  // acknowledgement is not accepted as one, because gRPC 1.51 enforces no limit on calls after it.
  void Sending(std::string_view bytes);
  // Says that the last `bytes` bytes given to Sending were not sent. They come again with the next
  // call of Sending.
  void NotSent(size_t bytes) { unsent_ = bytes; }
  // Says that the kernel has accepted everything that gRPC has written.
  void AllLeft() { calls_in_write_ = answers_in_write_ = 0; }
  // The amounts that gRPC holds for the connection beyond the server's control: memory for
  // messages, and calls opened since the kernel accepted gRPC's last complete write. Zero once the
  // key was shown.
  [[nodiscard]] WireHeld held() const;
  // Treats the client as if it had exceeded a limit, because it and other clients together hold too
  // much.
  void Exceed(std::string_view what) { excess_ = what; }
  // The calls of the client. A call is open until the client has cancelled it, or the kernel has
  // accepted all of gRPC's answer.
  [[nodiscard]] WireCalls calls() const {
    return {.opened = opened_,
            .open = messages_.open() + answers_in_write_,
            .silent_opened = messages_.silent().opened,
            .silent_over = messages_.silent().over};
  }
  // The work that the client's bytes have caused gRPC so far, in units: 1 for each frame and each
  // message, and kWorkOfCall for each call.
  static constexpr uint64_t kWorkOfCall = 8;
  [[nodiscard]] uint64_t work() const { return work_; }
  // Bytes of a message that are still to come in the present frame.
  [[nodiscard]] size_t data_left() const { return in_data_ ? messages_.left() : 0; }
  // Whether the key was shown.
  [[nodiscard]] bool trusted() const { return trusted_; }
  // The limit that was exceeded, in words; empty = none.
  [[nodiscard]] std::string_view excess() const { return excess_; }

 private:
  [[nodiscard]] bool TakeFrames(std::string_view bytes);
  void See(const FrameHead& head);
  // Called when the payload of a DATA frame has arrived. `bytes`: the number of bytes that the
  // connection has brought up to the end of the payload.
  void SeeData(uint64_t bytes);
  // Takes the next part of the payload of a frame that the server sends.
  void SeeSent(std::string_view part);
  void SeeCall(const FrameHead& head);
  void SeeBlock(const FrameHead& head);
  // Looks for the key in the next part of the headers.
  void SeekKey(std::string_view part);
  // Counts one event. At most `most` of them may occur within a window.
  void Count(uint64_t most, uint64_t* count, std::string_view what);

  // A WINDOW_UPDATE that is being sent.
  struct Window {
    uint32_t stream = 0;
    uint32_t bytes = 0;
    uint32_t left = 0;  // bytes of its payload still to come
  };

  FrameLimits limits_;
  FrameHeads heads_;
  FrameHeads sent_heads_{0};
  Window window_;
  size_t unsent_ = 0;
  uint64_t taken_ = 0;  // bytes from the client
  uint64_t work_ = 0;
  bool in_data_ = false;  // the payload of a DATA frame is next
  MessageFrames messages_;
  bool in_headers_ = false;  // the payload of a frame with headers is next
  bool trusted_ = false;
  std::string unseen_;  // the last bytes of the headers so far, in which the key may have begun
  uint64_t block_bytes_ = 0;
  uint64_t block_frames_ = 0;
  bool settings_sent_ = false;
  bool settled_ = false;  // the client has acknowledged the settings
  // Frames that the client may still send as answers, or for calls that it has opened:
  uint64_t settings_acks_ = 0;
  uint64_t ping_acks_ = 0;
  uint64_t window_updates_ = 0;
  uint32_t reset_left_ = 0;  // bytes still to come of a RST_STREAM for reset_stream_
  uint32_t reset_stream_ = 0;
  uint64_t opened_ = 0;
  uint64_t calls_since_write_ = 0;  // opened since the last write began
  uint64_t calls_in_write_ = 0;    // opened before the last write, until all of that write was sent
  uint64_t answers_in_write_ = 0;  // calls whose last bytes are not sent yet
  uint64_t early_calls_ = 0;
  uint64_t resets_ = 0;  // since window_began_
  uint64_t idle_ = 0;
  uint64_t stray_ = 0;
  int64_t window_began_ = 0;  // microseconds of a steady clock; 0 = no event yet
  std::string_view excess_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_FRAME_WATCH_H_
