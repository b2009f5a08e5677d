#include "server/ports/http2_frames.h"

#include <algorithm>
#include <utility>

namespace freshet {

std::optional<FrameHead> FrameHeads::Next(std::string_view* bytes) {
  const size_t skipped = std::min<size_t>(skip_, bytes->size());
  skip_ -= static_cast<uint32_t>(skipped);
  bytes->remove_prefix(skipped);
  const size_t taken = std::min(kHeadBytes - there_, bytes->size());
  std::copy_n(bytes->begin(), taken, head_.begin() + there_);
  bytes->remove_prefix(taken);
  there_ += taken;
  if (there_ < kHeadBytes) return std::nullopt;
  there_ = 0;
  const auto byte = [this](size_t i) { return uint32_t{head_[i]}; };
  skip_ = byte(0) << 16 | byte(1) << 8 | byte(2);
  return FrameHead{.length = skip_,
                   .type = head_[3],
                   .flags = head_[4],
                   .stream = (byte(5) & 0x7f) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8)};
}

std::string_view FrameHeads::TakePayload(std::string_view* bytes) {
  const std::string_view payload = bytes->substr(0, skip_);
  skip_ -= static_cast<uint32_t>(payload.size());
  bytes->remove_prefix(payload.size());
  return payload;
}

}  // namespace freshet
