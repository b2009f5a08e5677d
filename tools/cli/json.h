// Messages of the API as JSON, one object a line.
#ifndef FRESHET_TOOLS_CLI_JSON_H_
#define FRESHET_TOOLS_CLI_JSON_H_

#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <string>

namespace freshet::cli {

// Returns the standard JSON form of a message with the field names of the .proto: instants as RFC
// 3339, durations as "1.5s", enums by name, bytes in base64, NaN and infinities as strings. Fields
// without presence are included even if they are zero, so that readers need no defaults. Unset
// fields with presence are left out. In contrast to the standard, 64-bit integers up to 2^53 are
// numbers, because every reader can represent them exactly. Only larger integers are strings.
[[nodiscard]] nlohmann::ordered_json ToJson(const google::protobuf::Message& message);

// Returns JSON without line breaks, and without control characters that could reach a terminal.
[[nodiscard]] std::string JsonText(const nlohmann::ordered_json& value);

// Returns one line of JSON for a message.
[[nodiscard]] std::string ToJsonLine(const google::protobuf::Message& message);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_JSON_H_
