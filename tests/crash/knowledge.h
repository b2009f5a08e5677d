// Everything that the clients of the crash test know: what was acknowledged, what is still under
// way, and what a server that comes back may therefore show.
#ifndef FRESHET_TESTS_CRASH_KNOWLEDGE_H_
#define FRESHET_TESTS_CRASH_KNOWLEDGE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "freshet/v1/types.pb.h"
#include "sync/mutex.h"
#include "tests/crash/facts.h"

namespace freshet::crash {

// One page and its twin. Guarded by the Knowledge's mutex.
//
// Invariant: what is under way for a page comes from one sender, so that its order is known.
struct Page {
  std::string url;
  std::string crawl_id;  // canonical
  std::string host;
  bool quiet = false;    // of importance 0 and never rechecked: nobody may get it
  bool retired = false;  // removed for good
  Facts facts;           // by all that is known to have happened
  std::vector<std::shared_ptr<Op>> pending;
  int sender = -1;
};

// Politeness of a host as it must be shown. Value type, thread-compatible.
struct HostFacts {
  int64_t min_delay = 0;
  uint32_t max_in_flight = 0;
  int64_t min_page_interval = 0;
  bool customised = false;
  int64_t blocked_until = 0;  // zero: not blocked
  bool operator==(const HostFacts&) const = default;
};

// Something that is set at run time: its value, and the one that is being set. Value type,
// thread-compatible.
template <typename T>
struct Setting {
  T value{};
  std::optional<T> pending;
  [[nodiscard]] bool Allows(const T& seen) const { return seen == value || seen == pending; }
  void Settle(const T& seen) {
    value = seen;
    pending.reset();
  }
};

// What one message asks for, in its order.
using Sent = std::vector<std::pair<Page*, std::shared_ptr<Op>>>;

// Thread-safe where it says so; else the caller holds `mutex`.
class Knowledge {
 public:
  Knowledge(uint64_t seed, int hosts, int pages);

  Mutex mutex;
  std::mt19937_64 random;
  std::map<std::string, Setting<HostFacts>> hosts;
  // Pages of a host that may be removed, each of which may have a lease still; and of all hosts.
  std::map<std::string, uint32_t> removed_of;
  uint64_t removed = 0;
  Setting<double> rate;
  Setting<std::string> policy;
  Setting<bool> paused;
  std::set<std::string> sources;  // acknowledged
  bool stopping = false;          // the server has been asked to stop
  uint64_t acknowledged = 0;      // items
  uint64_t batches = 0;           // messages, counted to tell their order

  // Records the first failure. Thread-safe.
  void Fail(const std::string& what);
  [[nodiscard]] std::string failure();

  // In [0, n).
  [[nodiscard]] uint64_t Below(uint64_t n) { return random() % n; }
  [[nodiscard]] bool Chance(int percent) { return Below(100) < static_cast<uint64_t>(percent); }
  // A random page that `sender` may ask something about now, of that kind; nullptr: none found.
  enum class Want { kAny, kKnown, kQuiet, kLive, kHeld };
  [[nodiscard]] Page* Pick(int sender, Want want);
  // The operation is about to be sent.
  void Send(Page* page, int sender, std::shared_ptr<Op> op, Sent* sent);
  // A message has been answered.
  void Acknowledge(const Sent& sent, const v1::BatchAck& ack);
  // A worker has been given a page; nullptr if that must not be, which is recorded.
  [[nodiscard]] Page* OnAssignment(const v1::Assignment& assignment, const std::string& worker);

  // Compares with what a server shows that has just started, and takes over what cannot be known
  // otherwise. It was read between these instants; `one_shard` holds for the server before.
  void Compare(const std::map<std::string, v1::Page>& seen, int64_t before, int64_t after,
               bool one_shard);
  [[nodiscard]] static std::string KeyOf(const std::string& crawl_id, const std::string& url) {
    return crawl_id + " " + url;
  }

 private:
  struct Reading {
    const std::map<std::string, v1::Page>& seen;
    int64_t before;
    int64_t after;
  };
  struct Settled {
    Page* page;
    Facts facts;
  };

  void AddPage(const std::string& host, bool quiet);
  // Takes note that operations up to that place have happened.
  void Settle(Page* page, size_t count);
  void CompareGroup(const std::vector<Page*>& pages, const Reading& reading);
  // Whether the page looks as if all of its operations up to the batch `cut` had happened, and no
  // later one; tells how not.
  [[nodiscard]] std::string Fits(Page* page, uint64_t cut, const Reading& reading,
                                 std::vector<Settled>* settled) const;
  [[nodiscard]] std::string LeaseDifference(const Page& page, const Facts& facts,
                                            const v1::Page* seen, const Reading& reading) const;
  void TakeOver(const Settled& settled, const Reading& reading);

  std::vector<std::unique_ptr<Page>> pages_;
  std::map<std::string, Page*> by_key_;
  std::unordered_set<uint64_t> lease_ids_;
  uint64_t added_ = 0;
  Mutex failure_mutex_;
  std::string failure_;
};

}  // namespace freshet::crash

#endif  // FRESHET_TESTS_CRASH_KNOWLEDGE_H_
