#include "server/ports/message_frames.h"

#include <algorithm>
#include <cstddef>

namespace freshet {
namespace {

constexpr uint8_t kHeadBytes = 5;

}  // namespace

bool MessageFrames::Open(uint32_t stream) {
  if (stream % 2 == 0 || stream <= last_) return false;
  last_ = stream;
  Stream& opened = streams_[stream] = {};
  opened.read = reads_;
  ++silent_.opened;
  return true;
}

void MessageFrames::Speak(const Stream& stream) {
  if (stream.messages > 0 || stream.input_ended) return;
  if (stream.read == reads_) {
    --silent_.opened;
  } else {
    ++silent_.over;
  }
}

bool MessageFrames::Close(uint32_t stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return false;
  const Stream& closed = found->second;
  Speak(closed);
  for (size_t i = closed.kept; i < closed.pieces.size(); ++i) Free(closed.pieces[i]);
  streams_.erase(found);
  return true;
}

void MessageFrames::EndInput(uint32_t stream) {
  Stream* const reading = Reading(stream);
  if (reading == nullptr) return;
  Speak(*reading);
  reading->input_ended = true;
  // The server reads the only message of a call at once, and does not open the window again. So all
  // bytes of such a call count as read.
  if (reading->messages > 1) return;
  reading->ahead = INT64_MAX;
  ForgetRead(reading);
}

MessageFrames::Stream* MessageFrames::Reading(uint32_t stream) {
  const auto found = streams_.find(stream);
  return found == streams_.end() || found->second.input_ended ? nullptr : &found->second;
}

void MessageFrames::OpenWindow(uint32_t stream, uint32_t bytes) {
  Stream* const reading = Reading(stream);
  if (reading == nullptr) return;
  reading->unread = 0;
  reading->ahead += bytes;
  ForgetRead(reading);
}

void MessageFrames::Keep(const Piece& piece, bool unfinished, Stream* stream) {
  stream->bytes += piece.bytes;
  std::vector<Piece>& pieces = stream->pieces;
  const bool like_last = pieces.size() > stream->kept && unfinished == (stream->unfinished > 0);
  // Consecutive frames in one block are one piece.
  if (like_last && pieces.back().first == piece.last) {
    pieces.back().bytes += piece.bytes;
    return;
  }
  pieces.push_back(piece);
  if (unfinished) ++stream->unfinished;
  for (uint64_t block = piece.first; block <= piece.last; ++block) ++blocks_[block];
}

void MessageFrames::Free(const Piece& piece) {
  for (uint64_t block = piece.first; block <= piece.last; ++block) {
    const auto found = blocks_.find(block);
    if (--found->second == 0) blocks_.erase(found);
  }
}

void MessageFrames::ForgetRead(Stream* stream) {
  const uint64_t unread =
      stream->ahead < 0 ? uint64_t{0} - static_cast<uint64_t>(stream->ahead) : 0;
  std::vector<Piece>& pieces = stream->pieces;
  while (stream->kept + stream->unfinished < pieces.size()) {
    const Piece& oldest = pieces[stream->kept];
    if (stream->bytes - oldest.bytes < unread) break;
    stream->bytes -= oldest.bytes;
    Free(oldest);
    ++stream->kept;
  }
  // Erases the forgotten pieces only if at least half of all pieces are forgotten, so that moving
  // the rest is cheap on average.
  if (2 * stream->kept < pieces.size()) return;
  pieces.erase(pieces.begin(), pieces.begin() + static_cast<std::ptrdiff_t>(stream->kept));
  stream->kept = 0;
}

void MessageFrames::Begin(const FrameHead& head) {
  frame_ = head;
  left_ = head.length;
  padding_ = 0;
  padding_is_next_ = (head.flags & kPaddedFlag) != 0;
  message_ = {};
  ends_ = 0;
  if (head.length == 0 && (head.flags & kEndStreamFlag) != 0) return EndInput(head.stream);
  if (const Stream* const reading = Reading(head.stream)) message_ = reading->message;
}

void MessageFrames::Take(std::string_view payload) {
  while (!payload.empty() && left_ > 0) {
    if (left_ <= padding_) {
      left_ -= static_cast<uint32_t>(std::min<size_t>(left_, payload.size()));
      return;
    }
    if (padding_is_next_ || message_.left == 0) {
      const auto byte = static_cast<uint8_t>(payload.front());
      payload.remove_prefix(1);
      --left_;
      if (padding_is_next_) {
        padding_is_next_ = false;
        padding_ = byte;
      } else {
        if (message_.head > 0) {
          message_.size = message_.size << 8 | byte;
        } else {
          message_.size = message_.scraps = 0;
        }
        if (++message_.head == kHeadBytes) {
          message_.head = 0;
          message_.left = message_.size;
          if (message_.left == 0) ++ends_;
        }
      }
      continue;
    }
    const auto taken =
        static_cast<uint32_t>(std::min<size_t>({message_.left, left_ - padding_, payload.size()}));
    message_.left -= taken;
    if (message_.left == 0) ++ends_;
    left_ -= taken;
    payload.remove_prefix(taken);
  }
}

MessageFrames::Ended MessageFrames::End(uint64_t bytes) {
  Stream* const stream = Reading(frame_.stream);
  if (stream == nullptr) return {};
  const bool small = frame_.length < kScrapBytes;
  if (small) ++stream->unread;
  bool scrap = small && !message_.ended();
  if (scrap && message_.scraps < kFreeScraps) {
    ++message_.scraps;
    scrap = false;
  }
  stream->ahead -= frame_.length;
  if (ends_ > 0) {
    Speak(*stream);
    stream->unfinished = 0;
  }
  stream->messages += ends_;
  stream->message = message_;
  Keep({.first = (bytes - frame_.length) / kBlockBytes,
        .last = (bytes - 1) / kBlockBytes,
        .bytes = frame_.length},
       !message_.ended(), stream);
  ForgetRead(stream);
  const Ended ended = {.scrap = scrap, .messages = ends_, .unread = stream->unread};
  if ((frame_.flags & kEndStreamFlag) != 0) EndInput(frame_.stream);
  return ended;
}

}  // namespace freshet
