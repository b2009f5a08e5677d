#include "lab/bench/stack.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "fmt/format.h"
#include "server/base/limits.h"
#include "server/engine/epoch_exchange.h"
#include "server/engine/shard_loader.h"

namespace freshet {

void BenchStack::Observer::OnCommit(Duration took, size_t) {
  const MutexLock lock(mutex_);
  longest_commit_ = std::max(longest_commit_, took);
}

Duration BenchStack::Observer::TakeLongestCommit() {
  const MutexLock lock(mutex_);
  return std::exchange(longest_commit_, Duration());
}

void BenchStack::Observer::OnFailure(uint16_t shard, const Status& status) {
  fmt::print(stderr, "shard {} failed: {}\n", shard, status.ToString());
}

Status BenchStack::Start(const std::string& dir, const Options& options) {
  StoreOptions store_options;
  store_options.durability = options.durability;
  ASSIGN_OR_RETURN(store, Store::Open(dir, store_options));
  std::vector<ShardState*> states;
  const auto exchange = std::make_shared<EpochExchange>(static_cast<size_t>(options.shards));
  for (int i = 0; i < options.shards; ++i) {
    ShardSettings settings;
    settings.state.policy = options.policy;
    settings.state.shard = static_cast<uint16_t>(i);
    settings.state.generation = static_cast<uint32_t>(store->generation());
    settings.epochs.first_slot = Slot(static_cast<uint16_t>(i));
    settings.epochs.stride = static_cast<uint16_t>(options.shards);
    settings.epochs.exchange = exchange;
    settings.mailbox = {.weight = limits::kMaxMailboxEvents,
                        .hard_weight = 2 * limits::kMaxMailboxEvents,
                        .patience = Duration::Seconds(60)};
    shards_.push_back(std::make_unique<Shard>(settings, *store, clock, observer_));
    states.push_back(&shards_.back()->state());
  }
  LoadProgress progress;
  RETURN_IF_ERROR(LoadShards(*store, states, {}, progress));
  for (const auto& shard : shards_) shard->Start();
  return {};
}

Status BenchStack::Stop() {
  for (const auto& shard : shards_) shard->Stop();
  return store->Close();
}

std::vector<Shard*> BenchStack::Shards() const {
  std::vector<Shard*> shards;
  for (const auto& shard : shards_) shards.push_back(shard.get());
  return shards;
}

}  // namespace freshet
