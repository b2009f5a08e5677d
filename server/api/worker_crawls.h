// The crawl ids that workers name, and those that they may have.
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

// The classes for a worker that names these crawl ids; none named = all that `caller` may take.
// PermissionDenied: the caller may not take one of them. InvalidArgument: an invalid crawl id, or
// more than limits::kMaxCrawlsPerWorker. FailedPrecondition: PlansAllPages. ResourceExhausted as
// Crawls::ClassesOf. Thread-safe.
[[nodiscard]] StatusOr<TakenClasses> ClassesOfWorker(
    const ServerContext& context, const google::protobuf::RepeatedPtrField<std::string>& crawl_ids,
    const Caller& caller);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_WORKER_CRAWLS_H_
