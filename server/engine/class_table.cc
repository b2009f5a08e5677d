#include "server/engine/class_table.h"

#include <algorithm>
#include <utility>

namespace freshet {

ClassTable::Held::~Held() {
  const MutexLock lock(holds_->mutex);
  for (const std::string& crawl_id : crawl_ids_) {
    const auto it = holds_->by_id.find(crawl_id);
    if (--it->second == 0) holds_->by_id.erase(it);
  }
}

void ClassTable::Held::Add(const std::string& crawl_id) {
  crawl_ids_.push_back(crawl_id);
  const MutexLock lock(holds_->mutex);
  ++holds_->by_id[crawl_id];
}

CrawlClass ClassTable::Of(std::string_view crawl_id) const {
  const auto it = classes_.find(crawl_id);
  return it == classes_.end() ? CrawlClass{0} : it->second.number;
}

// --- Numbers

std::optional<CrawlClass> ClassTable::TakeNumber(std::optional<Instant> now) {
  if (next_ < limits::kMaxCrawlClasses) return next_++;
  if (resting_.empty() || (now && *resting_.front().since + kRest > *now)) return std::nullopt;
  const CrawlClass number = resting_.front().number;
  Give(resting_.front());
  resting_.pop_front();
  return number;
}

void ClassTable::GiveRested(std::optional<Instant> now) {
  for (Resting& resting : resting_) {
    if (now && !resting.since) resting.since = now;
    if (!now || *resting.since + kRest <= *now) Give(resting);
  }
}

bool ClassTable::Make(const std::string& crawl_id, const Claim& claim, std::optional<Instant> now) {
  GiveRested(now);
  if (shares_.Left(claim) == 0) return false;
  const std::optional<CrawlClass> number = TakeNumber(now);
  if (!number) return false;
  shares_.Take(claim.client);
  classes_[crawl_id] = {.number = *number, .claim = claim, .left = {}, .named = {}};
  return true;
}

void ClassTable::Free(Classes::iterator it, bool rests) {
  Resting number = {.number = it->second.number, .client = it->second.claim.client};
  if (rests) {
    resting_.push_back(number);
  } else {
    number.since = Instant();
    Give(number);
    resting_.push_front(number);
  }
  classes_.erase(it);
}

void ClassTable::FreeIfLeft(Classes::iterator it) {
  const Class& its = it->second;
  const bool wanted = its.of_rate || its.of_workers || its.staying;
  if (its.leaving && its.left.size() >= shards_ && !wanted) Free(it, /*rests=*/true);
}

// --- Changes

StatusOr<ClassTable::Staged> ClassTable::Stage(const std::string& crawl_id, bool of_rate) {
  auto it = classes_.find(crawl_id);
  const bool of_workers = it != classes_.end() && it->second.of_workers;
  if (!of_rate && !of_workers) {
    if (it == classes_.end() || it->second.leaving) return Staged{};
    it->second.leaving = true;
    it->second.left.clear();
    return Staged{.leaves = true};
  }
  const bool made = it == classes_.end();
  if (made) {
    if (!Make(crawl_id, {}, std::nullopt)) {
      return MakeStatus(absl::StatusCode::kResourceExhausted,
                        "crawl_id: the maximum is reached: {} crawl ids have a share, a "
                        "max_rate_per_second or workers of their own",
                        shares_.taken());
    }
    it = classes_.find(crawl_id);
  }
  it->second.staying = true;
  return Staged{.crawl_class = it->second.number, .of_rate = of_rate, .made = made};
}

void ClassTable::Keep(const std::string& crawl_id, const Staged& staged) {
  const auto it = classes_.find(crawl_id);
  if (it == classes_.end()) return;
  Class& its = it->second;
  its.of_rate = staged.of_rate;
  // All shards may have reported already that they have no page of the class left.
  if (staged.crawl_class == 0) return FreeIfLeft(it);
  its.staying = its.asked = false;
  its.leaving = false;
  its.left.clear();
  its.told = true;
}

void ClassTable::Drop(const std::string& crawl_id, const Staged& staged) {
  const auto it = classes_.find(crawl_id);
  if (it == classes_.end()) return;
  Class& its = it->second;
  if (staged.leaves) its.leaving = false;
  if (staged.crawl_class == 0) return;
  its.staying = its.asked = false;
  // No shard and no worker knows the class, so its number needs no rest.
  if (staged.made && !its.of_workers) return Free(it, /*rests=*/false);
  FreeIfLeft(it);
}

void ClassTable::OnDeclassed(uint16_t shard, const std::string& crawl_id) {
  const auto it = classes_.find(crawl_id);
  if (it == classes_.end() || !it->second.leaving) return;
  it->second.left.insert(shard);
  FreeIfLeft(it);
}

// --- Workers

StatusOr<bool> ClassTable::GiveToWorkers(const std::string& crawl_id, const Claim& claim,
                                         Instant now) {
  auto it = classes_.find(crawl_id);
  if (it == classes_.end()) {
    if (!Make(crawl_id, claim, now)) {
      return MakeStatus(
          absl::StatusCode::kResourceExhausted,
          "crawl_ids: the maximum is reached: this client has {} crawl ids with workers of their "
          "own, or had them until a moment ago (the server {}): try again when some of these "
          "workers have left",
          shares_.held(claim.client), shares_.taken());
    }
    it = classes_.find(crawl_id);
  }
  Class& its = it->second;
  its.named = now;
  its.claim.named |= claim.named;
  const bool tell = (!its.told || its.leaving) && !std::exchange(its.asked, true);
  its.of_workers = true;
  return tell;
}

void ClassTable::Untold(const std::string& crawl_id) {
  const auto it = classes_.find(crawl_id);
  if (it != classes_.end()) it->second.asked = false;
}

bool ClassTable::IsIdle(const Classes::value_type& entry, const Claim& claim, Instant now) const {
  const auto& [crawl_id, its] = entry;
  if (!its.of_workers || its.of_rate || its.leaving || its.staying) return false;
  {
    const MutexLock lock(holds_->mutex);
    if (holds_->by_id.contains(crawl_id)) return false;
  }
  // A client can take one of its idle classes at once, but not the class of a crawl id that the
  // same call names.
  if (claim.client != 0 && its.claim.client == claim.client) return its.named < now;
  const bool first = claim.named && !its.claim.named;
  return first || its.named + kIdle <= now;
}

std::optional<std::string> ClassTable::TakeIdle(const Claim& claim, Instant now) {
  const Classes::value_type* idle = nullptr;
  for (const auto& entry : classes_) {
    // Only one class is freed at a time, because freeing one takes a pass over all pages.
    if (entry.second.leaving) return std::nullopt;
    if (!IsIdle(entry, claim, now)) continue;
    if (idle == nullptr || entry.second.named < idle->second.named) idle = &entry;
  }
  if (idle == nullptr) return std::nullopt;
  const std::string crawl_id = idle->first;
  const auto it = classes_.find(crawl_id);
  if (!it->second.told) {
    Free(it, /*rests=*/true);
    return std::nullopt;
  }
  it->second.of_workers = false;
  return crawl_id;
}

}  // namespace freshet
