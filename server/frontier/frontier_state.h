// The crawl-frontier API as a state machine: URLs are put, handed out, blocked and removed. All
// changes are staged for one commit at a time.
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

// The longest delay of a queue, and the longest default delay. Longer delays are reduced to this.
inline constexpr uint32_t kMaxFrontierDelaySeconds = 86'400;
// The longest delay that a client may set if it neither owns the crawl id nor is an admin.
inline constexpr uint32_t kMaxFrontierDelaySecondsOfOthers = 3600;

}  // namespace limits

// The setter of a delay or a block. Operators may set it freely. Clients can only lengthen what the
// operator has set.
enum class SetBy : uint8_t { kOperator, kClient };

// The state. Each change is made in memory and staged. Commit makes all staged changes durable, and
// the caller must answer no call before that. After a failed Commit all staged changes are undone,
// which costs as much as making them. Only the count of failed puts is kept.
//
// Pull reads the store, so it does not see staged changes. The caller must pull first, or commit in
// between.
//
// A clock that ran ahead and was set back can leave times in the future. These times count as the
// time of the load. A lease then gets the remaining time that it had when its queue was last
// served. Due dates and blocks that clients have set are not changed.
//
// This class limits leases, delays and blocks from any source, including the store, to
// limits::kMaxLeaseSeconds, kMaxFrontierDelaySeconds and kMaxBlockSeconds. TakerShares limits how
// many URLs of other clients' crawl ids a client may have in flight. This limit applies neither to
// admins nor to the owner of a crawl id.
//
// Clients share the room for crawl ids, queues, URLs and flights by the rules of
// core/base/shares.h. The contents of a crawl id are charged to its owner: the client that made it
// or, after a restart, the first client to put something there. A crawl id without an owner counts
// as a separate client. Thread-compatible.
class FrontierState {
 public:
  // The maximum number of queues, flights and deleted rows that Tend handles in one turn.
  static constexpr size_t kTendedAtOnce = FrontierStore::kMostPassed;

  // `store` must outlive this object.
  FrontierState(FrontierStore& store, const FrontierLimits& limits);

  // Clears the memory and loads the store.
  [[nodiscard]] Status Load();
  // Sets the time of all calls that follow, in seconds since 1970. Precondition: `now` is not
  // before the last one.
  void SetNow(uint64_t now) { stage_.now = now; }

  // --- URLs
  // Puts URLs. Returns the outcomes in the order of the URLs.
  [[nodiscard]] std::vector<FrontierOutcome> Put(std::span<const FrontierPut> puts);
  // Hands out URLs: see FrontierPulls::Pull. Precondition: nothing was put since the last commit.
  [[nodiscard]] Status Pull(FrontierPull* pull, size_t most, std::vector<FrontierServed>* served) {
    return pulls_.Pull(pull, most, served);
  }
  // Does a part of the background work: QueueTable::Tend and PassingQueues::Pass. Returns true if
  // more work is left. Precondition: nothing is staged. Not OK: the error of PassingQueues::Pass.
  [[nodiscard]] StatusOr<bool> Tend(size_t most = kTendedAtOnce);
  // Takes back URLs that did not reach their client. They are due again as if they had not been
  // handed out.
  void GiveBack(std::span<const FrontierServed> served);
  // Corrects times that a clock that ran ahead has left behind.
  [[nodiscard]] FrontierMend& mend() { return mend_; }
  // Ends at most `most` leases that have expired.
  void Expire(size_t most);
  // Removes those of the given URLs of the queue that were put before the time `before`. Returns
  // their number.
  [[nodiscard]] StatusOr<uint64_t> RemoveOlder(FrontierQueueId queue,
                                               std::span<const std::string> urls, uint64_t before);
  // These two do the work of RemoveOlder in two commits, so that the caller can remove the pages of
  // the URLs in between. EndOlder marks the old URLs as never due, and returns them. RemoveEnded
  // removes those that are still marked, and returns their number.
  [[nodiscard]] StatusOr<std::vector<std::string>> EndOlder(FrontierQueueId queue,
                                                            std::span<const std::string> urls,
                                                            uint64_t before);
  [[nodiscard]] StatusOr<uint64_t> RemoveEnded(FrontierQueueId queue,
                                               std::span<const std::string> urls);
  // Returns those of the given URLs that are in the queue and will be due at some time. Sees staged
  // changes.
  [[nodiscard]] StatusOr<std::vector<std::string>> Waiting(FrontierQueueId queue,
                                                           std::span<const std::string> urls);
  // Reads the stored URLs with these names, in order. NotFound: there is no such URL.
  [[nodiscard]] std::vector<StatusOr<FrontierItem>> Read(std::span<const FrontierName> names) const;

