#include "server/api/audited.h"

#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "server/base/client_network.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

void LogEntry(const AuditEntry& entry) {
  LogWith(LogModule::kAudit, spdlog::level::info, "changed",
          {{"who", entry.who},
           {"action", entry.action},
           {"request", entry.request},
           {"before", entry.before},
           {"after", entry.after},
           {"outcome", entry.outcome}});
}

}  // namespace

std::string AuditOutcome(const grpc::Status& status) {
  if (status.ok()) return "OK";
  return fmt::format("{}: {}",
                     absl::StatusCodeToString(static_cast<absl::StatusCode>(status.error_code())),
                     status.error_message());
}

void AuditRefusals(Authoriser& authoriser, AuditLog& log) {
  authoriser.SetListener([&log](const Authoriser::Refusal& refusal) {
    AuditEntry entry = {
        .who = refusal.who,
        .action = std::string(refusal.path),
        .outcome = AuditOutcome({static_cast<grpc::StatusCode>(refusal.why.raw_code()),
                                 std::string(refusal.why.message())})};
    if (refusal.network) entry.from = NetworkText(*refusal.network);
    // All refusals of a client count as one kind. If each action were a separate kind, refusals
    // would push operators' changes out of the files within hours.
    log.AppendLimited(std::move(entry), refusal.who);
  });
}

void CallAudit::Finish(const grpc::Status& status, const google::protobuf::Message& response,
                       std::function<void()> done) {
  entry_.outcome = AuditOutcome(status);
  if (!requests_.empty()) entry_.request = requests_.front();
  const bool changed = changed_ || (status.ok() && !unchanged_);
  if (!changed) {
    entry_.after.clear();
  } else if (entry_.after.empty()) {
    entry_.after = AuditText(response, true);
  }
  AuditLog::Done written = [done = std::move(done)](const Status&) { done(); };
  if (changed && target_.empty()) return WriteEach(std::move(written));
  const std::string kind = entry_.who + '\n' + entry_.action;
  if (changed) {
    log_.AppendChange(std::move(entry_), kind + '\n' + target_, std::move(written));
  } else {
    log_.AppendLimited(std::move(entry_), kind, std::move(written));
  }
}

void CallAudit::WriteEach(AuditLog::Done written) {
  const ScopedRequestId id(entry_.request_id);
  // A request can need several entries. This loop writes all but the last.
  for (size_t i = 0; i + 1 < requests_.size(); ++i) {
    AuditEntry part = entry_;
    part.request = requests_[i];
    part.before.clear();
    part.after.clear();
    LogEntry(part);
    log_.Append(std::move(part));
  }
  if (!requests_.empty()) entry_.request = std::move(requests_.back());
  LogEntry(entry_);
  log_.Append(std::move(entry_), std::move(written));
}

}  // namespace freshet
