// Gives out due URLs of the crawl frontier: queues and crawl ids in turn.
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

// Owner thread only. The stage outlives it.
class FrontierPulls {
 public:
  // Queues that one pull moves to the ready ones. Millions may become ready in one second, also
  // after a restart.
  static constexpr size_t kPromotedAtOnce = 4096;

  explicit FrontierPulls(FrontierStage& stage) : stage_(stage) {}

  // Gives out at most `most` due URLs, up to limits::kMaxBytesPerPull or a single larger one, and
  // keeps them from others. Precondition: nothing was put since the last commit. If over
  // kPromotedAtOnce queues have become ready, later pulls see the others. The call also ends,
  // without the pull being over, after `most` queues whose first URL has gone and that have nothing
  // due, or after PassingQueues::kMostPerPull deleted rows. A queue with more of them before its
  // first URL serves nothing until Pass has skipped them; until then a pull of this queue alone is
  // not over. Not OK: the store cannot be read.
  [[nodiscard]] Status Pull(FrontierPull* pull, size_t most, std::vector<FrontierServed>* served);
  // As PassingQueues::Pass.
  [[nodiscard]] StatusOr<bool> Pass(size_t most);
  // The turns since the last Keep are made permanent, or undone.
  void Keep() { kept_next_crawl_ = next_crawl_; }
  void Undo() { next_crawl_ = kept_next_crawl_; }

 private:
  // How many more URLs of the crawl id may go out to this client.
  [[nodiscard]] uint64_t FlightsLeft(const FrontierCrawl& crawl, const Claim& taker) const;
  [[nodiscard]] FrontierQueue* NextQueue(FrontierPull* pull);
  // Moves queues that have become ready to the ready ones, in the crawl ids of the pull in turn.
  void Promote(const FrontierPull& pull);
  [[nodiscard]] FrontierQueue* NextOfAny(FrontierPull* pull);
  // Gives out up to `most` due URLs with their metadata, until `served` has
  // limits::kMaxBytesPerPull.
  struct Given {
    size_t urls = 0;
    bool full = false;    // more were due
    uint64_t passed = 0;  // deleted rows
  };
  [[nodiscard]] StatusOr<Given> ServeFrom(FrontierQueue& queue, const FrontierPull& pull,
                                          size_t most, uint64_t most_passed,
                                          std::vector<FrontierServed>* served, size_t* bytes);

  FrontierStage& stage_;
  uint32_t next_crawl_ = 0;  // whose turn it is
  uint32_t kept_next_crawl_ = 0;
  PassingQueues passing_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_PULLS_H_
