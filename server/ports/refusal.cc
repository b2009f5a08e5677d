#include "server/ports/refusal.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace freshet {
namespace {

// Frames of RFC 9113 and their flags.
enum FrameType : uint8_t { kHeaders = 1, kSettings = 4, kGoAway = 7 };
constexpr uint8_t kAck = 1;
constexpr uint8_t kEndStream = 1;
constexpr uint8_t kEndHeaders = 4;
constexpr char kEnhanceYourCalm = 11;
constexpr size_t kHeadBytes = 9;
// One byte says how long a text is.
constexpr size_t kMaxReasonBytes = 126;

void AppendNumber(uint32_t number, std::string* out) {
  for (int shift = 24; shift >= 0; shift -= 8) out->push_back(static_cast<char>(number >> shift));
}

std::string Frame(FrameType type, uint8_t flags, uint32_t stream, std::string_view payload) {
  std::string frame;
  AppendNumber(static_cast<uint32_t>(payload.size()), &frame);
  frame.erase(0, 1);  // lengths have three bytes
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  AppendNumber(stream, &frame);
  return frame.append(payload);
}

// A header that no table of HPACK (RFC 7541) needs to know.
void AppendHeader(std::string_view name, std::string_view value, std::string* out) {
  out->push_back('\0');
  out->push_back(static_cast<char>(name.size()));
  out->append(name);
  out->push_back(static_cast<char>(value.size()));
  out->append(value);
}

}  // namespace

Refusal::Refusal(std::string reason) : reason_(std::move(reason)), skip_(kHttp2Preface.size()) {
  CHECK(reason_.size() <= kMaxReasonBytes, "{}", reason_);
}

std::string Refusal::Greeting() const { return Frame(kSettings, 0, 0, ""); }

std::string Refusal::Answer(std::string_view bytes) {
  std::string answer;
  while (!bytes.empty()) {
    const size_t skipped = std::min<uint64_t>(skip_, bytes.size());
    skip_ -= skipped;
    bytes.remove_prefix(skipped);
    const size_t taken = std::min(kHeadBytes - head_.size(), bytes.size());
    head_.append(bytes.substr(0, taken));
    bytes.remove_prefix(taken);
    if (head_.size() < kHeadBytes) break;
    const auto byte = [this](size_t i) { return uint32_t{static_cast<uint8_t>(head_[i])}; };
    skip_ = byte(0) << 16 | byte(1) << 8 | byte(2);
    const uint32_t stream = (byte(5) & 0x7f) << 24 | byte(6) << 16 | byte(7) << 8 | byte(8);
    if (byte(3) == kSettings && (byte(4) & kAck) == 0) {
      answer += Frame(kSettings, kAck, 0, "");
    } else if (byte(3) == kHeaders && stream > last_stream_) {
      std::string headers = "\x88";  // :status 200
      AppendHeader("content-type", "application/grpc", &headers);
      AppendHeader("grpc-status", "8", &headers);
      AppendHeader("grpc-message", reason_, &headers);
      answer += Frame(kHeaders, kEndStream | kEndHeaders, stream, headers);
      last_stream_ = stream;
    }
    head_.clear();
  }
  return answer;
}

std::string Refusal::Farewell() const {
  std::string payload;
  AppendNumber(last_stream_, &payload);
  AppendNumber(kEnhanceYourCalm, &payload);
  return Frame(kGoAway, 0, 0, payload + reason_);
}

}  // namespace freshet
