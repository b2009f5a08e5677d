// The known keys of hosts, and the threads that look up unknown ones.
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

// A table of names with values. Each entry expires at a time that is set for it. Clients share the
// places (core/base/shares.h). If a client has no share left, a new name replaces the client's
// oldest one, or the oldest of all if the client has none. Stores only a digest of each name,
// because names can be as long as a URL. Thread-compatible.
class ExpiringNames {
 public:
  // The maximum size of a value in bytes. Longer values are cut off.
  static constexpr size_t kMostValueBytes = 200;

  explicit ExpiringNames(size_t most) : shares_(most) {}
  // Adds the name or replaces its value. `client`: see ClientNumber.
  void Put(const std::string& name, std::string value, uint64_t client, Instant until, Instant now);
  // nullptr = the name is unknown or has expired. Valid until the next call.
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
  absl::btree_set<std::pair<uint64_t, uint64_t>> of_client_;  // pairs of client and serial
};

// Counts of lookups since the start, and the bytes of pings that wait now. Value type,
// thread-compatible.
struct KeyStats {
  uint64_t good = 0;
  uint64_t bad = 0;
  uint64_t unreachable = 0;
  size_t pending_bytes = 0;
};

// Looks up keys, and remembers the results in memory: good and bad keys for
// IndexNowConfig::key_lifetime, unreachable hosts for retry_interval. Asks each host at most once a
// second. Anybody can send false keys, so senders take turns and have limits. Each sender has a
// share of the waiting keys of a host (limits::kMaxIndexNowKeysOfHost), of all waiting keys, and of
// the bytes of waiting pings. Each sender also has a share of the remembered keys, a number of
// lookups per second, and limits::kKeyFetchesOfSender threads. Thread-safe.
class KeyBook {
 public:
  // The state of a key.
  enum class Standing {
    kGood,
    kBad,
    kPending,  // the key is being looked up
    kBusy,     // too many lookups are waiting
  };
  struct Answer {
    Standing standing = Standing::kBusy;
    std::string why;  // reason for kBad
  };
  // The callback of a ping that waits for a key. Called on a thread of the book.
  using Waiter = std::function<void(bool good)>;
  // The maximum numbers of keys that may wait for a lookup: the keys of one host, from all senders,
  // and the keys from one sender.
  static constexpr size_t kMostOfHost = 8 * limits::kMaxIndexNowKeysOfHost;
  static constexpr size_t kMostOfSender = limits::kMaxIndexNowPendingKeys / 8;
  // The lookups per second that one sender may cause.
  static constexpr double kLookupsOfSender = 10;
  // While at least half of a host's places for waiting keys are taken, each sender may request one
  // of them only this often per second. The answer to a refused sender says to try again after the
  // interval.
  static constexpr double kAsksOfCrowdedHost = 0.1;

  // `config` and `clock` must outlive this object.
  KeyBook(const IndexNowConfig& config, Clock& clock);
  ~KeyBook() { Stop(); }
  KeyBook(const KeyBook&) = delete;
  KeyBook& operator=(const KeyBook&) = delete;

  // Checks a key. If the result is kPending, `waiter` is called once later, unless the book is
  // stopped before. `sender`: the client whose shares and limits apply. `bytes`: the memory that
  // the waiting ping takes.
  [[nodiscard]] Answer Check(const KeyFile& file, const std::string& key, const std::string& sender,
                             size_t bytes, Waiter waiter) FRESHET_EXCLUDES(mutex_);
  // Drops all waiters that were not called. Waits until running waiters and lookups have ended.
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
    std::string sender;  // the sender that asked first
    std::vector<Ping> waiting;
  };
  struct Sender {
    size_t pending = 0;
    size_t bytes = 0;        // bytes of its waiting pings
    int running = 0;         // its lookups under way
    uint64_t last_turn = 0;  // value of turns_ at the sender's last turn, see SenderOf
  };
  void Run() FRESHET_EXCLUDES(mutex_);
  // Removes the lookup whose sender is next from queue_, and returns its name; unset = no lookup
  // can begin now. `wait` is then the time until one can begin, or infinite.
  [[nodiscard]] std::optional<std::string> NextInTurn(Duration* wait) FRESHET_REQUIRES(mutex_);
  // Removes a finished lookup from pending_ and from all counts.
  [[nodiscard]] Lookup Finished(const std::string& name) FRESHET_REQUIRES(mutex_);
  // Returns the sender's entry. Adds one if the sender is new.
  [[nodiscard]] Sender& SenderOf(const std::string& sender) FRESHET_REQUIRES(mutex_);
  // Removes the entry of a sender that has nothing pending.
  void Leave(const std::string& sender) FRESHET_REQUIRES(mutex_);
  void LogRefusal(const KeyFile& file, const std::string& why) FRESHET_REQUIRES(mutex_);
  void Remember(const std::string& name, const std::string& sender, const KeyFetch& fetch)
      FRESHET_REQUIRES(mutex_);
  // Returns true if one more thread may look up a key for the sender. The last quarter of the
  // threads is for senders that have no lookup under way.
  [[nodiscard]] bool MayRun(const Sender& sender) const FRESHET_REQUIRES(mutex_);
  // Returns true if the sender's share of the waiting bytes has room for the ping
  // (core/base/shares.h).
  [[nodiscard]] bool Fits(const std::string& sender, size_t bytes) const FRESHET_REQUIRES(mutex_);
  [[nodiscard]] bool MayAdd(const KeyFile& file, const std::string& sender, Instant now)
      FRESHET_REQUIRES(mutex_);

  const IndexNowConfig& config_;
  Clock& clock_;
  std::atomic<bool> cancelled_{false};
  mutable Mutex mutex_;
  Condition wake_;
  bool stopping_ FRESHET_GUARDED_BY(mutex_) = false;
  // Good and bad keys. The name is the URL of the key file and the key.
  ExpiringNames good_ FRESHET_GUARDED_BY(mutex_){limits::kMaxIndexNowKeys};
  ExpiringNames bad_ FRESHET_GUARDED_BY(mutex_){limits::kMaxIndexNowKeys};
  absl::flat_hash_map<std::string, Lookup> pending_ FRESHET_GUARDED_BY(mutex_);
  // The names of the lookups in pending_ that have not begun.
  std::deque<std::string> queue_ FRESHET_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, size_t> of_host_ FRESHET_GUARDED_BY(mutex_);
  // The number of lookups in pending_ by host and sender.
  absl::flat_hash_map<std::pair<std::string, std::string>, size_t> of_pair_
      FRESHET_GUARDED_BY(mutex_);
  // Senders with pending lookups or waiting pings.
  absl::flat_hash_map<std::string, Sender> senders_ FRESHET_GUARDED_BY(mutex_);
  // When each host may be asked again. Hosts that may be asked now are left out.
  absl::flat_hash_map<std::string, Instant> host_free_ FRESHET_GUARDED_BY(mutex_);
  int running_ FRESHET_GUARDED_BY(mutex_) = 0;  // all lookups under way
  uint64_t turns_ FRESHET_GUARDED_BY(mutex_) = 1;
  NamedBudgets lookups_{kLookupsOfSender};    // by sender
  NamedBudgets crowded_{kAsksOfCrowdedHost};  // by host and sender
  LogLimit log_refused_ FRESHET_GUARDED_BY(mutex_);
  KeyStats stats_ FRESHET_GUARDED_BY(mutex_);
  std::array<std::thread, limits::kKeyFetchThreads> threads_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_KEY_BOOK_H_
