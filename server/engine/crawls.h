// The settings of crawl ids. Changes are made one after the other: each is stored first, and then
// applied by all shards. Also handles the end of deletions of crawl ids.
#ifndef FRESHET_SERVER_ENGINE_CRAWLS_H_
#define FRESHET_SERVER_ENGINE_CRAWLS_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/model/crawl.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/event.h"
#include "server/engine/class_table.h"
#include "server/engine/frontier_modes.h"
#include "server/engine/tick_shares.h"
#include "sync/mutex.h"

namespace freshet {

// The settings. Thread-safe. Must outlive every change under way.
class Crawls {
 public:
  // Sends the event to the shard, and calls `done` once with the reply, possibly before Tell
  // returns.
  using Tell = std::function<void(size_t shard, Event event, std::function<void(Reply)> done)>;
  using Change = std::function<Status(CrawlRecord*)>;
  using Done = std::function<void(const Status&, const CrawlRecord&)>;

  // `stored`: the records in the store. `shards`: the number of shards. `usual`: configured modes,
  // for crawl ids whose record has no mode.
  Crawls(const std::vector<CrawlRecord>& stored, size_t shards, FrontierModeTable usual = {});

  // Sets the function that sends events to shards, and the listener that gets the terms of classes
  // after each change. Must be called once, before any change. Calls `on_terms` at once if there
  // are any terms.
  void Start(Tell tell, std::function<void(std::vector<ClassTerms>)> on_terms)
      FRESHET_EXCLUDES(mutex_);
  // The terms that every shard must load by ShardLoading::LoadCrawl.
  [[nodiscard]] std::vector<CrawlTerms> Terms() const FRESHET_EXCLUDES(mutex_);

  // Applies `change` to the settings of the crawl id, after all earlier changes. Stores the result,
  // has all shards apply it, and then calls `done` with the record. A change that `change`, this
  // object or the store refuses has no effect. ResourceExhausted: all classes are taken, or too
  // many crawl ids are in the frontier mode that the change sets. InvalidArgument: the shares sum
  // to more than 1.
  void Set(const std::string& crawl_id, Change change, Done done) FRESHET_EXCLUDES(mutex_);
  // Returns the classes of these canonical crawl ids, for a worker of this client that takes only
  // their pages. A crawl id without a class gets one. The pages of the crawl id then move to the
  // class a few thousand at a time, and the worker can get a page only after the page has moved.
  // The worker must keep the hold while it is connected, because classes without a hold can be
  // reused (ClassTable). ResourceExhausted: no class is free now.
  [[nodiscard]] StatusOr<TakenClasses> ClassesOf(const std::vector<std::string>& crawl_ids,
                                                 const Claim& claim, Instant now)
      FRESHET_EXCLUDES(mutex_);
  // Notes that the shard has no page left of this crawl id, which is being deleted. Once all shards
  // have reported this, the record is removed.
  void OnEmptied(uint16_t shard, const std::string& crawl_id) FRESHET_EXCLUDES(mutex_);

  // Notes that the shard has no page left of the class that this crawl id has lost.
  void OnDeclassed(uint16_t shard, const std::string& crawl_id) FRESHET_EXCLUDES(mutex_);

  // Returns the record; blank if nothing is set for the crawl id.
  [[nodiscard]] CrawlRecord Find(const std::string& crawl_id) const FRESHET_EXCLUDES(mutex_);
  // All records, ordered by crawl id.
  [[nodiscard]] std::vector<CrawlRecord> All() const FRESHET_EXCLUDES(mutex_);
  // The modes that are in force on all shards. Never nullptr.
  [[nodiscard]] std::shared_ptr<const FrontierModes> modes() const FRESHET_EXCLUDES(mutex_);
  // The mode of the crawl id: the record's, else the configured one, else kDates.
  [[nodiscard]] FrontierMode ModeOf(const CrawlRecord& record) const;
  // Returns true if any crawl id has a share or a maximum of the crawl rate.
  [[nodiscard]] bool any_of_rate() const FRESHET_EXCLUDES(mutex_);

 private:
  struct Known {
    CrawlRecord record;
    std::shared_ptr<Quota> quota;
  };
  struct Pending {
    std::string crawl_id;
    Change change;
    Done done;
    bool store = true;  // false = only the class changes
  };
  // A change that is being stored.
  struct Staged {
    CrawlTerms terms;
    ClassTable::Staged its_class;
    Done done;
    bool store = true;
  };

  // Starts the first pending change that is not refused. Before that, answers the refused changes
  // that precede it.
  void StoreFirst() FRESHET_EXCLUDES(mutex_);
  // Stages the first pending change. Not OK: the change is refused.
  [[nodiscard]] Status StageFirst(Staged* staged) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Status Stage(const Pending& pending, Staged* staged) FRESHET_REQUIRES(mutex_);
  void Enqueue(Pending pending) FRESHET_EXCLUDES(mutex_);
  // Has the shards apply the present class of this crawl id.
  void Reclass(const std::string& crawl_id) FRESHET_EXCLUDES(mutex_);
  void OnStored(const std::shared_ptr<Staged>& staged, const Reply& reply) FRESHET_EXCLUDES(mutex_);
  void TellOthers(const std::shared_ptr<Staged>& staged);
  void Finish(const Staged& staged, const Status& status) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] static Event EventOf(const Staged& staged, bool store);
  [[nodiscard]] std::vector<ClassTerms> TermsOfClasses() const FRESHET_REQUIRES(mutex_);

  // The modes of all crawl ids except `but`.
  [[nodiscard]] FrontierModeTable TableOfModes(std::string_view but = {}) const
      FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Status AdmitMode(const CrawlRecord& record) const FRESHET_REQUIRES(mutex_);

  const size_t shards_;
  const FrontierModeTable usual_;
  Tell tell_;                                              // set once, by Start
  std::function<void(std::vector<ClassTerms>)> on_terms_;  // set once, by Start
  mutable Mutex mutex_;
  std::map<std::string, Known, std::less<>> by_id_ FRESHET_GUARDED_BY(mutex_);
  ClassTable classes_ FRESHET_GUARDED_BY(mutex_);
  std::shared_ptr<const FrontierModes> modes_ FRESHET_GUARDED_BY(mutex_);
  std::deque<Pending> pending_ FRESHET_GUARDED_BY(mutex_);
  bool storing_ FRESHET_GUARDED_BY(mutex_) = false;  // a change is under way
  std::map<std::string, std::set<uint16_t>> emptied_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_CRAWLS_H_
