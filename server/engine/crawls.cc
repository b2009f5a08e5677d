#include "server/engine/crawls.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/schedule/quota.h"
#include "server/base/countdown.h"
#include "server/base/frontier_limits.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// Shares are decimal fractions, so their sum can exceed 1 by a rounding error.
constexpr double kMostShares = 1 + 1e-9;

bool OfRate(const CrawlRecord& record) { return record.share || record.max_rate; }

bool Blank(const CrawlRecord& record) { return record == CrawlRecord{.crawl_id = record.crawl_id}; }

}  // namespace

Crawls::Crawls(const std::vector<CrawlRecord>& stored, size_t shards, FrontierModeTable usual)
    : shards_(shards), usual_(std::move(usual)), classes_(shards) {
  const MutexLock lock(mutex_);
  for (const CrawlRecord& record : stored) {
    Known& known = by_id_[record.crawl_id];
    known.record = record;
    if (record.max_pages) {
      known.quota = std::make_shared<Quota>();
      known.quota->SetMost(*record.max_pages);
    }
    const auto its_class = classes_.Stage(record.crawl_id, OfRate(record));
    if (its_class.ok()) {
      classes_.Keep(record.crawl_id, *its_class);
    } else {
      // This happens only if the store was merged from several others.
      Logger(LogModule::kEngine)
          .error("share and max_rate_per_second of crawl id {} are not applied: {}",
                 record.crawl_id, std::string(its_class.status().message()));
      known.record.share.reset();
      known.record.max_rate.reset();
    }
  }
  modes_ = std::make_shared<FrontierModes>(TableOfModes());
}

void Crawls::Start(Tell tell, std::function<void(std::vector<ClassTerms>)> on_terms) {
  CHECK(!tell_ && tell && on_terms, "started once");
  tell_ = std::move(tell);
  on_terms_ = std::move(on_terms);
  std::vector<ClassTerms> terms;
  {
    const MutexLock lock(mutex_);
    terms = TermsOfClasses();
  }
  if (!terms.empty()) on_terms_(std::move(terms));
}

std::vector<CrawlTerms> Crawls::Terms() const {
  const MutexLock lock(mutex_);
  std::vector<CrawlTerms> terms;
  for (const auto& [crawl_id, known] : by_id_) {
    terms.push_back({.record = known.record,
                     .crawl_class = OfRate(known.record) ? classes_.Of(crawl_id) : CrawlClass{0},
                     .quota = known.quota,
                     .shadow = ModeOf(known.record) == FrontierMode::kShadow});
  }
  for (const auto& [crawl_id, mode] : usual_) {
    if (mode != FrontierMode::kShadow || by_id_.contains(crawl_id)) continue;
    terms.push_back(
        {.record = {.crawl_id = crawl_id}, .crawl_class = 0, .quota = nullptr, .shadow = true});
  }
  return terms;
}

std::vector<ClassTerms> Crawls::TermsOfClasses() const {
  std::vector<ClassTerms> terms;
  for (const auto& [crawl_id, known] : by_id_) {
    if (!OfRate(known.record)) continue;
    terms.push_back({.crawl_class = classes_.Of(crawl_id),
                     .share = known.record.share,
                     .max_rate = known.record.max_rate});
  }
  return terms;
}

// --- Changes ---

void Crawls::Set(const std::string& crawl_id, Change change, Done done) {
  Enqueue({.crawl_id = crawl_id, .change = std::move(change), .done = std::move(done)});
}

void Crawls::Enqueue(Pending pending) {
  {
    const MutexLock lock(mutex_);
    pending_.push_back(std::move(pending));
    if (std::exchange(storing_, true)) return;
  }
  StoreFirst();
}

void Crawls::Reclass(const std::string& crawl_id) {
  const auto done = [this, crawl_id](const Status& status, const CrawlRecord&) {
    if (status.ok()) return;
    Logger(LogModule::kEngine)
        .error("workers of crawl id {} get no pages: {}", crawl_id, status.ToString());
    const MutexLock lock(mutex_);
    classes_.Untold(crawl_id);
  };
  Enqueue({.crawl_id = crawl_id,
           .change = [](CrawlRecord*) { return absl::OkStatus(); },
           .done = done,
           .store = false});
}

