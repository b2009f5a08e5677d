// Follows the gRPC messages in the DATA frames of one connection. It knows where each message ends,
// how many bytes gRPC holds for unfinished and unread messages, which frames carry almost nothing,
// and how many small frames gRPC may hold. gRPC 1.51 keeps each unread frame, and each frame of an
// unfinished message, as a separate piece. A piece takes 40 bytes in addition to its content, which
// gRPC does not count. A piece also keeps alive the whole blocks into which gRPC has read it.
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
  // A frame with fewer bytes is a scrap, unless a message ends in it. The first kFreeScraps of
  // these frames in a message are not counted as scraps: some clients send the header of a message
  // in a separate frame, and a full window may end a frame anywhere.
  static constexpr uint32_t kScrapBytes = 256;
  static constexpr uint8_t kFreeScraps = 2;
  // gRPC reads the bytes of a connection into consecutive blocks of this size.
  static constexpr uint32_t kBlockBytes = 8 << 10;

  // Begins a call. Returns false if gRPC ignores the stream number: clients must use odd numbers,
  // each higher than the ones before.
  bool Open(uint32_t stream);
  // Ends a call. gRPC skips further frames of the stream. Returns true if the call was open.
  bool Close(uint32_t stream);
  // Notes that the client has ended its side of the call. gRPC keeps the call and its messages
  // until it has sent the server's answer.
  void EndInput(uint32_t stream);
  // Whether gRPC accepts frames of the stream.
  [[nodiscard]] bool Reads(uint32_t stream) { return Reading(stream) != nullptr; }
  [[nodiscard]] size_t open() const { return streams_.size(); }
  // Calls that were silent at the end of a read: their first message had not arrived in full, and
  // their input had not ended. Both counts only grow from one call of EndRead to the next.
  struct Silent {
    uint64_t opened = 0;  // so far
    uint64_t over = 0;    // the part of `opened` that is silent no more
  };
  [[nodiscard]] const Silent& silent() const { return silent_; }
  // Notes the end of the bytes that were read together.
  void EndRead() { ++reads_; }
  // Bytes of the blocks that gRPC keeps for unfinished and unread messages.
  [[nodiscard]] uint64_t held() const { return uint64_t{kBlockBytes} * blocks_.size(); }
  // Notes that the server lets the client send `bytes` more bytes. gRPC 1.51 does so when the same
  // number of bytes was read, and in advance for the missing rest of a message for which the server
  // waits.
  void OpenWindow(uint32_t stream, uint32_t bytes);

  // Begins a DATA frame.
  void Begin(const FrameHead& head);
  // Takes the next part of the frame's payload.
  void Take(std::string_view payload);
  // Bytes of the frame's payload that are still to come.
  [[nodiscard]] uint32_t left() const { return left_; }
  struct Ended {
    bool scrap = false;
    size_t messages = 0;  // messages that ended in the frame
    uint32_t unread = 0;  // frames of less than kScrapBytes on the stream since the last OpenWindow
  };
  // Ends the DATA frame. `bytes`: all bytes of the connection up to the end of the frame.
  [[nodiscard]] Ended End(uint64_t bytes);

 private:
  // The unfinished message of a stream. A message consists of a flag byte, its size in four bytes,
  // and its content.
  struct Message {
    uint8_t head = 0;    // bytes of the flag and the size received
    uint8_t scraps = 0;  // small frames without an end, up to kFreeScraps
    uint32_t size = 0;   // the part of the size received so far
    uint32_t left = 0;   // bytes to come
    [[nodiscard]] bool ended() const { return head == 0 && left == 0; }
  };

  // Bytes that gRPC keeps, and the first and last blocks that hold them.
  struct Piece {
    uint64_t first = 0;
    uint64_t last = 0;
    uint64_t bytes = 0;
  };

  struct Stream {
    Message message;
    std::vector<Piece> pieces;  // oldest first; those before `kept` are forgotten
    size_t kept = 0;
    size_t unfinished = 0;  // how many of the last pieces belong to the unfinished message
    uint64_t bytes = 0;     // bytes of all kept pieces
    int64_t ahead = 0;      // bytes by which the window was opened, minus the bytes received
    size_t messages = 0;    // messages that have ended
    uint32_t unread = 0;
    bool input_ended = false;
    uint64_t read = 0;  // the value of reads_ when the call was opened
  };

  // nullptr = the stream is not open, or its input has ended.
  [[nodiscard]] Stream* Reading(uint32_t stream);
  // Adds a frame to the pieces of the stream. `unfinished`: it belongs to an unfinished message.
  void Keep(const Piece& piece, bool unfinished, Stream* stream);
  // Forgets the oldest pieces of complete messages, as far as they have been read.
  void ForgetRead(Stream* stream);
  void Free(const Piece& piece);
  // Notes that the call, if it was silent, is silent no more. Must be called before the change to
  // the stream.
  void Speak(const Stream& stream);

  absl::flat_hash_map<uint32_t, Stream> streams_;  // the open streams
  // The number of pieces in each block; never zero. Blocks are numbered from the start of the
  // connection.
  absl::flat_hash_map<uint64_t, uint32_t> blocks_;
  uint64_t reads_ = 0;
  Silent silent_;
  uint32_t last_ = 0;             // the last stream opened
  FrameHead frame_;               // The current frame:
  uint32_t left_ = 0;             // bytes to come
  uint32_t padding_ = 0;          // bytes of padding at the end
  bool padding_is_next_ = false;  // the next byte is the size of the padding
  Message message_;
  size_t ends_ = 0;  // messages that ended in the current frame
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_MESSAGE_FRAMES_H_
