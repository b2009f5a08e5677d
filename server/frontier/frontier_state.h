// The crawl-frontier API as a state machine: what is put, given out, blocked and forgotten, staged
// for one commit at a time.
#ifndef FRESHET_SERVER_FRONTIER_FRONTIER_STATE_H_
#define FRESHET_SERVER_FRONTIER_FRONTIER_STATE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/shares.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "server/base/frontier_limits.h"
#include "server/frontier/frontier_limits.h"
#include "server/frontier/queue_table.h"
#include "storage/frontier_store.h"

namespace freshet {

namespace limits {

// Of a queue, or of all without one of their own: a client that asks for more gets this.
inline constexpr uint32_t kMaxFrontierDelaySeconds = 86'400;
// Longest delay of a queue that a client other than the owner of the crawl id or an admin may set.
inline constexpr uint32_t kMaxFrontierDelaySecondsOfOthers = 3600;

}  // namespace limits

// An operator sets a delay or a block as it is to be; other clients may only add to it.
enum class SetBy : uint8_t { kOperator, kClient };

// A URL that a client puts. Crawl id and key are not empty.
struct FrontierPut {
  std::string crawl;
  std::string key;
  std::string url;
  std::string metadata;
  bool known = false;  // else discovered
  uint64_t due = 0;    // of one that is known: seconds since 1970; zero: never again
  Claim claim;         // of the client
  // Whether the client may say what a fetch has found. If not, what is known of the URL changes,
  // and whoever has it in flight keeps it.
  bool reports = true;
};

enum class FrontierOutcome : uint8_t {
  kOk,
  kKnown,    // known already, and to be given out some time: not to be sent again
  kSkipped,  // likewise known, but never to be given out; or too large
  kFailed,   // not taken for now
};

// A URL that is given out.
struct FrontierServed {
  FrontierQueueId queue;
  uint64_t serial = 0;  // of its flight
  std::string crawl;
  std::string key;
  std::string url;
  std::string metadata;
  LeaseId lease;  // of the page, where Freshet schedules the crawl id; zero: it does not
};

// What it takes to hold it for its client.
[[nodiscard]] inline size_t BytesOf(const FrontierServed& served) {
  return sizeof(FrontierServed) + served.crawl.size() + served.key.size() + served.url.size() +
         served.metadata.size();
}

// A URL by its names.
struct FrontierName {
  std::string crawl;
  std::string key;
  std::string url;
};

// What became of URLs that were picked elsewhere: places among those that were named.
struct FrontierPicked {
  std::vector<std::pair<size_t, FrontierServed>> served;
  std::vector<size_t> ended;    // never to be given out
  std::vector<size_t> refused;  // for now
};

// What a client wants to be given, and how far that has come. Value type, thread-compatible.
struct FrontierPull {
  std::optional<std::string> crawl;  // unset: any, in turn
  // Of any, not these, which are of whoever asks; null: all.
  std::shared_ptr<const std::vector<std::string>> except;
  std::shared_ptr<const std::vector<std::string>> only;  // of any, these; null: all
  std::string key;                                       // empty: any queue
  uint32_t urls_per_queue = UINT32_MAX;
  uint32_t queues = UINT32_MAX;
  uint32_t lease_seconds = limits::kUsualFrontierLeaseSeconds;
  Claim taker;  // of the client

  // Of any: whether URLs of this crawl id are for it.
  [[nodiscard]] bool Serves(const std::string& name) const;

