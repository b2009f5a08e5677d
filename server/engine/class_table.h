// The crawl ids that have a class. Pages of one class compete separately from others. A crawl id
// needs a class if it has a share or a maximum of the crawl rate, or if some workers take only its
// pages. There are few classes, so a class that is no longer needed is reused for another crawl id
// once no shard has a page of it.
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

// The classes of the crawl ids that a worker has named. These crawl ids keep their classes while
// any copy of `hold` exists. Value type, thread-compatible.
struct TakenClasses {
  ClassSet set = kAllClasses;
  std::shared_ptr<const void> hold;  // may outlive the table, and may be destroyed on any thread
};

// The table. A change of a crawl id's class is staged, sent to all shards, and then completed by
// Keep or undone by Drop. Thread-compatible.
class ClassTable {
 public:
  // A class that no worker holds may be reused if no worker has named its crawl id for this long.
  static constexpr Duration kIdle = Duration::Seconds(60);
  // A freed class rests this long before workers of another crawl id get it. By then all earlier
  // picks of the class are handed out.
  static constexpr Duration kRest = Duration::Seconds(2);

  explicit ClassTable(size_t shards) : shards_(shards) {}

  // The class of a crawl id; 0 = none.
  [[nodiscard]] CrawlClass Of(std::string_view crawl_id) const;

  // --- Changes, one at a time
  struct Staged {
    CrawlClass crawl_class = 0;
    bool of_rate = false;
    bool made = false;    // the crawl id had no class before
    bool leaves = false;  // the crawl id loses its class
  };
  // Stages a change. `of_rate`: the crawl id now has a share or a maximum. ResourceExhausted: all
  // classes are taken.
  [[nodiscard]] StatusOr<Staged> Stage(const std::string& crawl_id, bool of_rate);
  // Completes a staged change that all shards have applied.
  void Keep(const std::string& crawl_id, const Staged& staged);
  // Undoes a staged change that no shard has applied.
  void Drop(const std::string& crawl_id, const Staged& staged);
  // Notes that the shard has no page left of the class that the crawl id has lost.
  void OnDeclassed(uint16_t shard, const std::string& crawl_id);

  // --- Workers
  // Gives the crawl id a class for workers that take only its pages. Returns true if the caller
  // must now tell the shards by a change. ResourceExhausted: there is no room for another class of
  // this client.
  [[nodiscard]] StatusOr<bool> GiveToWorkers(const std::string& crawl_id, const Claim& claim,
                                             Instant now);
  // Notes that the shards could not be told about the class. The next worker that names the crawl
  // id triggers another attempt.
  void Untold(const std::string& crawl_id);
  // Chooses a crawl id whose class no worker needs any more, and marks its class as not needed. The
  // caller must then make a change of the crawl id, which frees the class for this client later.
  // nullopt = no change is needed: there is no idle class, one is already being freed, or the
  // shards did not know the idle class, which was therefore freed at once.
  [[nodiscard]] std::optional<std::string> TakeIdle(const Claim& claim, Instant now);
  // Holds the classes of these crawl ids. Precondition: each of them has a class.
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
    bool told = false;        // the shards know the class
    bool asked = false;       // a change that tells the shards was requested
    bool staying = false;     // a change under way needs the class
    bool leaving = false;     // the last change takes the class away
    std::set<uint16_t> left;  // shards without pages of the class
    Instant named;            // the last time that a worker named the crawl id
  };
  // The number of holds on the class of each crawl id. Thread-safe.
  struct Holds {
    Mutex mutex;
    std::map<std::string, size_t, std::less<>> by_id FRESHET_GUARDED_BY(mutex);
  };
  // Holds the classes of some crawl ids until it is destroyed. Thread-compatible.
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
  // A class number that was freed, and the client whose place in `shares_` the number still takes.
  struct Resting {
    CrawlClass number = 0;
    std::optional<Instant> since;    // when the rest began; unset = not yet
    std::optional<uint64_t> client;  // the client; unset = the place was freed
  };
  using Classes = std::map<std::string, Class, std::less<>>;

  // Takes a free number; nullopt = none. If `now` is set, takes only a number that was never used,
  // or one whose rest has ended.
  [[nodiscard]] std::optional<CrawlClass> TakeNumber(std::optional<Instant> now);
  // Frees the places of numbers that have rested, or of all freed numbers if `now` is unset.
  void GiveRested(std::optional<Instant> now);
  void Give(Resting& resting) {
    if (const auto client = std::exchange(resting.client, std::nullopt)) shares_.Give(*client);
  }
  // Makes a class for the crawl id; false = no class is free.
  [[nodiscard]] bool Make(const std::string& crawl_id, const Claim& claim,
                          std::optional<Instant> now);
  void Free(Classes::iterator it, bool rests);
  void FreeIfLeft(Classes::iterator it);
  [[nodiscard]] bool IsIdle(const Classes::value_type& entry, const Claim& claim,
                            Instant now) const;

  const size_t shards_;
  Classes classes_;
  Shares shares_{limits::kMaxCrawlClasses - 1};
  CrawlClass next_ = 1;  // the lowest number that was never assigned
  std::deque<Resting> resting_;
  const std::shared_ptr<Holds> holds_ = std::make_shared<Holds>();
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_CLASS_TABLE_H_
