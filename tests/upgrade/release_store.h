// The store of a release: how it is filled through the API of a running freshetd, and all that its
// clients can see of it, as text. What stands in tests/golden was written so by the release it is
// named after; whoever changes this file leaves those as they are.
#ifndef FRESHET_TESTS_UPGRADE_RELEASE_STORE_H_
#define FRESHET_TESTS_UPGRADE_RELEASE_STORE_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "core/base/units.h"

namespace freshet {

// Pages of two crawl ids with all settings, crawled with every outcome, and signalled; leases that
// are out, that ended and that ran out; hosts with terms of their own, blocked and throttled;
// shares, sources, learned models, a rate, a policy, defaults, a pause; a crawl frontier with URLs
// that are new, known, completed and in flight. `now` is the time at the server. Failures are the
// test's.
void FillStore(const std::shared_ptr<grpc::Channel>& channel, Instant now);

// A line for each page, host, crawl id, source, setting, queue and URL, sorted, with four digits of
// each fraction. Equal for servers with equal stores.
[[nodiscard]] std::string DescribeStore(const std::shared_ptr<grpc::Channel>& channel);

}  // namespace freshet

#endif  // FRESHET_TESTS_UPGRADE_RELEASE_STORE_H_
