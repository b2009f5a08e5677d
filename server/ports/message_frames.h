// The messages of gRPC in the DATA frames of one connection: where one ends, and how little of one
// a frame brings. gRPC 1.51 keeps each frame of a message that is not whole as a piece of its own,
// which takes 40 bytes beside what it brings, and counts nothing of that.
#ifndef FRESHET_SERVER_PORTS_MESSAGE_FRAMES_H_
#define FRESHET_SERVER_PORTS_MESSAGE_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

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

  // Keeps track of `most_unfinished` streams in the middle of a message, the latest ones: the
  // server may have ended earlier ones itself.
  explicit MessageFrames(size_t most_unfinished) : most_unfinished_(most_unfinished) {}

  // A DATA frame begins.
  void Begin(const FrameHead& head);
  // The next of its payload has come.
  void Take(std::string_view payload);
  // Whether its payload has come as a whole.
  [[nodiscard]] bool whole() const { return left_ == 0; }
  // It has. Returns whether it was a scrap.
  [[nodiscard]] bool End();
  // No more comes on the stream.
  void Forget(uint32_t stream) { unfinished_.erase(stream); }

 private:
  // What is still to come of the message that a stream is in the middle of. A message is a flag,
  // its size in four bytes, and so many bytes.
  struct Message {
    uint8_t head = 0;    // bytes of flag and size that have come
    uint8_t scraps = 0;  // frames, up to kFreeScraps
    uint32_t size = 0;   // as far as it has come
    uint32_t left = 0;
    [[nodiscard]] bool ended() const { return head == 0 && left == 0; }
  };

  size_t most_unfinished_;
  std::map<uint32_t, Message> unfinished_;  // by stream; mostly none
  FrameHead frame_;                         // of these:
  uint32_t left_ = 0;                       // bytes to come
  uint32_t padding_ = 0;                    // of them at the end
  bool padding_is_next_ = false;            // the byte that says how many
  Message message_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_MESSAGE_FRAMES_H_
