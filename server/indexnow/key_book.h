// Which keys hosts have put up, as far as it was looked, and the few threads that look.
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

#include "absl/container/flat_hash_map.h"
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

// Names that hold until a time of their own; at the cap the oldest goes. Keeps a digest of each
// name, which may be as long as a URL. Thread-compatible.
class ExpiringNames {
 public:
  // A longer value is cut to so many bytes.
  static constexpr size_t kMostValueBytes = 200;

  explicit ExpiringNames(size_t most) : most_(most) {}
  void Put(const std::string& name, std::string value, Instant until);
  // nullptr: it is not there, or not any longer. Valid until the next call.
  [[nodiscard]] const std::string* Find(const std::string& name, Instant now) const;
  void Erase(const std::string& name) { by_name_.erase(DigestOf(name)); }
  [[nodiscard]] size_t size() const { return by_name_.size(); }

 private:
  struct Entry {
    std::string value;
    Instant until;
    uint64_t serial = 0;
  };
  const size_t most_;
  uint64_t next_ = 0;
  absl::flat_hash_map<TokenDigest, Entry> by_name_;
  // As they came; those of which the serial is another were put again later.
  std::deque<std::pair<uint64_t, TokenDigest>> order_;
};

// Value type, thread-compatible. Since the start, but for what is pending.
struct KeyStats {
  uint64_t good = 0;
  uint64_t bad = 0;
  uint64_t unreachable = 0;
  size_t pending_bytes = 0;
};

// Remembers good and bad keys for IndexNowConfig::key_lifetime, hosts that could not be reached for
// retry_interval, in memory. A host is asked at most once a second. Anybody may send keys that
// nobody has, so senders take turns: each has a share of what may wait, in keys of one host
// (limits::kMaxIndexNowKeysOfHost), in keys and in bytes of all, some lookups a second, and half of
// the threads. Thread-safe.
class KeyBook {
 public:
  // How a key stands.
  enum class Standing {
    kGood,
    kBad,
    kPending,  // is being looked up
    kBusy,     // too much is being looked up
  };
  struct Answer {
    Standing standing = Standing::kBusy;
    std::string why;  // of kBad
  };
  // What waits for a key: told whether it is good, on a thread of the book.
  using Waiter = std::function<void(bool good)>;
  // Keys that wait to be looked up: of one host, of all senders; and of one sender.
  static constexpr size_t kMostOfHost = 8 * limits::kMaxIndexNowKeysOfHost;
  static constexpr size_t kMostOfSender = limits::kMaxIndexNowPendingKeys / 8;
  // Lookups that one sender may cause a second.
  static constexpr double kLookupsOfSender = 10;
  // How often a second a sender may ask for a place of a host half of whose places are taken. Those
  // that are refused are told to come again after as long.
  static constexpr double kAsksOfCrowdedHost = 0.1;

  // Both outlive this.
  KeyBook(const IndexNowConfig& config, Clock& clock);
  ~KeyBook() { Stop(); }
  KeyBook(const KeyBook&) = delete;
  KeyBook& operator=(const KeyBook&) = delete;

  // `sender`: whoever is to have one share. kPending: `waiter`, which takes `bytes`, is called
  // once, unless the book is stopped before.
  [[nodiscard]] Answer Check(const KeyFile& file, const std::string& key, const std::string& sender,
                             size_t bytes, Waiter waiter) FRESHET_EXCLUDES(mutex_);
  // Waiters that were not called are dropped. Waits for those that are being called, and for name
  // lookups under way. Idempotent.
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
    std::string sender;  // who asked first
    std::vector<Ping> waiting;
  };
  struct Sender {
    size_t pending = 0;
    size_t bytes = 0;        // of pings that wait
    int running = 0;         // of these
    uint64_t last_turn = 0;  // counts all turns
  };
  void Run() FRESHET_EXCLUDES(mutex_);
  // The lookup whose turn it is, out of queue_; none: not now, or not before *wait is over.
  [[nodiscard]] std::optional<std::string> NextInTurn(Duration* wait) FRESHET_REQUIRES(mutex_);
  // Takes the lookup out of all counts.
  [[nodiscard]] Lookup Finished(const std::string& name) FRESHET_REQUIRES(mutex_);
  // Forgets a sender that has nothing.
  void Leave(const std::string& sender) FRESHET_REQUIRES(mutex_);
  void LogRefusal(const KeyFile& file, const std::string& why) FRESHET_REQUIRES(mutex_);
  void Remember(const std::string& name, const KeyFetch& fetch) FRESHET_REQUIRES(mutex_);
  // Whether the sender has a share left of the bytes that wait (core/base/shares.h).
  [[nodiscard]] bool Fits(const std::string& sender, size_t bytes) const FRESHET_REQUIRES(mutex_);
  [[nodiscard]] bool MayAdd(const KeyFile& file, const std::string& sender, Instant now)
      FRESHET_REQUIRES(mutex_);

  const IndexNowConfig& config_;
  Clock& clock_;
  std::atomic<bool> cancelled_{false};
  mutable Mutex mutex_;
  Condition wake_;
  bool stopping_ FRESHET_GUARDED_BY(mutex_) = false;
  // By the URL of the file and the key.
  ExpiringNames good_ FRESHET_GUARDED_BY(mutex_){limits::kMaxIndexNowKeys};
  ExpiringNames bad_ FRESHET_GUARDED_BY(mutex_){limits::kMaxIndexNowKeys};
  absl::flat_hash_map<std::string, Lookup> pending_ FRESHET_GUARDED_BY(mutex_);
  std::deque<std::string> queue_ FRESHET_GUARDED_BY(mutex_);  // of pending_, not begun
  absl::flat_hash_map<std::string, size_t> of_host_ FRESHET_GUARDED_BY(mutex_);
  // Those of pending_ that a sender has of a host.
  absl::flat_hash_map<std::pair<std::string, std::string>, size_t> of_pair_
      FRESHET_GUARDED_BY(mutex_);
  absl::flat_hash_map<std::string, Sender> senders_ FRESHET_GUARDED_BY(mutex_);  // of pending_
  // When each may be asked again; those that may are left out.
  absl::flat_hash_map<std::string, Instant> host_free_ FRESHET_GUARDED_BY(mutex_);
  uint64_t turns_ FRESHET_GUARDED_BY(mutex_) = 0;
  NamedBudgets lookups_{kLookupsOfSender};    // by sender
  NamedBudgets crowded_{kAsksOfCrowdedHost};  // by host and sender
  LogLimit log_refused_ FRESHET_GUARDED_BY(mutex_);
  KeyStats stats_ FRESHET_GUARDED_BY(mutex_);
  std::array<std::thread, limits::kKeyFetchThreads> threads_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_INDEXNOW_KEY_BOOK_H_
