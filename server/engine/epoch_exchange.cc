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

EpochSums EpochExchange::All() const {
  std::vector<std::shared_ptr<const EpochSums>> published;
  {
    const MutexLock lock(mutex_);
    for (const OfShard& shard : shards_) published.push_back(shard.sums);
  }
  EpochSums all;
  for (const auto& sums : published) {
    if (sums != nullptr) all.Add(*sums);
  }
  return all;
}

}  // namespace freshet
