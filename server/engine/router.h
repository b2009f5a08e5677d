// Brings events to the shards that own their slots, and their replies back together.
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

// Thread-safe. Slot s belongs to shard s modulo the number of shards, if this server has it at all.
class Router {
 public:
  // `division`: of a server of a fleet, the slots that it has.
  explicit Router(std::vector<Shard*> shards, const SlotDivision& division = {});

  [[nodiscard]] Shard& OwnerOf(Slot slot) const { return *shards_[slot.value() % shards_.size()]; }
  [[nodiscard]] const std::vector<Shard*>& shards() const { return shards_; }
  // The slots that this server has.
  [[nodiscard]] const SlotDivision& division() const { return division_; }
  // FailedPrecondition, with the division that has it: another server's slot.
  [[nodiscard]] Status CheckDivision(Slot slot) const;

  // Sends the events to their shards; `done` gets one reply for each, in their order, once all are
  // durable, on any thread, maybe before Submit returns. A shard that cannot take its part has it
  // refused, and so are events of another server's slots. Returns false when the producer should
  // stop until `done` is called. What the shards take for their parts is in `trace` before, unless
  // that is null. `client` is the Claim::client that sends them (0 = the server itself).
  bool Submit(std::vector<RoutedEvent> events, std::function<void(std::vector<Reply>)> done,
              const std::shared_ptr<BatchTrace>& trace = nullptr, uint64_t client = 0);

  // One event that the server needs done itself, whatever the load, of a slot that it has. `done`
  // is not called when the server is stopping.
  void SubmitAlways(Slot slot, Event event, std::function<void(Reply)> done);

  // Asks every shard, each on its own thread, then calls `done` on the thread of the last. Shards
  // that are stopped are left out. Each takes one of these a turn, after its events.
  void QueryAll(std::function<void(size_t shard, const ShardView&)> query,
                std::function<void()> done);

 private:
  std::vector<Shard*> shards_;
  const SlotDivision division_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_ROUTER_H_
