#include "server/ports/refusal.h"

#include <utility>

#include "core/base/check.h"

namespace freshet {
namespace {

constexpr char kEnhanceYourCalm = 11;
// A length up to this fits into a single byte.
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

// Appends a header as an HPACK literal that does not use the tables (RFC 7541).
void AppendHeader(std::string_view name, std::string_view value, std::string* out) {
  out->push_back('\0');
  out->push_back(static_cast<char>(name.size()));
  out->append(name);
  out->push_back(static_cast<char>(value.size()));
  out->append(value);
}

}  // namespace

Refusal::Refusal(std::string reason) : reason_(std::move(reason)) {
  if (reason_.size() > kMaxReasonBytes) reason_.resize(kMaxReasonBytes);
}

std::string Refusal::Greeting() const { return Frame(kSettingsFrame, 0, 0, ""); }

std::string Refusal::Answer(std::string_view bytes) {
  std::string answer;
  while (const std::optional<FrameHead> head = heads_.Next(&bytes)) {
    if (head->type == kSettingsFrame && (head->flags & kAckFlag) == 0) {
      answer += Frame(kSettingsFrame, kAckFlag, 0, "");
    } else if (head->type == kHeadersFrame && head->stream > last_stream_) {
      std::string headers = "\x88";  // :status 200
      AppendHeader("content-type", "application/grpc", &headers);
      AppendHeader("grpc-status", "8", &headers);
      AppendHeader("grpc-message", reason_, &headers);
      answer += Frame(kHeadersFrame, kEndStreamFlag | kEndHeadersFlag, head->stream, headers);
      last_stream_ = head->stream;
    }
  }
  return answer;
}

std::string Refusal::Farewell() const {
  std::string payload;
  AppendNumber(last_stream_, &payload);
  AppendNumber(kEnhanceYourCalm, &payload);
  return Frame(kGoAwayFrame, 0, 0, payload + reason_);
}

}  // namespace freshet
