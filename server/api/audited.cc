#include "server/api/audited.h"

#include <utility>

#include "absl/status/status.h"
#include "fmt/format.h"
#include "google/protobuf/util/json_util.h"
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

std::string AuditText(const google::protobuf::Message& message, bool whole) {
  google::protobuf::util::JsonPrintOptions options;
  options.always_print_primitive_fields = whole;
  std::string json;
  if (!google::protobuf::util::MessageToJsonString(message, &json, options).ok()) {
    return "unreadable";
  }
  return json == "{}" ? "" : json;
}

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
    // All refusals of a client are of one kind: with a kind for each action they would push what
    // operators have changed out of the files within hours.
    log.AppendLimited(std::move(entry), refusal.who);
  });
}

void CallAudit::Finish(const grpc::Status& status, const google::protobuf::Message& response,
                       std::function<void()> done) {
  entry_.outcome = AuditOutcome(status);
  const bool changed = changed_ || status.ok();
  if (!changed) {
    entry_.after.clear();
  } else if (entry_.after.empty()) {
    entry_.after = AuditText(response, true);
  }
  const auto written = [done = std::move(done)](const Status&) { done(); };
  if (limited_ || !changed) {
    const std::string kind = entry_.who + '\n' + entry_.action;
    log_.AppendLimited(std::move(entry_), kind, written);
    return;
  }
  {
    const ScopedRequestId id(entry_.request_id);
    LogEntry(entry_);
  }
  log_.Append(std::move(entry_), written);
}

}  // namespace freshet
