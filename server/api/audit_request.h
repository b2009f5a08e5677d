// Describes requests of any length for the audit log.
#ifndef FRESHET_SERVER_API_AUDIT_REQUEST_H_
#define FRESHET_SERVER_API_AUDIT_REQUEST_H_

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace freshet {

// Writes a message as JSON for people; empty = the message has no fields. With `whole`, the text
// includes fields with default values, such as a flag that is off. Thread-safe.
[[nodiscard]] std::string AuditText(const google::protobuf::Message& message, bool whole);

// Makes the texts for the audit entries of a request. There is at least one text, and each has at
// most kMaxAuditTextBytes.
// - A short request is written as JSON.
// - A longer request with a list `urls` is described by the number of URLs, in all and for each
// host, in several texts if necessary. Each text has the SHA-256 of the list, with a line end after
// each URL.
// - Any other request is described by its size, the SHA-256 of its JSON, and the beginning of the
// JSON.
//
// Thread-safe.
[[nodiscard]] std::vector<std::string> AuditRequestTexts(const google::protobuf::Message& request);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_AUDIT_REQUEST_H_
