#include "server/engine/router.h"

#include <atomic>
#include <memory>
#include <utility>

#include "core/base/check.h"

namespace freshet {
namespace {

// Collects the replies of several shards. Each writes its own elements; the last one to finish
// tells.
struct Gather {
  std::vector<Reply> replies;
  std::atomic<size_t> left{0};
  std::function<void(std::vector<Reply>)> done;

  void Finish() {
    if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) done(std::move(replies));
  }
};

Status RefusalOf(PushOutcome outcome) {
  if (outcome == PushOutcome::kFull) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "the server has more waiting than it can take in");
  }
  return MakeStatus(absl::StatusCode::kUnavailable, "the server is shutting down");
}

}  // namespace

Router::Router(std::vector<Shard*> shards) : shards_(std::move(shards)) { CHECK(!shards_.empty()); }

bool Router::Submit(std::vector<RoutedEvent> events, std::function<void(std::vector<Reply>)> done) {
  std::vector<EventBatch> batches(shards_.size());
  std::vector<std::vector<size_t>> places(shards_.size());
  for (size_t i = 0; i < events.size(); ++i) {
    const size_t shard = events[i].slot.value() % shards_.size();
    batches[shard].events.push_back(std::move(events[i].event));
    places[shard].push_back(i);
  }
  auto gather = std::make_shared<Gather>();
  gather->replies.resize(events.size());
  gather->left = 1;  // this call's own share: nothing is told before all are sent
  gather->done = std::move(done);
  bool go_on = true;
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    if (places[shard].empty()) continue;
    gather->left.fetch_add(1, std::memory_order_relaxed);
    batches[shard].done = [gather, place = places[shard]](std::vector<Reply> replies) {
      for (size_t i = 0; i < place.size(); ++i) gather->replies[place[i]] = std::move(replies[i]);
      gather->Finish();
    };
    const PushOutcome outcome = shards_[shard]->Submit(std::move(batches[shard]));
    go_on &= outcome == PushOutcome::kTaken;
    if (outcome == PushOutcome::kFull || outcome == PushOutcome::kClosed) {
      for (const size_t place : places[shard]) {
        gather->replies[place] = {.disposition = Disposition::kRefused,
                                  .status = RefusalOf(outcome)};
      }
      gather->Finish();
    }
  }
  gather->Finish();
  return go_on;
}

void Router::SubmitAlways(Slot slot, Event event, std::function<void(Reply)> done) {
  EventBatch batch;
  batch.events.push_back(std::move(event));
  batch.done = [done = std::move(done)](std::vector<Reply> replies) {
    if (done) done(std::move(replies.front()));
  };
  OwnerOf(slot).SubmitAlways(std::move(batch));
}

void Router::QueryAll(std::function<void(size_t, const ShardView&)> query,
                      std::function<void()> done) {
  struct Pending {
    std::atomic<size_t> left{1};
    std::function<void(size_t, const ShardView&)> query;
    std::function<void()> done;
    void Finish() {
      if (left.fetch_sub(1, std::memory_order_acq_rel) == 1) done();
    }
  };
  auto pending = std::make_shared<Pending>();
  pending->query = std::move(query);
  pending->done = std::move(done);
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    pending->left.fetch_add(1, std::memory_order_relaxed);
    const bool asked = shards_[shard]->ReadMany([pending, shard](const ShardView& view) {
      pending->query(shard, view);
      pending->Finish();
    });
    if (!asked) pending->Finish();
  }
  pending->Finish();
}

}  // namespace freshet
