// The settings of crawl ids: changed one after the other, stored first, and then told to all
// shards. Also deletions of crawl ids, from the call to the last shard.
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

// The settings. Thread-safe. Outlives every change under way.
class Crawls {
 public:
  // Has the shard step the event, and calls `done` with the reply, once and maybe before it
  // returns.
  using Tell = std::function<void(size_t shard, Event event, std::function<void(Reply)> done)>;
  using Change = std::function<Status(CrawlRecord*)>;
  using Done = std::function<void(const Status&, const CrawlRecord&)>;

  // `stored`: the records in the store. `shards`: their number. `usual`: modes of crawl ids without
  // a mode of their own.
  Crawls(const std::vector<CrawlRecord>& stored, size_t shards, FrontierModeTable usual = {});

  // Sets, before any change, how shards are told, and who is told the terms of classes from now on.
  // Calls `on_terms` at once if there are any terms.
  void Start(Tell tell, std::function<void(std::vector<ClassTerms>)> on_terms)
      FRESHET_EXCLUDES(mutex_);
  // The terms for ShardLoading::LoadCrawl of every shard.
  [[nodiscard]] std::vector<CrawlTerms> Terms() const FRESHET_EXCLUDES(mutex_);

  // Applies `change` to the settings of the crawl id, after all earlier changes. Has the result
  // stored and followed by all shards, then calls `done` with the present record. A change that
  // `change`, this or the store refuses leaves no trace. ResourceExhausted: all classes are taken,
  // or too many crawl ids are in that frontier mode. InvalidArgument: the shares sum to more than
  // 1.
  void Set(const std::string& crawl_id, Change change, Done done) FRESHET_EXCLUDES(mutex_);
  // The classes of these canonical crawl ids, for a worker of this client that takes only their
  // pages. Crawl ids without a class get one, and their pages follow, some thousand at a time;
  // until then the worker does not get them. The worker keeps the hold while it is there; unheld
  // classes go to others at need (ClassTable). ResourceExhausted: no room now.
  [[nodiscard]] StatusOr<TakenClasses> ClassesOf(const std::vector<std::string>& crawl_ids,
                                                 const Claim& claim, Instant now)
      FRESHET_EXCLUDES(mutex_);
  // The shard has no page left of this crawl id, which is being deleted. Once all shards have
  // reported, its record goes.
  void OnEmptied(uint16_t shard, const std::string& crawl_id) FRESHET_EXCLUDES(mutex_);

  // The shard has no page left of the class that this crawl id has lost.
  void OnDeclassed(uint16_t shard, const std::string& crawl_id) FRESHET_EXCLUDES(mutex_);

  // The record; blank if nothing is set for the crawl id.
  [[nodiscard]] CrawlRecord Find(const std::string& crawl_id) const FRESHET_EXCLUDES(mutex_);
  // All records by crawl id.
  [[nodiscard]] std::vector<CrawlRecord> All() const FRESHET_EXCLUDES(mutex_);
  // The modes that all shards follow. Never nullptr.
  [[nodiscard]] std::shared_ptr<const FrontierModes> modes() const FRESHET_EXCLUDES(mutex_);
  // The mode that the record means.
  [[nodiscard]] FrontierMode ModeOf(const CrawlRecord& record) const;
  // Whether any crawl id has a share or a maximum of the rate.
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
    bool store = true;  // else only its class changes
  };
  // A change that is being stored.
  struct Staged {
    CrawlTerms terms;
    ClassTable::Staged its_class;
    Done done;
    bool store = true;
  };

  // Starts the first pending change; ends those refused before it.
  void StoreFirst() FRESHET_EXCLUDES(mutex_);
  // Stages the first pending change. Not OK: the change is refused.
  [[nodiscard]] Status StageFirst(Staged* staged) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Status Stage(const Pending& pending, Staged* staged) FRESHET_REQUIRES(mutex_);
  void Enqueue(Pending pending) FRESHET_EXCLUDES(mutex_);
  // Has the shards follow the present class of this crawl id.
  void Reclass(const std::string& crawl_id) FRESHET_EXCLUDES(mutex_);
  void OnStored(const std::shared_ptr<Staged>& staged, const Reply& reply) FRESHET_EXCLUDES(mutex_);
  void TellOthers(const std::shared_ptr<Staged>& staged);
  void Finish(const Staged& staged, const Status& status) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] static Event EventOf(const Staged& staged, bool store);
  [[nodiscard]] std::vector<ClassTerms> TermsOfClasses() const FRESHET_REQUIRES(mutex_);

  // The modes of all crawl ids but this one.
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
  bool storing_ FRESHET_GUARDED_BY(mutex_) = false;  // one thread takes the changes one after the
                                                     // other
  std::map<std::string, std::set<uint16_t>> emptied_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_CRAWLS_H_
