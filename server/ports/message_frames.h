// The messages of gRPC in the DATA frames of one connection: where one ends, how much gRPC holds of
// those that are not whole, how little of one a frame brings, and how many small frames gRPC may
// hold. gRPC 1.51 keeps each frame that nobody has read, and each of a message that is not whole,
// as a piece of its own, which takes 40 bytes beside what it brings, and counts nothing of that.
#ifndef FRESHET_SERVER_PORTS_MESSAGE_FRAMES_H_
#define FRESHET_SERVER_PORTS_MESSAGE_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "server/ports/http2_frames.h"

namespace freshet {

// Thread-compatible.
class MessageFrames {
 public:
  // A frame with fewer bytes is a scrap, unless a message ends with it, or has brought no more than
  // kFreeScraps such frames: some clients send the head of a message in a frame of its own, and a
  // full window may end a frame anywhere.
  static constexpr uint32_t kScrapBytes = 256;
  static constexpr uint8_t kFreeScraps = 2;
  // gRPC keeps the block with a piece, however small that is.
  static constexpr uint32_t kBlockBytes = 8 << 10;

  // A call begins. False: its number is one that gRPC passes over: clients have odd ones, each
  // higher than those before.
  bool Open(uint32_t stream);
  // gRPC takes nothing more of the call: frames of streams that are not open are passed over.
  // Returns whether it was open.
  bool Close(uint32_t stream);
  // Nothing more comes of the call. gRPC keeps it, and what has come, until it has sent the
  // server's answer.
  void EndInput(uint32_t stream);
  // Whether frames of the stream are taken.
  [[nodiscard]] bool Reads(uint32_t stream) { return Reading(stream) != nullptr; }
  [[nodiscard]] size_t open() const { return streams_.size(); }
  // What gRPC holds for messages that are not whole, by frames that have come whole: at least
  // kBlockBytes for each.
  [[nodiscard]] uint64_t held() const { return held_; }
  // The server lets the client send more, which gRPC 1.51 does once what has come is read.
  void OpenWindow(uint32_t stream);

  // A DATA frame begins.
  void Begin(const FrameHead& head);
  // The next of its payload has come.
  void Take(std::string_view payload);
  // Bytes of its payload that are to come.
  [[nodiscard]] uint32_t left() const { return left_; }
  struct Ended {
    bool scrap = false;
    uint32_t unread = 0;  // frames of less than kScrapBytes of the stream since OpenWindow
  };
  // It has.
  [[nodiscard]] Ended End();

 private:
  // The message that a stream is in the middle of. A message is a flag, its size in four bytes, and
  // so many bytes.
  struct Message {
    uint8_t head = 0;    // bytes of flag and size that have come
    uint8_t scraps = 0;  // frames, up to kFreeScraps
    uint32_t size = 0;   // as far as it has come
    uint32_t left = 0;   // to come
    [[nodiscard]] bool ended() const { return head == 0 && left == 0; }
  };

  struct Stream {
    Message message;
    uint64_t held = 0;  // for the message
    uint32_t unread = 0;
    bool input_ended = false;
  };

  // nullptr: the stream is not open, or its input has ended.
  [[nodiscard]] Stream* Reading(uint32_t stream);

  absl::flat_hash_map<uint32_t, Stream> streams_;  // that are open
  uint64_t held_ = 0;                              // for all of them
  uint32_t last_ = 0;                              // that was opened
  FrameHead frame_;                                // of these:
  uint32_t left_ = 0;                              // bytes to come
  uint32_t padding_ = 0;                           // of them at the end
  bool padding_is_next_ = false;                   // the byte that says how many
  Message message_;
  bool ends_ = false;  // a message has ended in it
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_MESSAGE_FRAMES_H_
