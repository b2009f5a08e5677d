#include "server/engine/router.h"

#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/base/id_limits.h"
#include "core/schedule/leases.h"
#include "server/base/countdown.h"
#include "server/base/limits.h"
#include "server/base/refusals.h"

namespace freshet {
namespace {

// Collects the replies of several shards. Each shard writes different elements, and the last shard
// calls `done`.
struct Gather {
  Countdown left;
  std::vector<Reply> replies;
  std::function<void(std::vector<Reply>)> done;

  void Finish() {
    if (left.Arrive()) done(std::move(replies));
  }
};

Status RefusalOf(PushOutcome outcome) {
  return outcome == PushOutcome::kFull ? ServerIsOverloaded() : ServerIsStopping();
}

}  // namespace

Router::Router(std::vector<Shard*> shards, const SlotDivision& division)
    : shards_(std::move(shards)), division_(division) {
  CHECK(!shards_.empty() && shards_.size() <= limits::kSlots, "{} shards", shards_.size());
  for (const Shard* shard : shards_) CHECK(shard != nullptr);
}

Status Router::CheckDivision(Slot slot) const {
  const uint32_t of = division_.Of(slot);
  if (of == division_.division) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "host: belongs to division {} of {}, but this server serves division {}", of,
                    division_.divisions, division_.division);
}

bool Router::Submit(std::vector<RoutedEvent> events, std::function<void(std::vector<Reply>)> done,
                    const std::shared_ptr<BatchTrace>& trace, uint64_t client) {
  CHECK(done, "somebody is told of the replies");
  std::vector<std::vector<EventBatch>> batches(shards_.size());
  std::vector<std::vector<size_t>> places(shards_.size());
  std::vector<Reply> refused(events.size());
  for (size_t i = 0; i < events.size(); ++i) {
    if (Status its = CheckDivision(events[i].slot); !its.ok()) {
      refused[i] = {.disposition = Disposition::kRefused, .status = std::move(its)};
      continue;
    }
    const size_t shard = events[i].slot.value() % shards_.size();
    std::vector<EventBatch>& parts = batches[shard];
    if (places[shard].size() % limits::kEventsTogether == 0) parts.emplace_back();
    parts.back().events.push_back(std::move(events[i].event));
    places[shard].push_back(i);
  }
  size_t asked = 0;
  for (const std::vector<EventBatch>& parts : batches) asked += parts.size();
  // The count includes this call, so that `done` is not called before all parts are sent.
  const std::shared_ptr<Gather> gather(new Gather{
      .left = Countdown(asked + 1), .replies = std::move(refused), .done = std::move(done)});
  bool go_on = true;
  if (trace != nullptr) trace->Send();
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    if (places[shard].empty()) continue;
    const auto place = std::make_shared<const std::vector<size_t>>(std::move(places[shard]));
    const size_t parts = batches[shard].size();
    size_t first = 0;
    for (EventBatch& part : batches[shard]) {
      part.done = [gather, place, first, count = part.events.size()](std::vector<Reply> replies) {
        CHECK(replies.size() == count, "{} replies to {} events", replies.size(), count);
        for (size_t i = 0; i < count; ++i) {
          gather->replies[(*place)[first + i]] = std::move(replies[i]);
        }
        gather->Finish();
      };
      part.trace = trace;
      part.client = client;
      first += part.events.size();
    }
    const PushOutcome outcome = shards_[shard]->Submit(std::move(batches[shard]));
    go_on &= outcome == PushOutcome::kTaken;
    if (outcome == PushOutcome::kFull || outcome == PushOutcome::kClosed) {
      for (const size_t refused_at : *place) {
        gather->replies[refused_at] = {.disposition = Disposition::kRefused,
                                       .status = RefusalOf(outcome)};
      }
      for (size_t i = 0; i < parts; ++i) gather->Finish();
    }
  }
  gather->Finish();
  return go_on;
}

void Router::SubmitAlways(Slot slot, Event event, std::function<void(Reply)> done) {
  EventBatch batch;
  batch.events.push_back(std::move(event));
  batch.done = [done = std::move(done)](std::vector<Reply> replies) {
    CHECK(replies.size() == 1, "{} replies to one event", replies.size());
    if (done) done(std::move(replies.front()));
  };
  batch.at_once = true;
  OwnerOf(slot).SubmitAlways(std::move(batch));
}

void Router::GiveBack(const std::vector<LeaseId>& leases, bool never_left) {
  for (const LeaseId lease : leases) {
    ReturnLease event{lease};
    event.never_left = never_left;
    Return(std::move(event));
  }
}

void Router::Return(ReturnLease event) {
  const Slot slot = SlotOfLease(event.lease);
  SubmitAlways(slot, std::move(event), nullptr);
}

void Router::QueryAll(std::function<void(size_t, const ShardView&)> query,
                      std::function<void()> done, uint64_t client) {
  CHECK(query && done, "asks something, and tells somebody");
  struct Pending {
    Countdown left;
    std::function<void(size_t, const ShardView&)> query;
    std::function<void()> done;
    void Finish() {
      if (left.Arrive()) done();
    }
  };
  // The count includes this call, so that `done` is not called before all shards have been asked.
  const std::shared_ptr<Pending> pending(new Pending{
      .left = Countdown(shards_.size() + 1), .query = std::move(query), .done = std::move(done)});
  for (size_t shard = 0; shard < shards_.size(); ++shard) {
    const auto look = [pending, shard](const ShardView& view) {
      pending->query(shard, view);
      pending->Finish();
    };
    const bool asked = shards_[shard]->ReadMany(look, client);
    if (!asked) pending->Finish();
  }
  pending->Finish();
}

}  // namespace freshet
