// The crawl ids that workers name, and those that they may use.
#ifndef FRESHET_SERVER_API_WORKER_CRAWLS_H_
#define FRESHET_SERVER_API_WORKER_CRAWLS_H_

#include <string>

#include "core/base/status.h"
#include "google/protobuf/repeated_ptr_field.h"
#include "server/api/context.h"
#include "server/auth/authoriser.h"
#include "server/engine/class_table.h"

namespace freshet {

// Whether the policy in force itself plans the rates of all pages, regardless of crawl ids.
[[nodiscard]] bool PlansAllPages(const ServerContext& context);

// Returns the classes of the crawl ids that a worker names. If the worker names none, returns the
// classes of all crawl ids that `caller` may use. PermissionDenied: the caller may not use one of
// the crawl ids. InvalidArgument: a crawl id is invalid, or there are more than
// limits::kMaxCrawlsPerWorker. FailedPrecondition: PlansAllPages. ResourceExhausted: as for
// Crawls::ClassesOf. Thread-safe.
[[nodiscard]] StatusOr<TakenClasses> ClassesOfWorker(
    const ServerContext& context, const google::protobuf::RepeatedPtrField<std::string>& crawl_ids,
    const Caller& caller);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_WORKER_CRAWLS_H_
