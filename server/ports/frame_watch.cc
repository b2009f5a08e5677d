#include "server/ports/frame_watch.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace freshet {
namespace {

int64_t SteadyMicros() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// A client sends WINDOW_UPDATE frames for two windows: that of the stream and that of the
// connection. It sends each at most once for each message, and when it opens a call. A DATA frame
// may contain many messages. The number of expected updates is capped at kMostUpdates.
constexpr uint64_t kUpdatesPerFrame = 4;
constexpr uint64_t kBytesPerUpdate = 4;
constexpr uint64_t kMostUpdates = 100'000;

// Decrements the counter unless it is zero. Returns false if it is zero.
bool TakeOne(uint64_t* left) {
  if (*left == 0) return false;
  --*left;
  return true;
}

}  // namespace

FrameLimits FrameLimitsFor(int64_t metadata_bytes, int64_t streams_per_connection) {
  // Header blocks up to this size are left to gRPC, which refuses only the call that has too much
  // metadata. So a client slightly above the limit learns why. Longer blocks exceed a limit here,
  // because gRPC would buffer endless headers for each connection, without counting them.
  constexpr int64_t kLeastBlock = 32 << 10;
  constexpr int64_t kLeastCount = 1000;
  // A stream can send at most 16 KiB before gRPC opens its window again (grpc_port.cc). So only
  // frames of less than 8 bytes can reach this number, and no message with a URL is that small.
  constexpr uint64_t kUnreadFrames = 2048;
  return {.block_bytes = static_cast<uint64_t>(std::max(4 * metadata_bytes, kLeastBlock)),
          .block_frames = 256,
          .early_calls = static_cast<uint64_t>(std::max(streams_per_connection, kLeastCount)),
          // A client may cancel all its open calls, and as many again.
          .resets = static_cast<uint64_t>(std::max(2 * streams_per_connection, kLeastCount)),
          .idle = kLeastCount,
          // When the server ends a call, a window of data may still be on its way.
          .stray = static_cast<uint64_t>(4 * std::max(streams_per_connection, kLeastCount)),
          .unread = kUnreadFrames};
}

bool FrameWatch::Take(std::string_view bytes) {
  const bool within = TakeFrames(bytes);
  messages_.EndRead();
  return within;
}

bool FrameWatch::TakeFrames(std::string_view bytes) {
  taken_ += bytes.size();
  while (excess_.empty()) {
    if (in_data_) {
      messages_.Take(heads_.TakePayload(&bytes));
      if (messages_.left() > 0) return true;
      in_data_ = false;
      SeeData(taken_ - bytes.size());
      continue;
    }
    if (reset_left_ > 0) {
      reset_left_ -= static_cast<uint32_t>(heads_.TakePayload(&bytes).size());
      if (reset_left_ > 0) return true;
      messages_.Close(reset_stream_);
    }
    if (in_headers_) {
      SeekKey(heads_.TakePayload(&bytes));
      if (bytes.empty()) return true;
      in_headers_ = false;
    }
    const std::optional<FrameHead> head = heads_.Next(&bytes);
    if (!head) return true;
    See(*head);
  }
  return false;
}

void FrameWatch::See(const FrameHead& head) {
  ++work_;
  switch (head.type) {
    case kHeadersFrame:
      SeeCall(head);
      return SeeBlock(head);
    case kContinuationFrame:
      return SeeBlock(head);
    case kRstStreamFrame:
      // gRPC acts on this frame only when its payload has arrived.
      reset_stream_ = head.stream;
      reset_left_ = head.length;
      return Count(limits_.resets, &resets_, "calls that are taken back");
    case kDataFrame:
      messages_.Begin(head);
      in_data_ = head.length > 0;
      if (in_data_ && !messages_.Reads(head.stream)) {
        return Count(limits_.stray, &stray_, "frames of calls that are over");
      }
      if (in_data_ || (head.flags & kEndStreamFlag) != 0) return;
      break;
    case kSettingsFrame:
      if ((head.flags & kAckFlag) == 0) break;
      settled_ |= settings_sent_;
      if (TakeOne(&settings_acks_)) return;
      return Count(limits_.idle, &idle_, "acknowledgements of settings that were not sent");
    case kPingFrame:
      // gRPC itself counts pings that are not acknowledgements.
      if ((head.flags & kAckFlag) == 0 || TakeOne(&ping_acks_)) return;
      return Count(limits_.idle, &idle_, "answers to pings that were not sent");
    case kWindowUpdateFrame:
      if (TakeOne(&window_updates_)) return;
      return Count(limits_.idle, &idle_, "updates of windows");
    default:
      break;
  }
  Count(limits_.idle, &idle_, "frames that bring almost nothing");
}

