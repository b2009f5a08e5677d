// Sends events to the shards that own their slots, and collects the replies.
#ifndef FRESHET_SERVER_ENGINE_ROUTER_H_
#define FRESHET_SERVER_ENGINE_ROUTER_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/fleet/slot_division.h"
#include "core/schedule/event.h"
#include "server/engine/batch_trace.h"
#include "server/engine/routed_event.h"
#include "server/engine/shard.h"

namespace freshet {

// The router. Slot s of this server belongs to shard (s modulo the number of shards). Thread-safe.
class Router {
 public:
  // `division`: the slots that this server owns in a fleet.
  explicit Router(std::vector<Shard*> shards, const SlotDivision& division = {});

  [[nodiscard]] Shard& OwnerOf(Slot slot) const { return *shards_[slot.value() % shards_.size()]; }
  [[nodiscard]] const std::vector<Shard*>& shards() const { return shards_; }
  // The slots of this server.
  [[nodiscard]] const SlotDivision& division() const { return division_; }
  // FailedPrecondition, with the slot's division: the slot belongs to another server.
  [[nodiscard]] Status CheckDivision(Slot slot) const;

  // Sends the events to their shards. Once all events are durable or refused, calls `done` with one
  // reply for each, in order. `done` runs on any thread, possibly before Submit returns. A shard
  // that cannot take its events refuses them. Events of slots of other servers are refused too.
  // Returns false if the producer should pause until `done` is called. `trace` gets the times of
  // the shards before `done` is called; nullptr = no trace. `client`: the Claim::client that sends
  // the events; 0 = the server itself.
  bool Submit(std::vector<RoutedEvent> events, std::function<void(std::vector<Reply>)> done,
              const std::shared_ptr<BatchTrace>& trace = nullptr, uint64_t client = 0);

  // Sends an event of the server itself, which is never refused because of load. Precondition: this
  // server owns the slot. `done` is called on the shard's thread, or never if the server is
  // stopping.
  void SubmitAlways(Slot slot, Event event, std::function<void(Reply)> done);

  // Gives back assignments that were delivered to a sink but probably did not reach the worker.
  // `never_left`: the assignments certainly never left the server, so their pages and hosts are
  // free at once.
  void GiveBack(const std::vector<LeaseId>& leases, bool never_left = false);
  // Gives back one assignment, as described by the event. The reply is ignored.
  void Return(ReturnLease event);

  // Runs `query` on each shard's thread, and then `done` on the thread that finishes last. Skips
  // stopped shards. In each of its turns, a shard runs one of these queries, after the events of
  // the turn. `client`: the number of the client that asks; 0 = the server itself. Waiting clients
  // are served alternately.
  void QueryAll(std::function<void(size_t shard, const ShardView&)> query,
                std::function<void()> done, uint64_t client);

 private:
  std::vector<Shard*> shards_;
  const SlotDivision division_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_ROUTER_H_
