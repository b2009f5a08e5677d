// Makes HTTP/2 by hand (RFC 9113), for clients that no library would produce.
#ifndef FRESHET_TESTS_HOSTILE_HTTP2_H_
#define FRESHET_TESTS_HOSTILE_HTTP2_H_

#include <cstdint>
#include <string>

namespace freshet::hostile {

inline constexpr const char* kHttp2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

inline std::string Http2Frame(uint64_t type, uint64_t flags, uint64_t stream,
                              const std::string& payload) {
  std::string frame;
  for (const int shift : {16, 8, 0}) frame.push_back(static_cast<char>(payload.size() >> shift));
  frame.push_back(static_cast<char>(type));
  frame.push_back(static_cast<char>(flags));
  for (const int shift : {24, 16, 8, 0}) frame.push_back(static_cast<char>(stream >> shift));
  return frame + payload;
}

// Returns a number in the encoding of HPACK (RFC 7541, 5.1). In the first byte, the lowest `bits`
// bits belong to the number, and the other bits are those of `first`.
inline std::string HpackNumber(uint64_t number, int bits, int first = 0) {
  const uint64_t most = (uint64_t{1} << bits) - 1;
  if (number < most) return {static_cast<char>(static_cast<uint64_t>(first) | number)};
  std::string bytes(1, static_cast<char>(static_cast<uint64_t>(first) | most));
  for (number -= most; number >= 128; number >>= 7) {
    bytes.push_back(static_cast<char>(number % 128 + 128));
  }
  bytes.push_back(static_cast<char>(number));
  return bytes;
}

// Returns an HPACK header without tables. The name and the value can be any bytes.
inline std::string Http2Header(const std::string& name, const std::string& value) {
  return std::string(1, '\0') + HpackNumber(name.size(), 7) + name + HpackNumber(value.size(), 7) +
         value;
}

// Returns the frames of a block of headers, at most 16 KiB each: HEADERS, and CONTINUATION if
// needed.
inline std::string Http2Block(uint64_t stream, const std::string& headers, uint64_t flags = 0) {
  constexpr size_t kMost = 16384;
  constexpr uint64_t kHeaders = 1;
  constexpr uint64_t kContinuation = 9;
  constexpr uint64_t kEndHeaders = 4;
  std::string frames;
  size_t at = 0;
  do {
    const bool last = headers.size() - at <= kMost;
    frames += Http2Frame(at == 0 ? kHeaders : kContinuation,
                         (at == 0 ? flags : 0) | (last ? kEndHeaders : 0), stream,
                         headers.substr(at, kMost));
    at += kMost;
  } while (at < headers.size());
  return frames;
}

// Returns the HEADERS frame that begins a call of a method, such as "/package.Service/Method".
inline std::string Http2Call(uint64_t stream, const std::string& method) {
  const auto text = [](const std::string& value) {
    return static_cast<char>(value.size()) + value;
  };
  // Uses the static table of HPACK (RFC 7541): POST, http, and header names by number.
  const std::string headers = "\x83\x86\x04" + text(method) + "\x01" + text("localhost") +
                              std::string("\0", 1) + text("te") + text("trailers") + "\x0f\x10" +
                              text("application/grpc");
  constexpr uint64_t kHeaders = 1;
  constexpr uint64_t kEndHeaders = 4;
  return Http2Frame(kHeaders, kEndHeaders, stream, headers);
}

// Returns the RST_STREAM frame with which a client cancels a call.
inline std::string Http2Cancel(uint64_t stream) {
  constexpr uint64_t kRstStream = 3;
  return Http2Frame(kRstStream, 0, stream, std::string("\0\0\0\x08", 4));
}

// Returns a PING frame, which the server answers with another.
inline std::string Http2Ping() {
  constexpr uint64_t kPing = 6;
  return Http2Frame(kPing, 0, 0, std::string(8, 'p'));
}

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_HTTP2_H_
