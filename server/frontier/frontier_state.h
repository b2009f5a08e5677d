// The crawl-frontier API as a state machine: URLs are put, given out, blocked and removed, staged
// for one commit at a time.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_STATE_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_STATE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "core/base/shares.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "server/frontier/frontier_limits.h"
#include "server/frontier/frontier_mend.h"
#include "server/frontier/frontier_pulls.h"
#include "server/frontier/frontier_stage.h"
#include "server/frontier/frontier_urls.h"
#include "server/frontier/queue_table.h"
#include "storage/frontier_store.h"

namespace freshet {

namespace limits {

// The longest delay of a queue, or of all without one of their own; a longer one counts as this.
inline constexpr uint32_t kMaxFrontierDelaySeconds = 86'400;
// The longest delay of a queue that a client may set without owning the crawl id or being an admin.
inline constexpr uint32_t kMaxFrontierDelaySecondsOfOthers = 3600;

}  // namespace limits

// The setter of a delay or a block. An operator sets it freely; other clients may only lengthen it.
enum class SetBy : uint8_t { kOperator, kClient };

// The state. Each change is made in memory and staged. Commit makes all of them durable, and nobody
// may be answered before. After a failed Commit all staged changes are undone, at the cost that
// they had; only the URLs put are counted, as failed.
//
// Pull reads the store, so it does not see staged changes: pull first, or commit in between.
//
// A clock that ran ahead and was set back has left later times behind. They count as the time of
// the load; a lease lasts as long as it had left when its queue was last served. Dates and blocks
// are the clients' wishes, and stay.
//
// Leases, delays and blocks are bounded here, from any source, the store included: a longer one
// counts as limits::kMaxLeaseSeconds, kMaxFrontierDelaySeconds and kMaxBlockSeconds. TakerShares
// bounds what a client may have in flight of others' crawl ids; admins, and clients in their own
// crawl ids, may have everything.
//
// Clients share the room for crawl ids, queues, URLs and flights as core/base/shares.h says. The
// contents of a crawl id count for the client that brought it, or was the first to put something
// there since a restart. Until then they count for the crawl id. Thread-compatible.
class FrontierState {
 public:
  // Queues, flights and deleted rows that one turn tends.
  static constexpr size_t kTendedAtOnce = FrontierStore::kMostPassed;

  // `store` outlives it.
  FrontierState(FrontierStore& store, const FrontierLimits& limits);

  // Clears the memory and loads the store.
  [[nodiscard]] Status Load();
  // Sets the time of all that follows, in seconds since 1970. Never steps back.
  void SetNow(uint64_t now) { stage_.now = now; }

  // --- URLs
  // Puts URLs. Outcomes come in the order of the URLs.
  [[nodiscard]] std::vector<FrontierOutcome> Put(std::span<const FrontierPut> puts);
  // Gives out URLs, as FrontierPulls::Pull. Precondition: nothing was put since the last commit.
  [[nodiscard]] Status Pull(FrontierPull* pull, size_t most, std::vector<FrontierServed>* served) {
    return pulls_.Pull(pull, most, served);
  }
  // Does a part of the work that takes several turns: QueueTable::Tend, and PassingQueues::Pass,
  // whose status it returns. Precondition: nothing is staged. Returns whether there is more.
  [[nodiscard]] StatusOr<bool> Tend(size_t most = kTendedAtOnce);
  // Takes back URLs that did not reach their client: they wait as if they had not been given out.
  void GiveBack(std::span<const FrontierServed> served);
  // Mends what a clock that ran ahead has left behind.
  [[nodiscard]] FrontierMend& mend() { return mend_; }
  // Ends at most `most` leases whose time is over.
  void Expire(size_t most);
  // Removes the given URLs of a queue that were put before `before`. Returns how many.
  [[nodiscard]] StatusOr<uint64_t> RemoveOlder(FrontierQueueId queue,
                                               std::span<const std::string> urls, uint64_t before);
  // The same in two commits, between which their pages are removed. First EndOlder marks these URLs
  // as never to be given out, and returns which. Then RemoveEnded removes those still marked, and
  // returns how many.
  [[nodiscard]] StatusOr<std::vector<std::string>> EndOlder(FrontierQueueId queue,
                                                            std::span<const std::string> urls,
                                                            uint64_t before);
  [[nodiscard]] StatusOr<uint64_t> RemoveEnded(FrontierQueueId queue,
                                               std::span<const std::string> urls);
  // The URLs of these that are in the queue and to be given out some time, with staged changes.
  [[nodiscard]] StatusOr<std::vector<std::string>> Waiting(FrontierQueueId queue,
                                                           std::span<const std::string> urls);
  // The stored URLs of these names, in order. NotFound: there is no such URL.
  [[nodiscard]] std::vector<StatusOr<FrontierItem>> Read(std::span<const FrontierName> names) const;

