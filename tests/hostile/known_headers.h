// Every header that gRPC 1.51 knows by name. gRPC parses each into a special form, and writing some
// of these forms ends the process (CVE-2023-1428).
#ifndef FRESHET_TESTS_HOSTILE_KNOWN_HEADERS_H_
#define FRESHET_TESTS_HOSTILE_KNOWN_HEADERS_H_

#include <string>
#include <vector>

#include "tests/hostile/http2.h"

namespace freshet::hostile {

// The list comes from grpc_metadata_batch in src/core/lib/transport/metadata_batch.h.
inline constexpr const char* kKnownHeaders[] = {
    ":path",
    ":authority",
    ":method",
    ":status",
    ":scheme",
    "content-type",
    "te",
    "grpc-encoding",
    "grpc-internal-encoding-request",
    "grpc-accept-encoding",
    "grpc-status",
    "grpc-timeout",
    "grpc-previous-rpc-attempts",
    "grpc-retry-pushback-ms",
    "user-agent",
    "grpc-message",
    "host",
    "endpoint-load-metrics-bin",
    "grpc-server-stats-bin",
    "grpc-trace-bin",
    "grpc-tags-bin",
    "grpclb_client_stats",
    "lb-cost-bin",
    "lb-token",
    "x-envoy-peer-metadata",
    "authorization",
    "grpc-internal-stream-network-state",
    "grpc-status-details-bin",
    "freshet-inside-bin",
    "freshet-let-in",
    "x-request-id",
};

// Returns values that do not fit a header.
inline std::vector<std::string> OddValues() {
  return {"",
          "x",
          "0",
          "-1",
          "99999999999999999999S",
          "1n",
          "http",
          "trailers",
          "gzip,identity,,deflate",
          "/grpc.health.v1.Health/Check",
          "application/grpc+proto; charset=x",
          "%00%zz%",
          "AAAA",
          "@@@@",
          "Bearer ",
          std::string("\0\x01\x7f\x80\xff\r\n", 7),
          std::string(300, ',')};
}

// Returns the headers of a call to `method`, without the one named `left_out`.
inline std::string HeadersOfCall(const std::string& method, const std::string& left_out = {}) {
  std::string headers;
  const std::pair<const char*, std::string> all[] = {
      {":method", "POST"},         {":scheme", "http"}, {":path", method},
      {":authority", "localhost"}, {"te", "trailers"},  {"content-type", "application/grpc"}};
  for (const auto& [name, value] : all) {
    if (name != left_out) headers += Http2Header(name, value);
  }
  return headers;
}

// Returns blocks of headers that contain `name`: in place of the call's header of this name or in
// addition to it, once and twice, alone and together with more headers than a server accepts.
inline std::vector<std::string> BlocksWith(const std::string& name, const std::string& value,
                                           const std::string& method) {
  const std::string header = Http2Header(name, value);
  const std::string company = Http2Header("x-company", std::string(8192, 'c'));
  std::string many;
  for (int i = 0; i < 200; ++i) many += Http2Header("x-" + std::to_string(i), "company of 8 KiB");
  const std::string instead = HeadersOfCall(method, name);
  const std::string beside = HeadersOfCall(method);
  return {instead + header,           header + instead,           beside + header + header,
          instead + header + company, company + instead + header, instead + header + many,
          header + many + header};
}

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_KNOWN_HEADERS_H_
