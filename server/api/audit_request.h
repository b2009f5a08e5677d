// Describes requests of any length for the audit log.
#ifndef FRESHET_SERVER_API_AUDIT_REQUEST_H_
#define FRESHET_SERVER_API_AUDIT_REQUEST_H_

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace freshet {

// Writes a message as JSON for people; empty for a message without fields. `whole`: also shows
// fields with default values, such as a flag that is off. Thread-safe.
[[nodiscard]] std::string AuditText(const google::protobuf::Message& message, bool whole);

// Makes the texts for the entries of a request, at least one, each of at most kMaxAuditTextBytes. A
// short request is its JSON. A longer one with a list `urls` is described by the number of URLs, in
// all and for each host, in as many entries as that takes. The SHA-256 of the list, with an end of
// line after each URL, is added. Any other is described by its size, the SHA-256 of its JSON, and
// the beginning of that. Thread-safe.
[[nodiscard]] std::vector<std::string> AuditRequestTexts(const google::protobuf::Message& request);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_AUDIT_REQUEST_H_
