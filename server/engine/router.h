// Brings events to the shards that own their slots, and gathers the replies.
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

// The router. Slot s belongs to shard s modulo the number of shards, if it is a slot of this
// server. Thread-safe.
class Router {
 public:
  // `division`: the slots of this server in a fleet.
  explicit Router(std::vector<Shard*> shards, const SlotDivision& division = {});

  [[nodiscard]] Shard& OwnerOf(Slot slot) const { return *shards_[slot.value() % shards_.size()]; }
  [[nodiscard]] const std::vector<Shard*>& shards() const { return shards_; }
  // The slots of this server.
  [[nodiscard]] const SlotDivision& division() const { return division_; }
  // FailedPrecondition, with the slot's division: the slot belongs to another server.
  [[nodiscard]] Status CheckDivision(Slot slot) const;

  // Sends the events to their shards. `done` gets one reply for each, in order, once all are
  // durable; it runs on any thread, possibly before Submit returns. A shard that cannot take its
  // part refuses it; events of another server's slots are refused too. Returns false if the
  // producer should pause until `done` is called. By then `trace`, unless nullptr, has the times of
  // the shards. `client` is the Claim::client that sends the events (0 = the server itself).
  bool Submit(std::vector<RoutedEvent> events, std::function<void(std::vector<Reply>)> done,
              const std::shared_ptr<BatchTrace>& trace = nullptr, uint64_t client = 0);

  // Sends an event of the server itself, which is never refused for load. This server must have the
  // slot. `done` is called on the shard's thread, or never if the server is stopping.
  void SubmitAlways(Slot slot, Event event, std::function<void(Reply)> done);

  // Gives back assignments that reached a sink but, as far as known, not the worker. `never_left`:
  // they surely never left the server, so neither pages nor hosts wait for them.
  void GiveBack(const std::vector<LeaseId>& leases, bool never_left = false);
  // Gives back one assignment, as the event says. Nobody waits for the reply.
  void Return(ReturnLease event);

  // Runs `query` on each shard's thread, then `done` on the thread that finishes last. Stopped
  // shards are left out. A shard runs one query a turn, after its events.
  void QueryAll(std::function<void(size_t shard, const ShardView&)> query,
                std::function<void()> done);

 private:
  std::vector<Shard*> shards_;
  const SlotDivision division_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_ROUTER_H_
