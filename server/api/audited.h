// What the audit log says of a call.
#ifndef FRESHET_SERVER_API_AUDITED_H_
#define FRESHET_SERVER_API_AUDITED_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "google/protobuf/message.h"
#include "grpcpp/support/status.h"
#include "server/auth/authoriser.h"
#include "server/logs/audit_log.h"

namespace freshet {

// A message as JSON for people; empty for one without fields. `whole`: fields that have their
// defaults are shown as well, so that it says that something is not so.
[[nodiscard]] std::string AuditText(const google::protobuf::Message& message, bool whole);

// "OK", or "NOT_FOUND: host: ...".
[[nodiscard]] std::string AuditOutcome(const grpc::Status& status);

// Has what is refused at the door written to the log, which outlives the authoriser's use of it.
void AuditRefusals(Authoriser& authoriser, AuditLog& log);

// One call whose outcome is to be written. Thread-compatible.
class CallAudit {
 public:
  // `log` outlives this. `limited`: a program may make such calls all the time.
  CallAudit(AuditLog& log, AuditEntry entry, bool limited)
      : log_(log), entry_(std::move(entry)), limited_(limited) {}

  void SetRequest(const google::protobuf::Message& request) {
    entry_.request = AuditText(request, false);
  }
  // What held before the call changed it.
  void SetBefore(std::string json) { entry_.before = std::move(json); }
  // What holds after it, where that is not what it answers.
  void SetAfter(std::string json) { entry_.after = std::move(json); }
  // Something is changed, however the call ends.
  void NoteChange() { changed_ = true; }
  // It is no call as a program makes all the time.
  void NoteEach() { limited_ = false; }
  // `done` is called once the entry is on the disk, or cannot be: on another thread.
  void Finish(const grpc::Status& status, const google::protobuf::Message& response,
              std::function<void()> done);

 private:
  AuditLog& log_;
  AuditEntry entry_;
  bool limited_;
  bool changed_ = false;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_AUDITED_H_
