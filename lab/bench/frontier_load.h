// Clients of the crawl-frontier API for load tests: each keeps as many requests under way as real
// clients.
#ifndef FRESHET_LAB_BENCH_FRONTIER_LOAD_H_
#define FRESHET_LAB_BENCH_FRONTIER_LOAD_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "lab/bench/load.h"
#include "lab/bench/synthetic_store.h"

namespace freshet {

// Max unacknowledged URLs of a stream, as in the usual command line client.
inline constexpr int kFrontierWindow = 10'000;

// Puts all pages as discovered URLs, one a message, on one PutURLs stream. Several clients may
// share `next`, the first page not sent yet. `tally` outlives the client.
[[nodiscard]] std::unique_ptr<LoadClient> MakeFrontierPutter(
    const std::shared_ptr<grpc::Channel>& channel, const SyntheticOptions& pages,
    std::atomic<uint64_t>& next, LoadTally& tally);

// Calls GetURLs repeatedly for 10 URLs of each of 10 queues, and puts each URL as known and due in
// a minute on one PutURLs stream. `tally` outlives the client.
[[nodiscard]] std::unique_ptr<LoadClient> MakeFrontierCrawler(
    const std::shared_ptr<grpc::Channel>& channel, LoadTally& tally);

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_FRONTIER_LOAD_H_
