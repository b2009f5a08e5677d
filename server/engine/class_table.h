// Which crawl ids compete in a class of their own: those with a share or a maximum of the crawl
// rate, and those that workers take alone. There are few classes, so one that nobody needs is given
// to another crawl id, once no shard has a page of it.
#ifndef FRESHET_SERVER_ENGINE_CLASS_TABLE_H_
#define FRESHET_SERVER_ENGINE_CLASS_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/id_limits.h"
#include "core/base/shares.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/schedule/crawl_terms.h"
#include "sync/mutex.h"

namespace freshet {

// What workers are given: pages of these classes, which stay those of the crawl ids that they named
// for as long as any copy of `hold` is there. Value type, thread-compatible.
struct TakenClasses {
  ClassSet set = kAllClasses;
  std::shared_ptr<const void> hold;  // may outlive the table, and go on any thread
};

// Thread-compatible. A change of what a crawl id has is staged, told to all shards, and then either
// Kept or Dropped.
class ClassTable {
 public:
  // Without being named by a worker for so long, a class that none holds may go to anybody.
  static constexpr Duration kIdle = Duration::Seconds(60);
  // So long after no page is of it any more a class goes to workers of another crawl id: what was
  // picked of it before is out by then.
  static constexpr Duration kRest = Duration::Seconds(2);

  explicit ClassTable(size_t shards) : shards_(shards) {}

  // 0: it has none.
  [[nodiscard]] CrawlClass Of(std::string_view crawl_id) const;

  // --- Changes, one at a time
  struct Staged {
    CrawlClass crawl_class = 0;
    bool of_rate = false;
    bool made = false;    // it had none
    bool leaves = false;  // it had one, and has none from now on
  };
  // `of_rate`: it has a share or a maximum. ResourceExhausted: all classes are taken.
  [[nodiscard]] StatusOr<Staged> Stage(const std::string& crawl_id, bool of_rate);
  // All shards follow.
  void Keep(const std::string& crawl_id, const Staged& staged);
  // None does: what was staged leaves no trace.
  void Drop(const std::string& crawl_id, const Staged& staged);
  // A shard has no page of the class any more that the crawl id has lost.
  void OnDeclassed(uint16_t shard, const std::string& crawl_id);

  // --- Workers
  // The crawl id has a class for workers that take its pages alone. True: the shards are still to
  // be told, by a change. ResourceExhausted: there is no room for one of this client.
  [[nodiscard]] StatusOr<bool> GiveToWorkers(const std::string& crawl_id, const Claim& claim,
                                             Instant now);
  // The shards could not be told: whoever names it next has it tried again.
  void Untold(const std::string& crawl_id);
  // A crawl id whose class no worker needs, taken from workers so that one of this client has room
  // some time later: by a change of it. nullopt: there is none, or one is on its way already.
  [[nodiscard]] std::optional<std::string> TakeIdle(const Claim& claim, Instant now);
  // Of these crawl ids, which have classes.
  template <typename Names>
  [[nodiscard]] TakenClasses Hold(const Names& crawl_ids) {
    ClassSet set = 0;
    const auto held = std::make_shared<Held>(holds_);
    for (const std::string& crawl_id : crawl_ids) {
      set |= SetOf(Of(crawl_id));
      held->Add(crawl_id);
    }
    return {.set = set, .hold = held};
  }

 private:
  struct Class {
    CrawlClass number = 0;
    Claim claim;
    bool of_rate = false;
    bool of_workers = false;
    bool told = false;        // shards have it
    bool asked = false;       // a change that tells them was asked for
    bool staying = false;     // a change is under way by which it is kept
    bool leaving = false;     // shards were told that it is lost
    std::set<uint16_t> left;  // and these have no page of it any more
    Instant named;            // by a worker, last
  };
  // How many hold the class of a crawl id. Thread-safe.
  struct Holds {
    Mutex mutex;
    std::map<std::string, size_t, std::less<>> by_id FRESHET_GUARDED_BY(mutex);
  };
  // Some of them, until it is destroyed. Thread-compatible.
  class Held {
   public:
    explicit Held(std::shared_ptr<Holds> holds) : holds_(std::move(holds)) {}
    ~Held();
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    void Add(const std::string& crawl_id);

   private:
    const std::shared_ptr<Holds> holds_;
    std::vector<std::string> crawl_ids_;
  };
  struct Resting {
    CrawlClass number = 0;
    std::optional<Instant> since;  // unset: nobody has asked since
  };
  using Classes = std::map<std::string, Class, std::less<>>;

  // nullopt: there is no number. With a time, none that has not rested.
  [[nodiscard]] std::optional<CrawlClass> TakeNumber(std::optional<Instant> now);
  // False: there is none.
  [[nodiscard]] bool Make(const std::string& crawl_id, const Claim& claim,
                          std::optional<Instant> now);
  void Free(Classes::iterator it, bool rests);
  void FreeIfLeft(Classes::iterator it);
  [[nodiscard]] bool IsIdle(const Classes::value_type& entry, const Claim& claim,
                            Instant now) const;

  const size_t shards_;
  Classes classes_;
  Shares shares_{limits::kMaxCrawlClasses - 1};
  CrawlClass next_ = 1;  // was never given
  std::deque<Resting> resting_;
  const std::shared_ptr<Holds> holds_ = std::make_shared<Holds>();
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_CLASS_TABLE_H_
