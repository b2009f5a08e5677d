// HTTP/2 by hand (RFC 9113), for clients that no library would write.
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

// The HEADERS frame that begins a call of a method, such as "/package.Service/Method".
inline std::string Http2Call(uint64_t stream, const std::string& method) {
  const auto text = [](const std::string& value) {
    return static_cast<char>(value.size()) + value;
  };
  // By the static table of HPACK (RFC 7541): POST, http, and names of headers by number.
  const std::string headers = "\x83\x86\x04" + text(method) + "\x01" + text("localhost") +
                              std::string("\0", 1) + text("te") + text("trailers") + "\x0f\x10" +
                              text("application/grpc");
  constexpr uint64_t kHeaders = 1;
  constexpr uint64_t kEndHeaders = 4;
  return Http2Frame(kHeaders, kEndHeaders, stream, headers);
}

// The RST_STREAM frame by which a client cancels a call.
inline std::string Http2Cancel(uint64_t stream) {
  constexpr uint64_t kRstStream = 3;
  return Http2Frame(kRstStream, 0, stream, std::string("\0\0\0\x08", 4));
}

// The PING frame, which is answered by another one.
inline std::string Http2Ping() {
  constexpr uint64_t kPing = 6;
  return Http2Frame(kPing, 0, 0, std::string(8, 'p'));
}

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_HTTP2_H_
