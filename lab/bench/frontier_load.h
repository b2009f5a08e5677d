// Clients of the crawl-frontier API for load tests. Each client keeps the same number of requests
// in flight as a real client.
#ifndef FRESHET_LAB_BENCH_FRONTIER_LOAD_H_
#define FRESHET_LAB_BENCH_FRONTIER_LOAD_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "lab/bench/load.h"
#include "lab/bench/synthetic_store.h"

namespace freshet {

// The maximum number of unacknowledged URLs of a stream, as in the usual command-line client.
inline constexpr int kFrontierWindow = 10'000;

// Puts all pages as discovered URLs, one in each message, on one PutURLs stream. `next` is the
// first page that was not sent yet; several clients may share it. `tally` outlives the client.
[[nodiscard]] std::unique_ptr<LoadClient> MakeFrontierPutter(
    const std::shared_ptr<grpc::Channel>& channel, const SyntheticOptions& pages,
    std::atomic<uint64_t>& next, LoadTally& tally);

// Calls GetURLs repeatedly for 10 URLs of each of 10 queues. Puts each URL back on one PutURLs
// stream, as known and due in a minute. `tally` outlives the client.
[[nodiscard]] std::unique_ptr<LoadClient> MakeFrontierCrawler(
    const std::shared_ptr<grpc::Channel>& channel, LoadTally& tally);

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_FRONTIER_LOAD_H_
