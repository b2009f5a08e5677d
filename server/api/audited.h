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

// Has refusals of the authoriser written to the log, which outlives the authoriser's use of it.
void AuditRefusals(Authoriser& authoriser, AuditLog& log);

// The audit of one call. A call that changed something gets an entry of its own. If calls change
// nothing, or the same thing again and again, the first of each minute are written and the others
// counted. Thread-compatible.
class CallAudit {
 public:
  // `log` outlives this.
  CallAudit(AuditLog& log, AuditEntry entry) : log_(log), entry_(std::move(entry)) {}

  void SetRequest(const google::protobuf::Message& request) {
    requests_ = AuditRequestTexts(request);
  }
  // Sets the state before the call.
  void SetBefore(std::string json) { entry_.before = std::move(json); }
  // Sets the state after the call, if that is not its answer.
  void SetAfter(std::string json) { entry_.after = std::move(json); }
  // Sets the target of the change, if programs may change the same all the time.
  void SetTarget(std::string target) { target_ = std::move(target); }
  // The call has changed something, however it ends.
  void NoteChange() { changed_ = true; }
  // The call has changed nothing, however it ends.
  void NoteNoChange() { unchanged_ = true; }
  // Ends the audit. `done` is called on another thread once the entry is on the disk, or cannot be.
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
