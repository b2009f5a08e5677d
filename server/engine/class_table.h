// The crawl ids that compete in a class of their own. They have a share or a maximum of the crawl
// rate, or workers take them alone. Classes are few. An unneeded one goes to another crawl id once
// no shard has a page of it.
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
#include <utility>
#include <vector>

#include "core/base/id_limits.h"
#include "core/base/shares.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/schedule/crawl_terms.h"
#include "sync/mutex.h"

namespace freshet {

// The classes of a worker. They stay those of the crawl ids it named while any copy of `hold`
// exists. Value type, thread-compatible.
struct TakenClasses {
  ClassSet set = kAllClasses;
  std::shared_ptr<const void> hold;  // may outlive the table; ends on any thread
};

// The table. A change of a crawl id's class is staged, told to all shards, and then either Kept or
// Dropped. Thread-compatible.
class ClassTable {
 public:
  // A class that nobody holds may be reused when no worker has named it for this long.
  static constexpr Duration kIdle = Duration::Seconds(60);
  // A class rests this long without pages before workers of another crawl id get it: earlier picks
  // of it are handed out by then.
  static constexpr Duration kRest = Duration::Seconds(2);

  explicit ClassTable(size_t shards) : shards_(shards) {}

  // The class of a crawl id; 0 = none.
  [[nodiscard]] CrawlClass Of(std::string_view crawl_id) const;

  // --- Changes, one at a time
  struct Staged {
    CrawlClass crawl_class = 0;
    bool of_rate = false;
    bool made = false;    // it had no class before
    bool leaves = false;  // it loses its class
  };
  // Stages a change; `of_rate`: the crawl id has a share or a maximum. ResourceExhausted: all
  // classes are taken.
  [[nodiscard]] StatusOr<Staged> Stage(const std::string& crawl_id, bool of_rate);
  // Keeps a change that all shards follow.
  void Keep(const std::string& crawl_id, const Staged& staged);
  // Undoes a change that no shard follows.
  void Drop(const std::string& crawl_id, const Staged& staged);
  // The shard has no page left of the class that the crawl id has lost.
  void OnDeclassed(uint16_t shard, const std::string& crawl_id);

  // --- Workers
  // Gives the crawl id a class for workers that take only its pages. True = the shards are still to
  // be told, by a change. ResourceExhausted: no room for another class of this client.
  [[nodiscard]] StatusOr<bool> GiveToWorkers(const std::string& crawl_id, const Claim& claim,
                                             Instant now);
  // The shards could not be told: the next naming of the crawl id tries again.
  void Untold(const std::string& crawl_id);
  // Takes a crawl id whose class no worker needs from workers, by a change of it, so that this
  // client has room later. nullopt = there is none, or one is already on its way.
  [[nodiscard]] std::optional<std::string> TakeIdle(const Claim& claim, Instant now);
  // Holds the classes of these crawl ids, which have some.
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
    bool told = false;        // shards have the class
    bool asked = false;       // a change that tells them was requested
    bool staying = false;     // a change under way keeps the class
    bool leaving = false;     // shards were told that it is lost
    std::set<uint16_t> left;  // shards without pages of it
    Instant named;            // last time a worker named it
  };
  // The number of holds on the class of each crawl id. Thread-safe.
  struct Holds {
    Mutex mutex;
    std::map<std::string, size_t, std::less<>> by_id FRESHET_GUARDED_BY(mutex);
  };
  // Holds some of them until it is destroyed. Thread-compatible.
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
  // A number that was freed, and the place in `shares_` that rests with it.
  struct Resting {
    CrawlClass number = 0;
    std::optional<Instant> since;    // unset = no request since
    std::optional<uint64_t> client;  // of the place; unset = given back
  };
  using Classes = std::map<std::string, Class, std::less<>>;

  // Takes a free number; nullopt = none. With a time, only a rested one.
  [[nodiscard]] std::optional<CrawlClass> TakeNumber(std::optional<Instant> now);
  // Gives back the places of numbers that have rested; without a time, of all.
  void GiveRested(std::optional<Instant> now);
  void Give(Resting& resting) {
    if (const auto client = std::exchange(resting.client, std::nullopt)) shares_.Give(*client);
  }
  // Makes a class; false = there is none.
  [[nodiscard]] bool Make(const std::string& crawl_id, const Claim& claim,
                          std::optional<Instant> now);
  void Free(Classes::iterator it, bool rests);
  void FreeIfLeft(Classes::iterator it);
  [[nodiscard]] bool IsIdle(const Classes::value_type& entry, const Claim& claim,
                            Instant now) const;

  const size_t shards_;
  Classes classes_;
  Shares shares_{limits::kMaxCrawlClasses - 1};
  CrawlClass next_ = 1;  // never given so far
  std::deque<Resting> resting_;
  const std::shared_ptr<Holds> holds_ = std::make_shared<Holds>();
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_CLASS_TABLE_H_
