// The keys that hosts have published, as far as they are known, and the threads that look them up.
#ifndef FRESHET_SERVER_INDEXNOW_KEY_BOOK_H_
#define FRESHET_SERVER_INDEXNOW_KEY_BOOK_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "core/base/shares.h"
#include "core/base/units.h"
#include "server/auth/identities.h"
#include "server/base/limits.h"
#include "server/base/log_limit.h"
#include "server/base/named_budgets.h"
#include "server/base/system_clock.h"
#include "server/config_indexnow.h"
#include "server/indexnow/key_fetcher.h"
#include "server/indexnow/ping.h"
#include "sync/mutex.h"

namespace freshet {

// Names that each hold until a time of their own. Clients share the places (core/base/shares.h):
// for a client without a share left its own oldest name goes, else the oldest of all. Keeps only a
// digest of each name, which may be as long as a URL. Thread-compatible.
class ExpiringNames {
 public:
  // Bytes of a value; the rest is cut.
  static constexpr size_t kMostValueBytes = 200;

  explicit ExpiringNames(size_t most) : shares_(most) {}
  // `client`: see ClientNumber.
  void Put(const std::string& name, std::string value, uint64_t client, Instant until, Instant now);
  // nullptr = the name is not there, or its time is over. Valid until the next call.
  [[nodiscard]] const std::string* Find(const std::string& name, Instant now) const;
  void Erase(const std::string& name);
  [[nodiscard]] size_t size() const { return by_name_.size(); }

 private:
  struct Entry {
    std::string value;
    uint64_t client = 0;
    Instant until;
    uint64_t serial = 0;
  };
  void EraseSerial(uint64_t serial);
  Shares shares_;
  uint64_t next_ = 0;
  absl::flat_hash_map<TokenDigest, Entry> by_name_;
  absl::btree_map<uint64_t, TokenDigest> by_serial_;
  absl::btree_set<std::pair<uint64_t, uint64_t>> of_client_;  // serials
};

// Counts since the start, and what is pending now. Value type, thread-compatible.
struct KeyStats {
  uint64_t good = 0;
  uint64_t bad = 0;
  uint64_t unreachable = 0;
  size_t pending_bytes = 0;
};

// Looks up keys and remembers them in memory: good and bad ones for IndexNowConfig::key_lifetime,
// unreachable hosts for retry_interval. A host is asked at most once a second. Anybody may send
// false keys, so senders take turns. Each has a share of what may wait: of a host's keys
// (limits::kMaxIndexNowKeysOfHost), of all keys and of all bytes. Each also has a share of what is
// remembered, some lookups a second, and limits::kKeyFetchesOfSender threads. Thread-safe.
class KeyBook {
 public:
  // The state of a key.
  enum class Standing {
    kGood,
    kBad,
    kPending,  // is being looked up
    kBusy,     // too many lookups under way
  };
  struct Answer {
    Standing standing = Standing::kBusy;
    std::string why;  // reason of kBad
  };
  // A ping that waits for a key. It is called with whether the key is good, on a thread of the
  // book.
  using Waiter = std::function<void(bool good)>;
  // Keys of one host that wait to be looked up, for all senders; and keys of one sender.
  static constexpr size_t kMostOfHost = 8 * limits::kMaxIndexNowKeysOfHost;
  static constexpr size_t kMostOfSender = limits::kMaxIndexNowPendingKeys / 8;
  // Lookups a second that one sender may cause.
  static constexpr double kLookupsOfSender = 10;
  // How often a second a sender may ask for a place of a host that has half of its places taken. A
  // refused sender is asked to come again after this interval.
  static constexpr double kAsksOfCrowdedHost = 0.1;

  // Both outlive this.
  KeyBook(const IndexNowConfig& config, Clock& clock);
  ~KeyBook() { Stop(); }
  KeyBook(const KeyBook&) = delete;
  KeyBook& operator=(const KeyBook&) = delete;

  // `sender`: the holder of one share. kPending: `waiter`, which takes `bytes`, is called once,
  // unless the book is stopped before.
  [[nodiscard]] Answer Check(const KeyFile& file, const std::string& key, const std::string& sender,
                             size_t bytes, Waiter waiter) FRESHET_EXCLUDES(mutex_);
  // Drops waiters that were not called. Waits for running calls of waiters and name lookups.
  // Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] KeyStats stats() const FRESHET_EXCLUDES(mutex_);