StatusOr<TakenClasses> Crawls::ClassesOf(const std::vector<std::string>& crawl_ids,
                                         const Claim& claim, Instant now) {
  TakenClasses taken;
  std::vector<std::string> changed;
  Status refused;
  {
    const MutexLock lock(mutex_);
    for (const std::string& crawl_id : crawl_ids) {
      const StatusOr<bool> is_new = classes_.GiveToWorkers(crawl_id, claim, now);
      if (!is_new.ok()) {
        refused = is_new.status();
        if (auto idle = classes_.TakeIdle(claim, now)) changed.push_back(*std::move(idle));
        break;
      }
      if (*is_new) changed.push_back(crawl_id);
    }
    if (refused.ok()) taken = classes_.Hold(crawl_ids);
  }
  // If a later crawl id was refused, the earlier ones still have their new classes.
  for (const std::string& crawl_id : changed) Reclass(crawl_id);
  RETURN_IF_ERROR(refused);
  return taken;
}

void Crawls::OnDeclassed(uint16_t shard, const std::string& crawl_id) {
  const MutexLock lock(mutex_);
  classes_.OnDeclassed(shard, crawl_id);
}

Status Crawls::Stage(const Pending& pending, Staged* staged) {
  CrawlTerms& terms = staged->terms;
  RETURN_IF_ERROR(pending.change(&terms.record));
  double shares = terms.record.share.value_or(0);
  for (const auto& [crawl_id, known] : by_id_) {
    if (crawl_id != pending.crawl_id) shares += known.record.share.value_or(0);
  }
  if (shares > kMostShares) {
    return InvalidArgument(
        "share: with {:g} here, the shares of all crawl ids would sum to {:g}, more than 1",
        terms.record.share.value_or(0), shares);
  }
  if (pending.store) RETURN_IF_ERROR(AdmitMode(terms.record));
  terms.shadow = ModeOf(terms.record) == FrontierMode::kShadow;
  ASSIGN_OR_RETURN(staged->its_class, classes_.Stage(pending.crawl_id, OfRate(terms.record)));
  terms.crawl_class = staged->its_class.crawl_class;
  if (!terms.record.max_pages) {
    terms.quota = nullptr;
  } else if (terms.quota == nullptr) {
    terms.quota = std::make_shared<Quota>();
  }
  return absl::OkStatus();
}

Status Crawls::StageFirst(Staged* staged) {
  Pending& first = pending_.front();
  const auto it = by_id_.find(first.crawl_id);
  CrawlTerms before;
  if (it != by_id_.end()) before = {.record = it->second.record, .quota = it->second.quota};
  before.record.crawl_id = first.crawl_id;
  staged->terms = before;
  staged->store = first.store;
  const Status status = Stage(first, staged);
  staged->done = std::move(first.done);
  if (status.ok()) return status;
  staged->terms = std::move(before);
  return status;
}

void Crawls::StoreFirst() {
  while (true) {
    const auto staged = std::make_shared<Staged>();
    Status status;
    {
      const MutexLock lock(mutex_);
      storing_ = !pending_.empty();
      if (!storing_) return;
      status = StageFirst(staged.get());
      // While storing_ is set, other callers only add to pending_. This thread, or the one that
      // calls OnStored, takes their changes.
      pending_.pop_front();
    }
    if (!status.ok()) {
      staged->done(status, staged->terms.record);
      continue;
    }
    // No other change is stored until this one is done.
    return tell_(0, EventOf(*staged, /*store=*/true),
                 [this, staged](const Reply& reply) { OnStored(staged, reply); });
  }
}

Event Crawls::EventOf(const Staged& staged, bool store) {
  const CrawlTerms& terms = staged.terms;
  store = store && staged.store;
  const bool blank = Blank(terms.record) && terms.crawl_class == 0 && !terms.shadow;
  if (blank) return ForgetCrawl{.crawl_id = terms.record.crawl_id, .store = store};
  return SetCrawl{.terms = terms, .store = store};
}

void Crawls::OnStored(const std::shared_ptr<Staged>& staged, const Reply& reply) {
  if (!reply.status.ok()) return Finish(*staged, reply.status);
  {
    const MutexLock lock(mutex_);
    const CrawlTerms& terms = staged->terms;
    if (Blank(terms.record)) {
      by_id_.erase(terms.record.crawl_id);
      emptied_.erase(terms.record.crawl_id);
    } else {
      by_id_[terms.record.crawl_id] = {.record = terms.record, .quota = terms.quota};
    }
    if (terms.quota != nullptr) terms.quota->SetMost(*terms.record.max_pages);
  }
  TellOthers(staged);
}

