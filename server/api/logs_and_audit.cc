#include "server/api/logs_and_audit.h"

#include <optional>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "server/api/faults.h"
#include "server/api/from_proto.h"
#include "server/api/to_proto.h"
#include "server/config.h"
#include "server/config/written.h"
#include "server/logs/audit_log.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

template <typename Response>
void AddLevels(Response* response) {
  for (size_t i = 0; i < kLogModules; ++i) {
    const auto module = static_cast<LogModule>(i);
    v1::ModuleLogLevel* out = response->add_modules();
    out->set_module(std::string(NameOf(module)));
    out->set_level(LogLevelOf(module));
  }
}

void EntryToProto(const AuditEntry& entry, v1::AuditEntry* out) {
  ToProto(entry.at, out->mutable_at());
  out->set_request_id(entry.request_id);
  out->set_who(entry.who);
  out->set_from(entry.from);
  out->set_action(entry.action);
  out->set_request(entry.request);
  out->set_before(entry.before);
  out->set_after(entry.after);
  out->set_outcome(entry.outcome);
  out->set_repeats(entry.repeats);
}

Status ChangeLevel(const std::string& name, const std::string& level) {
  const std::optional<LogModule> module = LogModuleNamed(name);
  if (name.empty() || module) {
    return WithKey("level", module ? SetLogLevel(*module, level) : SetLogLevels(level));
  }
  return InvalidArgument("module: {}", WrongModule(name));
}

}  // namespace

void HandleGetLogLevels(const ServerContext&,
                        UnaryCall<v1::GetLogLevelsRequest, v1::GetLogLevelsResponse>* call) {
  AddLevels(call->response());
  call->Answer(grpc::Status::OK);
}

void HandleSetLogLevel(const ServerContext&,
                       UnaryCall<v1::SetLogLevelRequest, v1::SetLogLevelResponse>* call) {
  call->SetBefore([] {
    v1::GetLogLevelsResponse before;
    AddLevels(&before);
    return before;
  });
  const Status status = ChangeLevel(call->request().module(), call->request().level());
  if (status.ok()) AddLevels(call->response());
  call->Answer(GrpcStatusOf(status));
}

void HandleListAudit(const ServerContext& context,
                     UnaryCall<v1::ListAuditRequest, v1::ListAuditResponse>* call) {
  constexpr uint32_t kUsual = 100;
  const v1::ListAuditRequest& request = call->request();
  const uint32_t limit = request.has_limit() ? request.limit() : kUsual;
  if (limit < 1 || limit > kMaxRecentAudit) {
    return call->Answer(
        GrpcStatusOf(InvalidArgument("limit: {} is not from 1 to {}", limit, kMaxRecentAudit)));
  }
  StatusOr<Instant> since = Instant();
  if (request.has_since()) since = FromProto(request.since());
  if (!since.ok()) return call->Answer(GrpcStatusOf(WithKey("since", since.status())));
  for (const AuditEntry& entry : context.audit.Recent(limit, *since)) {
    EntryToProto(entry, call->response()->add_entries());
  }
  call->Answer(grpc::Status::OK);
}

}  // namespace freshet