 private:
  // A ping that waits for a key.
  struct Ping {
    std::string sender;
    size_t bytes = 0;
    Waiter waiter;
  };
  struct Lookup {
    KeyFile file;
    std::string key;
    std::string sender;  // the first to ask
    std::vector<Ping> waiting;
  };
  struct Sender {
    size_t pending = 0;
    size_t bytes = 0;        // bytes of waiting pings
    int running = 0;         // lookups under way
    uint64_t last_turn = 0;  // in turns of all senders; a new sender gets the last turn but one
  };
  void Run() FRESHET_EXCLUDES(mutex_);
  // Takes from queue_ the lookup whose turn it is; unset = none now, or none before *wait is over.
  [[nodiscard]] std::optional<std::string> NextInTurn(Duration* wait) FRESHET_REQUIRES(mutex_);
  // Takes the lookup out of all counts.
  [[nodiscard]] Lookup Finished(const std::string& name) FRESHET_REQUIRES(mutex_);
  // The sender's entry, which is made if it is new.
  [[nodiscard]] Sender& SenderOf(const std::string& sender) FRESHET_REQUIRES(mutex_);
  // Forgets a sender that has nothing pending.
  void Leave(const std::string& sender) FRESHET_REQUIRES(mutex_);
  void LogRefusal(const KeyFile& file, const std::string& why) FRESHET_REQUIRES(mutex_);
  void Remember(const std::string& name, const std::string& sender, const KeyFetch& fetch)
      FRESHET_REQUIRES(mutex_);
  // Whether another thread may look up a key for the sender. The last quarter of threads is for
  // senders that have none.
  [[nodiscard]] bool MayRun(const Sender& sender) const FRESHET_REQUIRES(mutex_);
  // Whether the sender has a share left of the waiting bytes (core/base/shares.h).
  [[nodiscard]] bool Fits(const std::string& sender, size_t bytes) const FRESHET_REQUIRES(mutex_);
  [[nodiscard]] bool MayAdd(const KeyFile& file, const std::string& sender, Instant now)
      FRESHET_REQUIRES(mutex_);

  const IndexNowConfig& config_;
  Clock& clock_;
  std::atomic<bool> cancelled_{false};
  mutable Mutex mutex_;
  Condition wake_;
  bool stopping_ FRESHET_GUARDED_BY(mutex_) = false;
  // Keys by the URL of the file and the key.
  ExpiringNames good_ FRESHET_GUARDED_BY(mutex_){limits::kMaxIndexNowKeys};
  ExpiringNames bad_ FRESHET_GUARDED_BY(mutex_){limits::kMaxIndexNowKeys};
  absl::flat_hash_map<std::string, Lookup> pending_ FRESHET_GUARDED_BY(mutex_);
  // lookups in pending_ that have not begun
  std::deque<std::string> queue_ FRESHET_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, size_t> of_host_ FRESHET_GUARDED_BY(mutex_);
  // The lookups in pending_ by host and sender.
  absl::flat_hash_map<std::pair<std::string, std::string>, size_t> of_pair_
      FRESHET_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Sender> senders_ FRESHET_GUARDED_BY(mutex_);  // with lookups in
                                                                                 // pending_
  // When each host may be asked again; hosts that may be asked now are left out.
  absl::flat_hash_map<std::string, Instant> host_free_ FRESHET_GUARDED_BY(mutex_);
  int running_ FRESHET_GUARDED_BY(mutex_) = 0;  // lookups under way, of all senders
  uint64_t turns_ FRESHET_GUARDED_BY(mutex_) = 1;
  NamedBudgets lookups_{kLookupsOfSender};    // by sender
  NamedBudgets crowded_{kAsksOfCrowdedHost};  // by host and sender
  LogLimit log_refused_ FRESHET_GUARDED_BY(mutex_);
  KeyStats stats_ FRESHET_GUARDED_BY(mutex_);
  std::array<std::thread, limits::kKeyFetchThreads> threads_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_KEY_BOOK_H_
