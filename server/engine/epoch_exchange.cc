#include "server/engine/epoch_exchange.h"

#include <algorithm>
#include <utility>

namespace freshet {

EpochExchange::EpochExchange(size_t shards) : shards_(shards) {
  for (OfShard& shard : shards_) shard.waits_for.resize(shards);
}

void EpochExchange::Expect(size_t shard) {
  const MutexLock lock(mutex_);
  ++shards_[shard].asked;
}

void EpochExchange::Begin(size_t shard) {
  const MutexLock lock(mutex_);
  OfShard& self = shards_[shard];
  if (self.asked == self.answered) ++self.asked;
  self.answering = self.asked;
  for (size_t i = 0; i < shards_.size(); ++i) self.waits_for[i] = shards_[i].asked;
}

void EpochExchange::Publish(size_t shard, EpochSums sums) {
  auto published = std::make_shared<const EpochSums>(std::move(sums));
  const MutexLock lock(mutex_);
  OfShard& self = shards_[shard];
  self.answered = self.answering;
  self.sums.swap(published);
  for (size_t i = 0; i < shards_.size(); ++i) {
    self.waits_for[i] = std::max(self.waits_for[i], shards_[i].answering);
  }
}

void EpochExchange::Withdraw(size_t shard) {
  const MutexLock lock(mutex_);
  shards_[shard].answered = shards_[shard].answering;
}

void EpochExchange::Leave(size_t shard) {
  const MutexLock lock(mutex_);
  shards_[shard].gone = true;
}

bool EpochExchange::MayLearn(size_t shard) const {
  const MutexLock lock(mutex_);
  const OfShard& self = shards_[shard];
  for (size_t i = 0; i < shards_.size(); ++i) {
    if (!shards_[i].gone && shards_[i].answered < self.waits_for[i]) return false;
  }
  return true;
}

void EpochExchange::SetOthers(uint32_t own, Others others) {
  const MutexLock lock(others_mutex_);
  own_ = own;
  others_ = std::move(others);
}

EpochSums EpochExchange::Published(bool* complete) const {
  std::vector<std::shared_ptr<const EpochSums>> published;
  {
    const MutexLock lock(mutex_);
    for (const OfShard& shard : shards_) {
      if (shard.sums != nullptr) {
        published.push_back(shard.sums);
      } else if (!shard.gone) {
        *complete = false;
      }
    }
  }
  EpochSums all;
  for (const auto& sums : published) all.Add(*sums);
  return all;
}

EpochSums EpochExchange::All() const {
  bool complete = true;
  EpochSums all = Published(&complete);
  const MutexLock lock(others_mutex_);
  if (others_) all.SetOthers(own_, others_());
  return all;
}

std::optional<EpochTotals> EpochExchange::Totals() const {
  bool complete = true;
  const EpochSums all = Published(&complete);
  return complete ? std::optional(all.Totals()) : std::nullopt;
}

}  // namespace freshet
