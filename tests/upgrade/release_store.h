// Fills the store of a release through the API of a running freshetd, and describes as text
// everything that clients can see of it. Releases wrote their files in tests/golden with this code;
// changes here do not change those files.
#ifndef FRESHET_TESTS_UPGRADE_RELEASE_STORE_H_
#define FRESHET_TESTS_UPGRADE_RELEASE_STORE_H_

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "core/base/units.h"

namespace freshet {

// Fills the store with: pages of two crawl ids with all settings, crawled with every outcome, and
// signalled; leases that are open, ended and expired; hosts with settings, blocked and throttled;
// shares, sources, learned models, a rate, a policy, defaults, a pause; a crawl frontier with URLs
// that are new, known, completed and in flight. `now` is the server's time. A failure fails the
// test.
void FillStore(const std::shared_ptr<grpc::Channel>& channel, Instant now);

// Returns a sorted line for each page, host, crawl id, source, setting, queue and URL, with four
// digits of each fraction. Servers with equal stores have equal texts.
[[nodiscard]] std::string DescribeStore(const std::shared_ptr<grpc::Channel>& channel);

}  // namespace freshet

#endif  // FRESHET_TESTS_UPGRADE_RELEASE_STORE_H_
