// Crawlers of the crawl-frontier API under load: each keeps as much under way as such clients do.
#ifndef FRESHET_BENCH_FRONTIER_LOAD_H_
#define FRESHET_BENCH_FRONTIER_LOAD_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "bench/load.h"
#include "bench/synthetic_store.h"

namespace freshet {

// URLs of a stream that are not acknowledged, as the usual command line client has them.
inline constexpr int kFrontierWindow = 10'000;

// Puts all pages as discovered URLs, one a message, on one PutURLs stream; several clients may
// share `next`, the first page that was not sent yet. `tally` outlives the client, as below.
[[nodiscard]] std::unique_ptr<LoadClient> MakeFrontierPutter(
    const std::shared_ptr<grpc::Channel>& channel, const SyntheticOptions& pages,
    std::atomic<uint64_t>& next, LoadTally& tally);

// Calls GetURLs for 10 URLs of each of 10 queues, again and again, and puts each URL as known and
// due in a minute on one PutURLs stream.
[[nodiscard]] std::unique_ptr<LoadClient> MakeFrontierCrawler(
    const std::shared_ptr<grpc::Channel>& channel, LoadTally& tally);

}  // namespace freshet

#endif  // FRESHET_BENCH_FRONTIER_LOAD_H_
