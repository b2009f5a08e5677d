// Follows the gRPC messages in the DATA frames of one connection: where each ends, how much gRPC
// holds of unfinished and unread ones, how little a frame brings, and how many small frames gRPC
// may hold. gRPC 1.51 keeps each unread frame, and each frame of an unfinished message, as a piece
// of its own. A piece takes 40 bytes beside its content, which gRPC does not count. A piece also
// keeps the whole blocks into which gRPC has read it.
#ifndef FRESHET_SERVER_PORTS_MESSAGE_FRAMES_H_
#define FRESHET_SERVER_PORTS_MESSAGE_FRAMES_H_

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "server/ports/http2_frames.h"

namespace freshet {

// The messages of all streams. Thread-compatible.
class MessageFrames {
 public:
  // A frame with fewer bytes is a scrap, unless a message ends with it, or has had no more than
  // kFreeScraps such frames. Some clients send the head of a message in a frame of its own, and a
  // full window may end a frame anywhere.
  static constexpr uint32_t kScrapBytes = 256;
  static constexpr uint8_t kFreeScraps = 2;
  // gRPC reads the bytes of a connection into blocks of this size, one after the other.
  static constexpr uint32_t kBlockBytes = 8 << 10;

  // A call begins. False = gRPC skips its number: clients have odd ones, each higher than those
  // before.
  bool Open(uint32_t stream);
  // gRPC takes nothing more of the call: it skips frames of closed streams. Returns whether the
  // call was open.
  bool Close(uint32_t stream);
  // The client sends nothing more on the call. gRPC keeps the call and its messages until it has
  // sent the server's answer.
  void EndInput(uint32_t stream);
  // Whether frames of the stream are taken.
  [[nodiscard]] bool Reads(uint32_t stream) { return Reading(stream) != nullptr; }
  [[nodiscard]] size_t open() const { return streams_.size(); }
  // Bytes of the blocks that gRPC keeps for unfinished and unread messages, by whole frames.
  [[nodiscard]] uint64_t held() const { return uint64_t{kBlockBytes} * blocks_.size(); }
  // The server lets the client send so many bytes more. gRPC 1.51 does so once as many are read,
  // and ahead of the missing rest of a message for which the server waits.
  void OpenWindow(uint32_t stream, uint32_t bytes);

  // A DATA frame begins.
  void Begin(const FrameHead& head);
  // The next part of its payload has come.
  void Take(std::string_view payload);
  // Bytes of its payload that are still to come.
  [[nodiscard]] uint32_t left() const { return left_; }
  struct Ended {
    bool scrap = false;
    uint32_t unread = 0;  // frames of less than kScrapBytes on the stream since OpenWindow
  };
  // The DATA frame has ended, with the last of so many bytes of the connection.
  [[nodiscard]] Ended End(uint64_t bytes);

 private:
  // The unfinished message of a stream. A message is a flag, its size in four bytes, and its bytes.
  struct Message {
    uint8_t head = 0;    // bytes of flag and size received
    uint8_t scraps = 0;  // frames, up to kFreeScraps
    uint32_t size = 0;   // the size as far as received
    uint32_t left = 0;   // bytes to come
    [[nodiscard]] bool ended() const { return head == 0 && left == 0; }
  };

  // Bytes that gRPC keeps, and their first and last block.
  struct Piece {
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t bytes = 0;
  };

  struct Stream {
    Message message;
    std::vector<Piece> pieces;  // the oldest first, from `kept` on
    size_t kept = 0;
    size_t unfinished = 0;  // of the last pieces: those of the unfinished message
    uint64_t bytes = 0;     // of all pieces
    int64_t ahead = 0;      // bytes by which the windows were opened, without those that came
    size_t messages = 0;    // that have ended
    uint32_t unread = 0;
    bool input_ended = false;
  };

  // nullptr = the stream is not open, or its input has ended.
  [[nodiscard]] Stream* Reading(uint32_t stream);
  // A frame of the stream is kept, as a part of an unfinished message or not.
  void Keep(const Piece& piece, bool unfinished, Stream* stream);
  // Forgets the oldest pieces of whole messages until no more bytes are left than are unread.
  void ForgetRead(Stream* stream);
  void Free(const Piece& piece);

  absl::flat_hash_map<uint32_t, Stream> streams_;  // the open streams
  // The pieces in each block that has any; blocks are numbered from the first of the connection.
  absl::flat_hash_map<uint64_t, uint32_t> blocks_;
  uint32_t last_ = 0;             // the last opened
  FrameHead frame_;               // The present frame:
  uint32_t left_ = 0;             // bytes to come
  uint32_t padding_ = 0;          // bytes of padding at the end
  bool padding_is_next_ = false;  // the byte with the padding's size
  Message message_;
  size_t ends_ = 0;  // messages that have ended in the frame
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_MESSAGE_FRAMES_H_