  bool over = false;  // there is nothing more for it
  // Where it stands: the state's own.
  uint64_t end = 0;  // queues whose turn comes later are for others
  CrawlRound round;  // of any
  FrontierQueueId queue;
  uint32_t left_in_queue = 0;
};

// Since the start. Value type, thread-compatible.
struct FrontierTotals {
  uint64_t put_ok = 0;
  uint64_t put_skipped = 0;
  uint64_t put_failed = 0;
  uint64_t metadata_too_large = 0;  // of those skipped
  uint64_t served = 0;
  uint64_t given_back = 0;  // of those served: their clients were gone
  uint64_t expired = 0;     // leases that ended without a word
  uint64_t deleted = 0;     // URLs whose pages were removed before
};

// Each change is made in memory and staged; Commit makes all of them durable, and nothing may be
// told to anybody before. After a Commit that fails all is as if nothing had been staged, which
// costs what the changes have cost; only the URLs that were put count, as failed.
//
// A commit's changes are not seen by Pull, which reads what is stored: where both are wanted, pull
// first, or commit in between.
//
// A clock that ran ahead and was set back has left times behind that are later than the present
// one. They count as of the load; a lease lasts as much longer as it had left when its queue was
// served last. Dates and blocks are what clients want, and stay.
//
// Leases, delays and blocks are bounded here, whichever door they come through: a longer one counts
// as limits::kMaxLeaseSeconds, kMaxFrontierDelaySeconds and kMaxBlockSeconds. That goes for what is
// read from the store, too. What a client may have in flight of others' crawl ids is bounded by
// TakerShares; admins, and clients in their own crawl ids, may have what there is.
//
// What there may be of crawl ids, queues, URLs and what is in flight is shared as
// core/base/shares.h has it. All that is in a crawl id counts for the client that brought the crawl
// id, or that was the first to put something there since a restart; until then for the crawl id.
// Thread-compatible.
class FrontierState {
 public:
  // Queues that one pull takes in. Millions may become ready in one second, after a restart too.
  static constexpr size_t kPromotedAtOnce = 4096;

  // `store` outlives it.
  FrontierState(FrontierStore& store, const FrontierLimits& limits);

  // Forgets what is in memory and takes in what is stored.
  [[nodiscard]] Status Load();
  // All that follows is at this time, in seconds since 1970. Never steps back.
  void SetNow(uint64_t now) { now_ = now; }

  // --- URLs
  // Outcomes in the order of the URLs.
  [[nodiscard]] std::vector<FrontierOutcome> Put(std::span<const FrontierPut> puts);
  // Gives out at most `most` URLs that are due, and limits::kMaxBytesPerPull of them or one that
  // has more, and keeps them from others. Nothing was put since the last commit. Where more than
  // kPromotedAtOnce queues have become ready, further pulls see the others. It ends as well, and is
  // not over, once it has looked at `most` queues whose first URL has gone and that have nothing
  // due. A status that is not OK: the store cannot be read.
  [[nodiscard]] Status Pull(FrontierPull* pull, size_t most, std::vector<FrontierServed>* served);
  // Gives out these URLs, whatever their dates, as many bytes of them as Pull; the rest is refused.
  // A URL that is not there comes in, as if its page's owner had put it: unless there are as many
  // as there may be, or some were deleted since totals().deleted was `deleted`, this one perhaps
  // among them.
  [[nodiscard]] StatusOr<FrontierPicked> ServeNamed(std::span<const FrontierName> names,
                                                    uint32_t lease_seconds, uint64_t deleted);
  // What did not reach its client waits again, as if it had not been given out.
  void GiveBack(std::span<const FrontierServed> served);
  // By how many seconds the clock was ahead of now before the load, and not everything that it has
  // left behind is mended in the store; zero: not at all.
  [[nodiscard]] uint64_t ahead() const;
  // Queues that were served at such times.
  [[nodiscard]] size_t queues_ahead() const { return ahead_.size(); }
  // Mends what is in the store until it has looked at `most` queues and URLs: URLs that were put
  // without a date, and are due once that time comes, are due now. Nothing else is staged.
  [[nodiscard]] Status MendAhead(size_t most);
  // Leases that are over by now, at most `most`, end.
  void Expire(size_t most);
  // Forgets those of these URLs of a queue that came in before `before`; returns how many.
  [[nodiscard]] StatusOr<uint64_t> RemoveOlder(FrontierQueueId queue,
                                               std::span<const std::string> urls, uint64_t before);
  // The same in two commits, between which their pages go: first these URLs are never to be given
  // out, then those are forgotten of which that still holds. Returns which, and how many.
  [[nodiscard]] StatusOr<std::vector<std::string>> EndOlder(FrontierQueueId queue,
                                                            std::span<const std::string> urls,
                                                            uint64_t before);
  [[nodiscard]] StatusOr<uint64_t> RemoveEnded(FrontierQueueId queue,
                                               std::span<const std::string> urls);
  // Those of these URLs of a queue that are there, and to be given out some time; what is staged
  // counts.
  [[nodiscard]] StatusOr<std::vector<std::string>> Waiting(FrontierQueueId queue,
                                                           std::span<const std::string> urls);
  [[nodiscard]] StatusOr<FrontierItem> Read(std::string_view crawl, std::string_view key,
                                            std::string_view url) const;

