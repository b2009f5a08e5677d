// Messages of the API as JSON, one object a line.
#ifndef FRESHET_TOOLS_CLI_JSON_H_
#define FRESHET_TOOLS_CLI_JSON_H_

#include <google/protobuf/message.h>

#include <nlohmann/json.hpp>
#include <string>

namespace freshet::cli {

// The standard JSON form of a message with the field names of the .proto: instants as RFC 3339,
// durations as "1.5s", enums by name, bytes in base64, NaN and infinities as strings. Fields
// without presence are there even when zero, so that readers need no defaults; unset ones with
// presence are left out. One deviation: 64-bit integers up to 2^53 are numbers, which every reader
// keeps exactly; only larger ones are strings.
[[nodiscard]] nlohmann::ordered_json ToJson(const google::protobuf::Message& message);

// JSON without line breaks. Nothing in it can reach a terminal as a control character.
[[nodiscard]] std::string JsonText(const nlohmann::ordered_json& value);

// One line of JSON for a message.
[[nodiscard]] std::string ToJsonLine(const google::protobuf::Message& message);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_JSON_H_
