// What the audit log says of a call.
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

// Has what is refused at the door written to the log, which outlives the authoriser's use of it.
void AuditRefusals(Authoriser& authoriser, AuditLog& log);

// One call whose outcome is to be written. What has changed something has an entry of its own. Of
// calls that have changed nothing, and of those that change the same thing again and again, the
// first of each minute are written, and the others counted. Thread-compatible.
class CallAudit {
 public:
  // `log` outlives this.
  CallAudit(AuditLog& log, AuditEntry entry) : log_(log), entry_(std::move(entry)) {}

  void SetRequest(const google::protobuf::Message& request) {
    requests_ = AuditRequestTexts(request);
  }
  // What held before the call changed it.
  void SetBefore(std::string json) { entry_.before = std::move(json); }
  // What holds after it, where that is not what it answers.
  void SetAfter(std::string json) { entry_.after = std::move(json); }
  // What the call changes, where programs may change the same all the time.
  void SetTarget(std::string target) { target_ = std::move(target); }
  // Something is changed, however the call ends.
  void NoteChange() { changed_ = true; }
  // Nothing is changed, however the call ends.
  void NoteNoChange() { unchanged_ = true; }
  // `done` is called once the entry is on the disk, or cannot be: on another thread.
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
