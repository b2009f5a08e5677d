// What operators have set for crawl ids: changed one after the other, in force only once it is
// stored, and then told to all shards. Deletions of crawl ids, from the call to the last shard.
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

// Thread-safe. Outlives every change that is under way.
class Crawls {
 public:
  // Has the event stepped by that shard, and tells what became of it, once and maybe before it
  // returns.
  using Tell = std::function<void(size_t shard, Event event, std::function<void(Reply)> done)>;
  using Change = std::function<Status(CrawlRecord*)>;
  using Done = std::function<void(const Status&, const CrawlRecord&)>;

  // As stored. `shards`: how many there are. `usual`: modes of crawl ids for which none is set.
  Crawls(const std::vector<CrawlRecord>& stored, size_t shards, FrontierModeTable usual = {});

  // Before any change: how shards are told, and who is told what classes have from now on. The
  // latter at once, too, if there is anything to tell.
  void Start(Tell tell, std::function<void(std::vector<ClassTerms>)> on_terms)
      FRESHET_EXCLUDES(mutex_);
  // For ShardState::LoadCrawl of every shard.
  [[nodiscard]] std::vector<CrawlTerms> Terms() const FRESHET_EXCLUDES(mutex_);

  // Applies `change` to what is set for the crawl id, as the changes asked for before left it; has
  // it stored and all shards follow; then calls `done`, with the record as it is now. What
  // `change`, this or the store refuses leaves no trace. ResourceExhausted: all classes are taken,
  // or as many crawl ids are in that frontier mode as may be. InvalidArgument: the shares sum to
  // more than 1.
  void Set(const std::string& crawl_id, Change change, Done done) FRESHET_EXCLUDES(mutex_);
  // The classes of these crawl ids, canonical ones, for a worker of this client that takes pages of
  // them alone. Each that had none gets one, and its pages follow, some thousand at a time: until
  // then such a worker is not given them. While the worker is there it keeps the hold; what nobody
  // holds goes to others when they need it (ClassTable). ResourceExhausted: there is no room now.
  [[nodiscard]] StatusOr<TakenClasses> ClassesOf(const std::vector<std::string>& crawl_ids,
                                                 const Claim& claim, Instant now)
      FRESHET_EXCLUDES(mutex_);
  // A shard has no page of this crawl id any more, which is being deleted. Once all have said so,
  // its record goes.
  void OnEmptied(uint16_t shard, const std::string& crawl_id) FRESHET_EXCLUDES(mutex_);

  // A shard has no page any more of the class that this crawl id has lost.
  void OnDeclassed(uint16_t shard, const std::string& crawl_id) FRESHET_EXCLUDES(mutex_);

  // Blank for one for which nothing is set.
  [[nodiscard]] CrawlRecord Find(const std::string& crawl_id) const FRESHET_EXCLUDES(mutex_);
  // By crawl id.
  [[nodiscard]] std::vector<CrawlRecord> All() const FRESHET_EXCLUDES(mutex_);
  // As all shards follow them. Never null.
  [[nodiscard]] std::shared_ptr<const FrontierModes> modes() const FRESHET_EXCLUDES(mutex_);
  // What the record means.
  [[nodiscard]] FrontierMode ModeOf(const CrawlRecord& record) const;
  // Any has a share or a maximum of the rate.
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

  // The first of the pending changes goes on, and those after it that are refused.
  void StoreFirst() FRESHET_EXCLUDES(mutex_);
  // Stages the first of the pending changes. Not OK: that change is refused.
  [[nodiscard]] Status StageFirst(Staged* staged) FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Status Stage(const Pending& pending, Staged* staged) FRESHET_REQUIRES(mutex_);
  void Enqueue(Pending pending) FRESHET_EXCLUDES(mutex_);
  // Has the shards follow what the class of this crawl id is now.
  void Reclass(const std::string& crawl_id) FRESHET_EXCLUDES(mutex_);
  void OnStored(const std::shared_ptr<Staged>& staged, const Reply& reply) FRESHET_EXCLUDES(mutex_);
  void TellOthers(const std::shared_ptr<Staged>& staged);
  void Finish(const Staged& staged, const Status& status) FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] static Event EventOf(const Staged& staged, bool store);
  [[nodiscard]] std::vector<ClassTerms> TermsOfClasses() const FRESHET_REQUIRES(mutex_);

  // Of all crawl ids, but for this one.
  [[nodiscard]] FrontierModeTable TableOfModes(std::string_view but = {}) const
      FRESHET_REQUIRES(mutex_);
  [[nodiscard]] Status AdmitMode(const CrawlRecord& record) const FRESHET_REQUIRES(mutex_);

  const size_t shards_;
  const FrontierModeTable usual_;
  Tell tell_;                                              // set once, by Start
  std::function<void(std::vector<ClassTerms>)> on_terms_;  // likewise
  mutable Mutex mutex_;
  std::map<std::string, Known, std::less<>> by_id_ FRESHET_GUARDED_BY(mutex_);
  ClassTable classes_ FRESHET_GUARDED_BY(mutex_);
  std::shared_ptr<const FrontierModes> modes_ FRESHET_GUARDED_BY(mutex_);
  std::deque<Pending> pending_ FRESHET_GUARDED_BY(mutex_);
  bool storing_ FRESHET_GUARDED_BY(mutex_) = false;  // one thread takes them one after the other
  std::map<std::string, std::set<uint16_t>> emptied_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_CRAWLS_H_
