// The methods of AdminService for the log and the audit log.
#ifndef FRESHET_SERVER_API_LOGS_AND_AUDIT_H_
#define FRESHET_SERVER_API_LOGS_AND_AUDIT_H_

#include "freshet/v1/admin.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

// The methods of AdminService with these names, without "Handle". Thread-safe.
void HandleGetLogLevels(const ServerContext& context,
                        UnaryCall<v1::GetLogLevelsRequest, v1::GetLogLevelsResponse>* call);
void HandleSetLogLevel(const ServerContext& context,
                       UnaryCall<v1::SetLogLevelRequest, v1::SetLogLevelResponse>* call);
void HandleListAudit(const ServerContext& context,
                     UnaryCall<v1::ListAuditRequest, v1::ListAuditResponse>* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_LOGS_AND_AUDIT_H_