  // --- Queues; settings of a queue without URLs are kept for later ones
  // ResourceExhausted: there is no room. An empty key means all queues.
  [[nodiscard]] Status SetDelay(std::string_view crawl, std::string_view key, uint32_t seconds,
                                const Claim& claim = {}, SetBy by = SetBy::kOperator);
  [[nodiscard]] Status BlockUntil(std::string_view crawl, std::string_view key, uint64_t until,
                                  const Claim& claim = {}, SetBy by = SetBy::kOperator);
  // NotFound: there is no such queue. 0 = no limit.
  [[nodiscard]] Status SetLimit(std::string_view crawl, std::string_view key, uint32_t limit);
  // Both return the number of deleted URLs.
  uint64_t DeleteQueue(std::string_view crawl, std::string_view key);
  uint64_t DeleteCrawl(std::string_view crawl);
  void SetActive(bool active) {
    stage_.settings.active = active;
    stage_.batch.PutSettings(stage_.settings);
  }

  // --- All staged changes
  // Not OK, as FrontierStore::Commit: all of them are undone.
  [[nodiscard]] Status Commit();
  // Undoes all of them.
  void Discard();

  [[nodiscard]] const FrontierSettings& settings() const { return stage_.settings; }
  [[nodiscard]] const QueueTable& table() const { return *stage_.table; }
  [[nodiscard]] const FrontierTotals& totals() const { return stage_.totals; }

 private:
  class Loader;
  // The stored or staged state of a URL.
  struct Known {
    bool exists = false;
    uint64_t due = 0;
    uint64_t created = 0;
  };
  using Name = std::pair<FrontierQueueId, std::string>;
  // Finds or makes the queue; nullptr = no room for another one of this client.
  FrontierQueue* Ensure(std::string_view crawl, std::string_view key, const Claim& claim);
  // Whether a setting would make a queue in another client's crawl id, where it would count for
  // that client and stay: nothing is set then.
  [[nodiscard]] bool MakesQueueOfOthers(std::string_view crawl, std::string_view key,
                                        const Claim& claim);
  // Reads the stored state of URLs that are not staged yet.
  [[nodiscard]] Status ReadKnown(std::span<const FrontierStore::ItemName> names);
  // Makes the state of all these URLs known. Returns the queue; nullptr = it is gone.
  [[nodiscard]] StatusOr<FrontierQueue*> ReadAll(FrontierQueueId id,
                                                 std::span<const std::string> urls);
  void Remove(FrontierQueue& queue, const std::string& url, Known* known);
  // Removes the URLs of these for which `which` returns true. Returns how many.
  [[nodiscard]] StatusOr<uint64_t> RemoveThose(FrontierQueueId queue,
                                               std::span<const std::string> urls,
                                               absl::FunctionRef<bool(const Known&)> which);
  FrontierOutcome PutOne(const FrontierPut& put, FrontierQueue& queue, Known* known);
  // Ends the waiting or the flight of a URL in the queue.
  void TakeOut(FrontierQueue& queue, const std::string& url, const Known& known);
  void EndFlight(FrontierQueue& queue, const std::string& url);
  // Ends the flight of a URL, which waits as if it had not been given out.
  void WaitAgain(FrontierQueue& queue, const FrontierDue& due);
  // Stages a result for the taker's share. Precondition: the URL is in flight.
  void StageResult(const FrontierQueue& queue, const std::string& url, bool answered);
  void ForgetStaged();
  // Notes that the memory equals the store.
  void Keep();
  FrontierStage stage_;
  FrontierPulls pulls_{stage_};
  FrontierMend mend_{stage_};
  // Staged changes, beside those of the stage:
  absl::flat_hash_map<Name, Known> known_;
  uint64_t put_ = 0;                                // number of URLs
  std::vector<std::pair<uint64_t, bool>> results_;  // by taker, whether with a result
  // Where undoing the staged changes leads back to:
  FrontierSettings kept_settings_;
  FrontierTotals kept_totals_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_STATE_H_