  // --- Queues; what is set for one that has no URLs yet is kept for when it has
  // ResourceExhausted: there are as many as there may be. With an empty key: of all queues.
  [[nodiscard]] Status SetDelay(std::string_view crawl, std::string_view key, uint32_t seconds,
                                const Claim& claim = {}, SetBy by = SetBy::kOperator);
  [[nodiscard]] Status BlockUntil(std::string_view crawl, std::string_view key, uint64_t until,
                                  const Claim& claim = {}, SetBy by = SetBy::kOperator);
  // NotFound: there is no such queue. Zero: no limit.
  [[nodiscard]] Status SetLimit(std::string_view crawl, std::string_view key, uint32_t limit);
  // Both return how many URLs there were.
  uint64_t DeleteQueue(std::string_view crawl, std::string_view key);
  uint64_t DeleteCrawl(std::string_view crawl);
  void SetActive(bool active);

  // --- All that is staged
  // Not OK, as FrontierStore::Commit has it: nothing of it is left.
  [[nodiscard]] Status Commit();
  // Nothing of it is left.
  void Discard();

  [[nodiscard]] bool active() const { return settings_.active; }
  // Of queues without one of their own, in seconds.
  [[nodiscard]] uint32_t default_delay() const { return settings_.default_delay; }
  [[nodiscard]] const QueueTable& table() const { return *table_; }
  [[nodiscard]] const FrontierTotals& totals() const { return totals_; }

 private:
  class Loader;
  // What is stored of a URL, or will be.
  struct Known {
    bool exists = false;
    uint64_t due = 0;
    uint64_t created = 0;
  };
  using Name = std::pair<FrontierQueueId, std::string>;
  // How far MendAhead has come.
  struct MendPlace {
    uint32_t crawl = 0;
    std::string key;  // of the queue that comes next, or of one before it
    // Where the queue with that key goes on; unset: it was not looked at yet.
    std::optional<FrontierDue> due;
  };