  // --- Queues. The settings of a queue stay while it has no URLs
  // Set the delay of a queue, or block it until a time. SetDelay with an empty key sets the default
  // delay. ResourceExhausted: there is no room for another queue.
  [[nodiscard]] Status SetDelay(std::string_view crawl, std::string_view key, uint32_t seconds,
                                const Claim& claim = {}, SetBy by = SetBy::kOperator);
  [[nodiscard]] Status BlockUntil(std::string_view crawl, std::string_view key, uint64_t until,
                                  const Claim& claim = {}, SetBy by = SetBy::kOperator);
  // Sets the number of completed URLs at which the queue stops serving; 0 = no limit. NotFound:
  // there is no such queue.
  [[nodiscard]] Status SetLimit(std::string_view crawl, std::string_view key, uint32_t limit);
  // Delete a queue, or a crawl id with all its queues. Return the number of deleted URLs.
  uint64_t DeleteQueue(std::string_view crawl, std::string_view key);
  uint64_t DeleteCrawl(std::string_view crawl);
  void SetActive(bool active) {
    stage_.settings.active = active;
    stage_.batch.PutSettings(stage_.settings);
  }

  // --- All staged changes
  // Makes all staged changes durable. Not OK: the error of FrontierStore::Commit; all staged
  // changes are undone.
  [[nodiscard]] Status Commit();
  // Undoes all staged changes.
  void Discard();

  [[nodiscard]] const FrontierSettings& settings() const { return stage_.settings; }
  [[nodiscard]] const QueueTable& table() const { return *stage_.table; }
  [[nodiscard]] const FrontierTotals& totals() const { return stage_.totals; }

 private:
  class Loader;
  // The state of a URL, including staged changes.
  struct Known {
    bool exists = false;
    uint64_t due = 0;
    uint64_t created = 0;
  };
  using Name = std::pair<FrontierQueueId, std::string>;
  // Finds or makes the queue; nullptr = there is no room for another queue of this client.
  FrontierQueue* Ensure(std::string_view crawl, std::string_view key, const Claim& claim);
  // Returns true if a setting would make a queue in another client's crawl id. Such a setting must
  // be ignored, because the new queue would stay and be charged to the owner.
  [[nodiscard]] bool MakesQueueOfOthers(std::string_view crawl, std::string_view key,
                                        const Claim& claim);
  // Reads the stored state of URLs into known_, unless they are there already.
  [[nodiscard]] Status ReadKnown(std::span<const FrontierStore::ItemName> names);
  // Makes sure that all these URLs are in known_. Returns the queue; nullptr = it was removed.
  [[nodiscard]] StatusOr<FrontierQueue*> ReadAll(FrontierQueueId id,
                                                 std::span<const std::string> urls);
  void Remove(FrontierQueue& queue, const std::string& url, Known* known);
  // Removes those of the given URLs for which `which` returns true. Returns their number.
  [[nodiscard]] StatusOr<uint64_t> RemoveThose(FrontierQueueId queue,
                                               std::span<const std::string> urls,
                                               absl::FunctionRef<bool(const Known&)> which);
  FrontierOutcome PutOne(const FrontierPut& put, FrontierQueue& queue, Known* known);
  // Takes a URL out of the due URLs of the queue, or out of its flights.
  void TakeOut(FrontierQueue& queue, const std::string& url, const Known& known);
  void EndFlight(FrontierQueue& queue, const std::string& url);
  // Ends the flight of a URL, and makes the URL due as if it had not been handed out.
  void WaitAgain(FrontierQueue& queue, const FrontierDue& due);
  // If the URL is in flight with a taker, stages its result for the taker's share. `answered`: the
  // flight ended with a result.
  void StageResult(const FrontierQueue& queue, const std::string& url, bool answered);
  void ForgetStaged();
  // Called when the memory and the store are equal. Forgets the staged changes.
  void Keep();
  FrontierStage stage_;
  FrontierPulls pulls_{stage_};
  FrontierMend mend_{stage_};
  // More staged changes, besides those of `stage_`.
  absl::flat_hash_map<Name, Known> known_;
  uint64_t put_ = 0;                                // number of URLs put
  std::vector<std::pair<uint64_t, bool>> results_;  // taker; true = the flight had a result
  // The values that Discard restores.
  FrontierSettings kept_settings_;
  FrontierTotals kept_totals_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_STATE_H_