void FrameWatch::SeeData(uint64_t bytes) {
  const MessageFrames::Ended ended = messages_.End(bytes);
  work_ += ended.messages;
  if (ended.scrap) Count(limits_.idle, &idle_, "frames that bring almost nothing");
  if (!trusted_ && ended.unread > limits_.unread) {
    excess_ = "small frames on a stream that the server does not read at the moment";
  }
}

void FrameWatch::SeeCall(const FrameHead& head) {
  block_bytes_ = block_frames_ = 0;
  unseen_.clear();
  if (messages_.Open(head.stream)) {
    ++opened_;
    ++calls_since_write_;
    work_ += kWorkOfCall;
  }
  if ((head.flags & kEndStreamFlag) != 0) messages_.EndInput(head.stream);
  window_updates_ = std::min(window_updates_ + kUpdatesPerFrame, kMostUpdates);
  if (trusted_) return;
  // gRPC refuses calls beyond its limit, and a refused call is no longer open here. Only while gRPC
  // closes the connection, it skips further calls in silence, and these stay open here.
  const bool too_many = messages_.open() > 2 * limits_.early_calls;
  if ((!settled_ && ++early_calls_ > limits_.early_calls) || too_many) {
    excess_ = "calls of a client that takes in no settings";
  }
}

void FrameWatch::Sending(std::string_view bytes) {
  settings_sent_ = true;
  // gRPC makes one write at a time, with all bytes that are ready, and keeps the calls that belong
  // to a write until the whole write has been sent.
  if (bytes.size() > unsent_) calls_in_write_ += std::exchange(calls_since_write_, 0);
  const size_t again = std::min(unsent_, bytes.size());
  unsent_ -= again;
  bytes.remove_prefix(again);
  while (true) {
    SeeSent(sent_heads_.TakePayload(&bytes));
    const std::optional<FrameHead> head = sent_heads_.Next(&bytes);
    if (!head) return;
    const bool data = head->type == kDataFrame || head->type == kHeadersFrame;
    const bool ends = data && (head->flags & kEndStreamFlag) != 0;
    const bool over = ends || head->type == kRstStreamFrame;
    if (over && messages_.Close(head->stream)) ++answers_in_write_;
    if (head->type == kWindowUpdateFrame) window_ = {.stream = head->stream, .left = head->length};
    if (head->type == kDataFrame) {
      window_updates_ = std::min(
          window_updates_ + kUpdatesPerFrame + head->length / kBytesPerUpdate, kMostUpdates);
    }
    const bool asks = (head->flags & kAckFlag) == 0;
    if (asks && head->type == kSettingsFrame) ++settings_acks_;
    if (asks && head->type == kPingFrame) ++ping_acks_;
  }
}

void FrameWatch::SeeSent(std::string_view part) {
  if (window_.left == 0) return;
  for (const char byte : part) window_.bytes = window_.bytes << 8 | static_cast<uint8_t>(byte);
  window_.left -= static_cast<uint32_t>(part.size());
  if (window_.left == 0) messages_.OpenWindow(window_.stream, window_.bytes);
}

WireHeld FrameWatch::held() const {
  if (trusted_) return {};
  return {.calls = calls_since_write_ + calls_in_write_, .bytes = messages_.held()};
}

void FrameWatch::SeeBlock(const FrameHead& head) {
  block_bytes_ += head.length;
  ++block_frames_;
  if (block_bytes_ > limits_.block_bytes || block_frames_ > limits_.block_frames) {
    excess_ = "headers of a call";
  }
  in_headers_ = !trusted_ && !limits_.key.empty();
}

void FrameWatch::SeekKey(std::string_view part) {
  unseen_ += part;
  std::string_view rest = unseen_;
  for (size_t at = 0; (at = rest.find(limits_.mark)) != std::string_view::npos;) {
    const std::string_view shown = rest.substr(at + limits_.mark.size());
    if (shown.size() < limits_.key.size()) break;
    // The time of this comparison does not reveal the key.
    trusted_ = CRYPTO_memcmp(shown.data(), limits_.key.data(), limits_.key.size()) == 0;
    if (trusted_) return unseen_.clear();
    rest = rest.substr(at + 1);
  }
  const size_t kept = std::min(rest.size(), limits_.mark.size() + limits_.key.size() - 1);
  unseen_ = std::string(rest.substr(rest.size() - kept));
}

void FrameWatch::Count(uint64_t most, uint64_t* count, std::string_view what) {
  if (trusted_) return;
  if (window_began_ == 0) window_began_ = SteadyMicros();
  if (++*count <= most) return;
  // The clock is read only when the count exceeds `most`.
  const int64_t now = SteadyMicros();
  if (now - window_began_ < FrameLimits::kWindow.micros()) {
    excess_ = what;
    return;
  }
  window_began_ = now;
  resets_ = idle_ = stray_ = 0;
  *count = 1;
}

}  // namespace freshet