void Crawls::TellOthers(const std::shared_ptr<Staged>& staged) {
  // The count includes this call, so that Finish does not run before all shards are told.
  const auto left = std::make_shared<Countdown>(shards_);
  const auto arrive = [this, staged, left](const Reply& reply) {
    // This event writes nothing, so only a shard that has failed refuses it.
    if (!reply.status.ok()) {
      Logger(LogModule::kEngine)
          .error("a shard did not apply the settings of crawl id {}: {}",
                 staged->terms.record.crawl_id, std::string(reply.status.message()));
    }
    if (left->Arrive()) Finish(*staged, absl::OkStatus());
  };
  for (size_t shard = 1; shard < shards_; ++shard) {
    tell_(shard, EventOf(*staged, /*store=*/false), arrive);
  }
  arrive({});
}

void Crawls::Finish(const Staged& staged, const Status& status) {
  std::vector<ClassTerms> terms;
  {
    const MutexLock lock(mutex_);
    const std::string& crawl_id = staged.terms.record.crawl_id;
    if (status.ok()) {
      classes_.Keep(crawl_id, staged.its_class);
    } else {
      classes_.Drop(crawl_id, staged.its_class);
    }
    terms = TermsOfClasses();
    modes_ = std::make_shared<FrontierModes>(TableOfModes());
  }
  if (status.ok()) on_terms_(std::move(terms));
  // The next change starts first, so `done` does not delay it.
  StoreFirst();
  staged.done(status, staged.terms.record);
}

// --- Deletions ---

void Crawls::OnEmptied(uint16_t shard, const std::string& crawl_id) {
  {
    const MutexLock lock(mutex_);
    std::set<uint16_t>& told = emptied_[crawl_id];
    told.insert(shard);
    if (told.size() < shards_) return;
    emptied_.erase(crawl_id);
  }
  const auto end = [](CrawlRecord* record) -> Status {
    if (!record->deleting) return NotFound("crawl_id: {} is not being deleted", record->crawl_id);
    *record = {.crawl_id = record->crawl_id};
    return absl::OkStatus();
  };
  Set(crawl_id, end, [crawl_id](const Status& status, const CrawlRecord&) {
    if (status.ok()) {
      Logger(LogModule::kEngine).info("crawl {} is deleted", crawl_id);
    } else {
      Logger(LogModule::kEngine)
          .warn("all pages of crawl id {} are deleted, but its settings are not: {}", crawl_id,
                status.ToString());
    }
  });
}

// --- Modes of the crawl-frontier API ---

FrontierMode Crawls::ModeOf(const CrawlRecord& record) const {
  if (record.frontier_mode) return *record.frontier_mode;
  const auto it = usual_.find(record.crawl_id);
  return it == usual_.end() ? FrontierMode::kDates : it->second;
}

FrontierModeTable Crawls::TableOfModes(std::string_view but) const {
  FrontierModeTable modes = usual_;
  for (const auto& [crawl_id, known] : by_id_) modes[crawl_id] = ModeOf(known.record);
  std::erase_if(modes, [but](const auto& entry) {
    return entry.second == FrontierMode::kDates || entry.first == but;
  });
  return modes;
}

Status Crawls::AdmitMode(const CrawlRecord& record) const {
  const FrontierMode mode = ModeOf(record);
  const auto before = by_id_.find(record.crawl_id);
  const bool stays = before != by_id_.end() && ModeOf(before->second.record) == mode;
  if (mode == FrontierMode::kDates || stays) return absl::OkStatus();
  const FrontierModeTable others = TableOfModes(record.crawl_id);
  const auto same = std::count_if(others.begin(), others.end(),
                                  [mode](const auto& entry) { return entry.second == mode; });
  if (static_cast<size_t>(same) < limits::kMaxScheduledCrawls) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "frontier_mode: the maximum is reached: {} crawl ids are in this mode", same);
}

std::shared_ptr<const FrontierModes> Crawls::modes() const {
  const MutexLock lock(mutex_);
  return modes_;
}

// --- Looking ---

CrawlRecord Crawls::Find(const std::string& crawl_id) const {
  const MutexLock lock(mutex_);
  const auto it = by_id_.find(crawl_id);
  return it == by_id_.end() ? CrawlRecord{.crawl_id = crawl_id} : it->second.record;
}

std::vector<CrawlRecord> Crawls::All() const {
  const MutexLock lock(mutex_);
  std::vector<CrawlRecord> all;
  all.reserve(by_id_.size());
  for (const auto& [crawl_id, known] : by_id_) all.push_back(known.record);
  return all;
}

bool Crawls::any_of_rate() const {
  const MutexLock lock(mutex_);
  return std::any_of(by_id_.begin(), by_id_.end(),
                     [](const auto& known) { return OfRate(known.second.record); });
}

}  // namespace freshet
