// Hands out due URLs of the crawl frontier. Crawl ids take turns, and so do the queues of a crawl
// id.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_PULLS_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_PULLS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/shares.h"
#include "core/base/status.h"
#include "server/frontier/frontier_urls.h"
#include "server/frontier/passing_queues.h"

namespace freshet {

struct FrontierCrawl;
struct FrontierQueue;
struct FrontierStage;

// Owner thread only. `stage` must outlive this object.
class FrontierPulls {
 public:
  // The maximum number of queues that one pull makes ready. Millions of queues can become ready in
  // one second, for example after a restart.
  static constexpr size_t kPromotedAtOnce = 4096;

  explicit FrontierPulls(FrontierStage& stage) : stage_(stage) {}

  // Leases at most `most` due URLs to the client and appends them to `served`. Their bytes are at
  // most limits::kMaxBytesPerPull, except for a single larger URL. If more than kPromotedAtOnce
  // queues can serve from now on, later pulls make the remaining ones ready. The call ends early,
  // with the pull not over, after `most` queues without a due URL, or after it has skipped
  // PassingQueues::kMostPerPull deleted rows. A queue with more deleted rows before its first URL
  // serves nothing until Pass has skipped them. Until then, a pull of this queue alone is not over.
  // Precondition: nothing was put since the last commit. Not OK: the store cannot be read.
  [[nodiscard]] Status Pull(FrontierPull* pull, size_t most, std::vector<FrontierServed>* served);
  // Calls PassingQueues::Pass.
  [[nodiscard]] StatusOr<bool> Pass(size_t most);
  // Keep makes the turns used since the last Keep permanent. Undo reverts them.
  void Keep() { kept_next_crawl_ = next_crawl_; }
  void Undo() { next_crawl_ = kept_next_crawl_; }

 private:
  // How many more URLs of the crawl id this client may take.
  [[nodiscard]] uint64_t FlightsLeft(const FrontierCrawl& crawl, const Claim& taker) const;
  [[nodiscard]] FrontierQueue* NextQueue(FrontierPull* pull);
  // Makes ready the waiting queues that can serve now, in the crawl ids that the pull serves.
  void Promote(const FrontierPull& pull);
  [[nodiscard]] FrontierQueue* NextOfAny(FrontierPull* pull);
  // Hands out up to `most` due URLs of the queue with their metadata, until `served` has
  // limits::kMaxBytesPerPull. Skips at most `most_passed` deleted rows.
  struct Given {
    size_t urls = 0;
    bool full = false;    // more URLs were due, but their bytes did not fit
    uint64_t passed = 0;  // skipped deleted rows
  };
  [[nodiscard]] StatusOr<Given> ServeFrom(FrontierQueue& queue, const FrontierPull& pull,
                                          size_t most, uint64_t most_passed,
                                          std::vector<FrontierServed>* served, size_t* bytes);

  FrontierStage& stage_;
  uint32_t next_crawl_ = 0;  // the crawl id whose turn it is
  uint32_t kept_next_crawl_ = 0;
  PassingQueues passing_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_PULLS_H_
