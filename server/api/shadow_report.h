// What a crawl id in shadow mode would gain by being scheduled (docs/urlfrontier.md).
#ifndef FRESHET_SERVER_API_SHADOW_REPORT_H_
#define FRESHET_SERVER_API_SHADOW_REPORT_H_

#include "freshet/v1/admin.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

// AdminService::ReportShadow, less the Handle: answers the call later, or at once where it is
// refused. Pages are read in chunks in the background, a list among others; the comparison is
// computed on the thread of upkeep. Thread-safe.
void HandleReportShadow(const ServerContext& context,
                        UnaryCall<v1::ReportShadowRequest, v1::ReportShadowResponse>* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_SHADOW_REPORT_H_
