// What a client of HTTP/2 may have a server do for nothing, told by the heads of its frames: gRPC
// 1.51 takes header blocks of any length, with time that grows by the square of it, and any number
// of calls that are taken back at once, messages in pieces of a byte, and any number of messages
// that nobody has read (docs/security.md).
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

// Value type, thread-compatible.
struct FrameLimits {
  // Of a HEADERS frame and the CONTINUATION frames that follow it:
  uint64_t block_bytes = 0;
  uint64_t block_frames = 0;
  // Calls before the client has taken in the server's settings: gRPC holds it to none until then.
  uint64_t early_calls = 0;
  // Of one connection, within kWindow:
  uint64_t resets = 0;  // RST_STREAM
  // SETTINGS, PRIORITY, GOAWAY, DATA that brings nothing or a scrap of a message, WINDOW_UPDATE and
  // acknowledgements beyond those that follow what was sent, and what is unknown:
  uint64_t idle = 0;
  // DATA frames of streams that are not open any more, or never were:
  uint64_t stray = 0;
  // DATA frames of one stream with almost nothing since the server has let its client send more.
  uint64_t unread = 0;

  // What a client may show in the headers of a call to be no client but a server of the fleet,
  // which has the calls of many: its headers alone are bounded from then on. It comes right behind
  // the mark, which is no secret. Empty: nobody has any.
  std::string_view mark;
  std::string_view key;

  static constexpr Duration kWindow = Duration::Seconds(10);
};

// Those of a server that takes so much metadata a call and so many calls a connection.
[[nodiscard]] FrameLimits FrameLimitsFor(int64_t metadata_bytes, int64_t streams_per_connection);

// The frames that come on one connection, and those that leave. Thread-compatible.
class FrameWatch {
 public:
  explicit FrameWatch(const FrameLimits& limits) : limits_(limits) {}

  // Takes in what has come next, in pieces of any size. False: the client has gone beyond a limit,
  // and no more is to be read of it.
  [[nodiscard]] bool Take(std::string_view bytes);
  // The server is about to send these bytes, in pieces of any size: the client may answer before it
  // is known that they are sent. Once some are, the client may say that it has taken in the
  // server's settings, which come first; gRPC takes what says so earlier for leave to ignore its
  // limits.
  void Sending(std::string_view bytes);
  // So many bytes at the end of those were not sent: they come again next.
  void NotSent(size_t bytes) { unsent_ = bytes; }
  // The system has taken all that gRPC has written.
  void AllLeft() { calls_in_write_ = answers_in_write_ = 0; }
  // What of gRPC's memory the connection holds, as far as the server has no say in it: calls that
  // the client has opened since all that gRPC wrote last has left, and bytes of messages. Nothing
  // once the key was shown.
  [[nodiscard]] WireHeld held() const;
  // The client holds too much of this together with others, as if a limit of its own said so.
  void Exceed(std::string_view what) { excess_ = what; }
  // Calls that the client has opened. One is open until the client has cancelled it, or all that
  // gRPC has written of its answer has left.
  [[nodiscard]] WireCalls calls() const {
    return {.opened = opened_, .open = messages_.open() + answers_in_write_};
  }
  // Bytes of a message that are still to come in the present frame.
  [[nodiscard]] size_t data_left() const { return in_data_ ? messages_.left() : 0; }
  // Whether the key was shown.
  [[nodiscard]] bool trusted() const { return trusted_; }
  // What there was too much of; empty: nothing.
  [[nodiscard]] std::string_view excess() const { return excess_; }

 private:
  void See(const FrameHead& head);
  void SeeData();
  void SeeCall(const FrameHead& head);
  void SeeBlock(const FrameHead& head);
  // Looks for the key in a part of headers.
  void SeekKey(std::string_view part);
  // Counts one of those of which `most` may come within a window.
  void Count(uint64_t most, uint64_t* count, std::string_view what);

  FrameLimits limits_;
  FrameHeads heads_;
  FrameHeads sent_heads_{0};
  size_t unsent_ = 0;
  bool in_data_ = false;  // the payload of a DATA frame is next
  MessageFrames messages_;
  bool in_headers_ = false;  // the payload of a frame with headers is next
  bool trusted_ = false;
  std::string unseen_;  // the end of the headers so far, in which the key may have begun
  uint64_t block_bytes_ = 0;
  uint64_t block_frames_ = 0;
  bool settings_sent_ = false;
  bool settled_ = false;  // the client has taken in the settings
  // Frames that the client may send for what was sent to it, and for calls that it opened:
  uint64_t settings_acks_ = 0;
  uint64_t ping_acks_ = 0;
  uint64_t window_updates_ = 0;
  uint32_t reset_left_ = 0;  // bytes to come of a RST_STREAM of that stream:
  uint32_t reset_stream_ = 0;
  uint64_t opened_ = 0;
  uint64_t calls_since_write_ = 0;  // that came since the last write began
  uint64_t calls_in_write_ = 0;     // and before it, until all of it has left
  uint64_t answers_in_write_ = 0;   // calls that end in what has not left
  uint64_t early_calls_ = 0;
  uint64_t resets_ = 0;  // since window_began_
  uint64_t idle_ = 0;
  uint64_t stray_ = 0;
  int64_t window_began_ = 0;  // microseconds of a steady clock; 0: nothing was counted yet
  std::string_view excess_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_FRAME_WATCH_H_
