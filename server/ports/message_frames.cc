#include "server/ports/message_frames.h"

#include <algorithm>

namespace freshet {
namespace {

constexpr uint8_t kHeadBytes = 5;

}  // namespace

bool MessageFrames::Open(uint32_t stream) {
  if (stream % 2 == 0 || stream <= last_) return false;
  last_ = stream;
  streams_[stream] = {};
  return true;
}

bool MessageFrames::Close(uint32_t stream) {
  const auto found = streams_.find(stream);
  if (found == streams_.end()) return false;
  held_ -= found->second.held;
  streams_.erase(found);
  return true;
}

void MessageFrames::EndInput(uint32_t stream) {
  if (Stream* const reading = Reading(stream)) reading->input_ended = true;
}

MessageFrames::Stream* MessageFrames::Reading(uint32_t stream) {
  const auto found = streams_.find(stream);
  return found == streams_.end() || found->second.input_ended ? nullptr : &found->second;
}

void MessageFrames::OpenWindow(uint32_t stream) {
  if (Stream* const reading = Reading(stream)) reading->unread = 0;
}

void MessageFrames::Begin(const FrameHead& head) {
  frame_ = head;
  left_ = head.length;
  padding_ = 0;
  padding_is_next_ = (head.flags & kPaddedFlag) != 0;
  message_ = {};
  ends_ = false;
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
          ends_ |= message_.left == 0;
        }
      }
      continue;
    }
    const auto taken =
        static_cast<uint32_t>(std::min<size_t>({message_.left, left_ - padding_, payload.size()}));
    message_.left -= taken;
    ends_ |= message_.left == 0;
    left_ -= taken;
    payload.remove_prefix(taken);
  }
}

MessageFrames::Ended MessageFrames::End() {
  Stream* const stream = Reading(frame_.stream);
  if (stream == nullptr) return {};
  const bool small = frame_.length < kScrapBytes;
  if (small) ++stream->unread;
  bool scrap = small && !message_.ended();
  if (scrap && message_.scraps < kFreeScraps) {
    ++message_.scraps;
    scrap = false;
  }
  held_ -= stream->held;
  if (ends_) stream->held = 0;
  if (!message_.ended()) stream->held += std::max(frame_.length, kBlockBytes);
  held_ += stream->held;
  stream->message = message_;
  if ((frame_.flags & kEndStreamFlag) != 0) stream->input_ended = true;
  return {.scrap = scrap, .unread = stream->unread};
}

}  // namespace freshet