  // The queue, made if there is none; nullptr: there is no room for one of this client.
  FrontierQueue* Ensure(std::string_view crawl, std::string_view key, const Claim& claim);
  // Whether what is set for the queue would make one of another client's crawl id, which counts as
  // that client's and stays: nothing is set then.
  [[nodiscard]] bool MakesQueueOfOthers(std::string_view crawl, std::string_view key,
                                        const Claim& claim);
  // How many URLs of the crawl id may go out, beside those and so many more.
  [[nodiscard]] uint64_t FlightsLeft(const FrontierCrawl& crawl, uint64_t more = 0) const;
  // The same, to this client.
  [[nodiscard]] uint64_t FlightsLeft(const FrontierCrawl& crawl, const Claim& taker) const;
  void Touch(FrontierQueue& queue);
  // Touches and files it, or lets go of one that is there for nothing.
  void Settle(FrontierQueue& queue);
  [[nodiscard]] bool IsAcceptable(const FrontierPut& put);
  // What is stored of the URLs that are not staged yet.
  [[nodiscard]] Status ReadKnown(std::span<const FrontierStore::ItemName> names);
  // All of these are known then. The queue; nullptr: it is not there any more.
  [[nodiscard]] StatusOr<FrontierQueue*> ReadAll(FrontierQueueId id,
                                                 std::span<const std::string> urls);
  void Remove(FrontierQueue& queue, const std::string& url, Known* known);
  FrontierOutcome PutOne(const FrontierPut& put, FrontierQueue& queue, Known* known);
  // Of a URL that is there: it waits and is in flight no more.
  void TakeOut(FrontierQueue& queue, const std::string& url, const Known& known);
  void EndFlight(FrontierQueue& queue, const std::string& url);
  // The same for a URL that is in flight and stays so, and is due then once it is not.
  void MoveFlight(FrontierQueue& queue, const std::string& url, uint64_t due);
  // Once it is durable. The URL is in flight.
  void StageResult(const FrontierQueue& queue, const std::string& url, bool answered);
  [[nodiscard]] FrontierQueue* NextQueue(FrontierPull* pull);
  // Takes in queues that have become ready, of the crawl ids that the pull is for in turn.
  void Promote(const FrontierPull& pull);
  [[nodiscard]] FrontierQueue* NextOfAny(FrontierPull* pull);
  // Gives out up to `most` of what is due, with its metadata, until `served` has
  // limits::kMaxBytesPerPull.
  struct Given {
    size_t urls = 0;
    bool full = false;  // more was due
  };
  [[nodiscard]] StatusOr<Given> ServeFrom(FrontierQueue& queue, const FrontierPull& pull,
                                          size_t most, std::vector<FrontierServed>* served,
                                          size_t* bytes);
  // Those that were looked at, as they would be given out, until these have all bytes that may be.
  [[nodiscard]] StatusOr<std::vector<FrontierServed>> Describe(const FrontierQueue& queue,
                                                               std::span<const FrontierDue> due,
                                                               size_t* bytes) const;
  // Takes in a URL that is not there; nullopt: there is no room for it.
  [[nodiscard]] std::optional<FrontierItem> Adopt(const FrontierName& name);
  // Gives out those that have an item.
  void LendPicked(std::span<const FrontierName> names, std::span<std::optional<FrontierItem>> items,
                  uint32_t lease_seconds, FrontierPicked* picked);
  void Lend(FrontierQueue& queue, const std::string& url, const FrontierLease& lease,
            FrontierServed* served);
  void RemoveEmpty(FrontierQueue& queue);
  void ForgetStaged();
  // The queue at mend_place_, or the next one after it; nullptr: that was the last.
  [[nodiscard]] FrontierQueue* NextToMend();
  [[nodiscard]] Status MendFlights(FrontierQueue& queue);
  [[nodiscard]] Status MendDue(FrontierQueue& queue, std::span<const FrontierDue> due);

  // What is to hold again when the staged changes do not come to hold.
  struct Kept {
    FrontierSettings settings;
    uint32_t next_crawl = 0;
    FrontierTotals totals;
    MendPlace mend_place;
  };

  FrontierStore& store_;
  const FrontierLimits limits_;
  uint64_t now_ = 0;
  FrontierSettings settings_;
  std::unique_ptr<QueueTable> table_;
  uint32_t next_crawl_ = 0;  // whose turn it is
  FrontierTotals totals_;
  absl::flat_hash_set<FrontierQueueId> ahead_;  // at the load
  MendPlace mend_place_;
  // Staged:
  FrontierBatch batch_;
  std::vector<FrontierQueueId> changed_;
  absl::flat_hash_map<Name, Known> known_;
  uint64_t put_ = 0;                                // URLs
  std::vector<std::pair<uint64_t, bool>> results_;  // by taker, whether it has answered
  Kept kept_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FRONTIER_STATE_H_
