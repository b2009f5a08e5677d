// Records calls in the audit log.
#ifndef FRESHET_SERVER_API_AUDITED_H_
#define FRESHET_SERVER_API_AUDITED_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "google/protobuf/message.h"
#include "grpcpp/support/status.h"
#include "server/api/audit_request.h"
#include "server/auth/authoriser.h"
#include "server/logs/audit_log.h"

namespace freshet {

// "OK", or "NOT_FOUND: host: ...".
[[nodiscard]] std::string AuditOutcome(const grpc::Status& status);

// Makes the authoriser report refusals to the log. The log outlives the authoriser's use of it.
void AuditRefusals(Authoriser& authoriser, AuditLog& log);

// The audit of one call. A call that changed something is written as a separate entry. Calls that
// changed nothing, and calls that change the same target again and again, are limited to a few
// entries a minute. Further calls of these kinds are only counted. Thread-compatible.
class CallAudit {
 public:
  // `log` outlives this.
  CallAudit(AuditLog& log, AuditEntry entry) : log_(log), entry_(std::move(entry)) {}

  void SetRequest(const google::protobuf::Message& request) {
    requests_ = AuditRequestTexts(request);
  }
  // Sets the state before the call, as JSON.
  void SetBefore(std::string json) { entry_.before = std::move(json); }
  // Sets the state after the call, as JSON; by default it is the response.
  void SetAfter(std::string json) { entry_.after = std::move(json); }
  // Sets the target of the change. The audit log limits repeated changes of one target to a few
  // entries a minute, so set it only for changes that programs can make all the time.
  void SetTarget(std::string target) { target_ = std::move(target); }
  // Notes that the call has changed something, even if it fails.
  void NoteChange() { changed_ = true; }
  // Notes that the call has changed nothing, even if it succeeds.
  void NoteNoChange() { unchanged_ = true; }
  // Ends the audit. `done` is called on another thread once the entry is on disk, or its write has
  // failed.
  void Finish(const grpc::Status& status, const google::protobuf::Message& response,
              std::function<void()> done);

 private:
  void WriteEach(AuditLog::Done written);

  AuditLog& log_;
  AuditEntry entry_;
  std::vector<std::string> requests_;
  std::string target_;
  bool changed_ = false;
  bool unchanged_ = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_AUDITED_H_
