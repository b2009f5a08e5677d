// Reports what a crawl id in shadow mode would gain if it were scheduled (docs/urlfrontier.md).
#ifndef FRESHET_SERVER_API_SHADOW_REPORT_H_
#define FRESHET_SERVER_API_SHADOW_REPORT_H_

#include "freshet/v1/admin.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

// AdminService::ReportShadow: answers the call later, or refuses it at once. Pages are read in
// chunks in the background, like a list; the comparison runs on the upkeep thread. Thread-safe.
void HandleReportShadow(const ServerContext& context,
                        UnaryCall<v1::ReportShadowRequest, v1::ReportShadowResponse>* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_SHADOW_REPORT_H_
