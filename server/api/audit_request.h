// What the audit log says of a request, however long that is.
#ifndef FRESHET_SERVER_API_AUDIT_REQUEST_H_
#define FRESHET_SERVER_API_AUDIT_REQUEST_H_

#include <string>
#include <vector>

#include "google/protobuf/message.h"

namespace freshet {

// A message as JSON for people; empty for one without fields. `whole`: fields that have their
// defaults are shown as well, so that it says that something is not so. Thread-safe.
[[nodiscard]] std::string AuditText(const google::protobuf::Message& message, bool whole);

// The texts for as many entries, at least one, each of at most kMaxAuditTextBytes. A request that
// is short is its JSON. Of a longer one with a list `urls`: how many URLs it has, the SHA-256 of
// the list with an end of line after each URL, and how many URLs each host has, all hosts in as
// many entries as that takes. Of any other: its size, the SHA-256 of its JSON, and what that begins
// with. Thread-safe.
[[nodiscard]] std::vector<std::string> AuditRequestTexts(const google::protobuf::Message& request);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_AUDIT_REQUEST_H_
