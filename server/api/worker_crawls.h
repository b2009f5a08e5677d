// Workers that take pages of some crawl ids only: what they name, and what may be had.
#ifndef FRESHET_SERVER_API_WORKER_CRAWLS_H_
#define FRESHET_SERVER_API_WORKER_CRAWLS_H_

#include <string>

#include "core/base/status.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "server/api/context.h"
#include "server/auth/authoriser.h"
#include "server/engine/class_table.h"

namespace freshet {

// Whether the policy plans the rates of all pages itself, and knows no crawl ids.
[[nodiscard]] bool PlansAllPages(const ServerContext& context);

// What a worker that names these crawl ids takes; none: all that `caller` may. PermissionDenied: it
// may not take those of one. InvalidArgument: one is none, or there are more than
// limits::kMaxCrawlsPerWorker. FailedPrecondition: PlansAllPages. ResourceExhausted
// as Crawls::ClassesOf. Thread-safe.
[[nodiscard]] StatusOr<TakenClasses> ClassesOfWorker(
    const ServerContext& context, const google::protobuf::RepeatedPtrField<std::string>& crawl_ids,
    const Caller& caller);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_WORKER_CRAWLS_H_
