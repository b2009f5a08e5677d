// Parses values from command lines and tables into messages of the API.
#ifndef FRESHET_TOOLS_CLI_PARSE_H_
#define FRESHET_TOOLS_CLI_PARSE_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "freshet/v1/pages.pb.h"
#include "freshet/v1/types.pb.h"

namespace freshet::cli {

// If the text is invalid, each function returns InvalidArgument with a reason that quotes the text.

// A finite number.
[[nodiscard]] absl::StatusOr<double> ParseNumber(std::string_view text);

// A finite number >= 0.
[[nodiscard]] absl::StatusOr<double> ParseNonNegative(std::string_view text);

// A whole number >= 0 in decimal digits.
[[nodiscard]] absl::StatusOr<uint64_t> ParseCount(std::string_view text);

// true, false, yes, no, 1 or 0.
[[nodiscard]] absl::StatusOr<bool> ParseBool(std::string_view text);

// Seconds since the Unix epoch, possibly with a fraction, or a date or instant of ISO 8601 such as
// 2024-05-17, 2024-05-17T08:30Z and 2024-05-17T08:30:01.5+02:00. Without a zone, the time is in
// UTC. The year must be 1 to 9999.
[[nodiscard]] absl::StatusOr<google::protobuf::Timestamp> ParseTime(std::string_view text);

// A number with a unit (us, ms, s, m, h, d), or several of these, as in 1h30m. A number without a
// unit is in seconds. From 0 to 10,000 years.
[[nodiscard]] absl::StatusOr<google::protobuf::Duration> ParseDuration(std::string_view text);

// A number of crawls in a time span, such as 1000/1d; 0 = no maximum.
[[nodiscard]] absl::StatusOr<v1::CrawlCap> ParseCrawlCap(std::string_view text);

// changed, unchanged, error, gone, moved or robots_denied, in any case, or the name of the enum's
// value.
[[nodiscard]] absl::StatusOr<v1::CrawlOutcome> ParseOutcome(std::string_view text);

// Base64, as in the JSON form of the API.
[[nodiscard]] absl::StatusOr<std::string> ParseBytes(std::string_view text);

// Returns what is wrong with a server's address; empty = it is valid. Valid addresses are
// "host:port", "[::1]:port", and those with a scheme that gRPC knows, such as unix:/path. A port is
// required, because gRPC would otherwise use the port of HTTPS.
[[nodiscard]] std::string CheckServerAddress(const std::string& address);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_PARSE_H_
