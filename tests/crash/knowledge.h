// The common knowledge of all clients of the crash test: which items were acknowledged, and which
// are in flight. It determines what a restarted server may show.
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

// The knowledge that the clients have of one page. Guarded by the Knowledge's mutex.
//
// Invariant: all operations of a page that are in flight come from one sender, so their order is
// known.
struct Page {
  std::string url;
  std::string crawl_id;  // canonical
  std::string host;
  bool quiet = false;    // importance 0 and never rechecked, so it is never leased
  bool retired = false;  // removed for good
  Facts facts;           // after all operations that surely happened
  std::vector<std::shared_ptr<Op>> pending;
  int sender = -1;
};

// The politeness that the server must show for a host. Value type, thread-compatible.
struct HostFacts {
  int64_t min_delay = 0;
  uint32_t max_in_flight = 0;
  int64_t min_page_interval = 0;
  bool customised = false;
  int64_t blocked_until = 0;  // 0 = not blocked
  bool operator==(const HostFacts&) const = default;
};

// A setting: its value, and the value that is being set. Value type, thread-compatible.
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

// The operations of one message, in its order.
using Sent = std::vector<std::pair<Page*, std::shared_ptr<Op>>>;

// What all clients of the crash test know together. The caller must hold `mutex`, unless a function
// is marked thread-safe.
class Knowledge {
 public:
  Knowledge(uint64_t seed, int hosts, int pages);

  Mutex mutex;
  std::mt19937_64 random;
  std::map<std::string, Setting<HostFacts>> hosts;
  // The number of removed pages, by host and in total. Each might still have a lease.
  std::map<std::string, uint32_t> removed_of;
  uint64_t removed = 0;
  Setting<double> rate;
  Setting<std::string> policy;
  Setting<bool> paused;
  std::set<std::string> sources;  // acknowledged sources
  bool stopping = false;          // whether the server was asked to stop
  uint64_t acknowledged = 0;      // number of items
  uint64_t batches = 0;  // number of the latest message; later messages have higher numbers

  // Records the first failure. Thread-safe.
  void Fail(const std::string& what);
  [[nodiscard]] std::string failure();

  // Returns a random number in [0, n).
  [[nodiscard]] uint64_t Below(uint64_t n) { return random() % n; }
  [[nodiscard]] bool Chance(int percent) { return Below(100) < static_cast<uint64_t>(percent); }
  // Returns a random page of this kind that `sender` may use now; nullptr = none was found.
  enum class Want { kAny, kKnown, kQuiet, kLive, kHeld };
  [[nodiscard]] Page* Pick(int sender, Want want);
  // Records that an operation is about to be sent.
  void Send(Page* page, int sender, std::shared_ptr<Op> op, Sent* sent);
  // Records the answer to a message.
  void Acknowledge(const Sent& sent, const v1::BatchAck& ack);
  // Records an assignment and returns its page. Returns nullptr if the assignment is ignored or
  // wrong. A wrong assignment is recorded as a failure.
  [[nodiscard]] Page* OnAssignment(const v1::Assignment& assignment, const std::string& worker);

  // Compares the expected pages with those of a restarted server, `seen`, and adopts what only the
  // server can know. The pages were read between `before` and `after`. `one_shard`: whether the
  // server before the restart had one shard.
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
  // Records that the first `count` pending operations have happened.
  void Settle(Page* page, size_t count);
  void CompareGroup(const std::vector<Page*>& pages, const Reading& reading);
  // Returns "" if the page looks as if all of its operations up to the batch `cut` had happened,
  // and no later one. Otherwise returns the difference.
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
