#include "server/standby.h"

#include <utility>

#include "absl/status/status.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

// How soon a load ends of a standby that is not needed after all, or is to stop.
constexpr Duration kLookInterval = Duration::Millis(500);

}  // namespace

bool Standby::MayOwn() {
  const bool turn = hooks_.has_turn();
  if (turn && !std::exchange(told_, true)) {
    spdlog::info("it is this server's turn: taking over the log");
  }
  return turn;
}

bool Standby::MayOwnSoon() {
  const bool may_come = TurnMayCome();
  // The turn may have come meanwhile: what is not loaded then is loaded as at any start.
  if (hooks_.has_turn()) return loaded_.has_value();
  // A load that was broken off begins anew.
  if (may_come && !abandoned_.exchange(false)) return true;
  if (loaded_) spdlog::info("the server that serves goes on: this one stands by as before");
  Drop();
  return false;
}

Status Standby::Prepare(Store& store) {
  Drop();
  abandoned_ = false;
  LoadOptions options;
  options.without_leases = true;
  options.cancelled = &abandoned_;
  options.report_interval = kLookInterval;
  options.report = [this] { abandoned_ = stop_ || (!hooks_.has_turn() && !TurnMayCome()); };
  spdlog::info("loading the pages, in case it is this server's turn");
  StatusOr<LoadedShards> loaded = hooks_.load(store, options);
  if (loaded.ok()) {
    loaded_ = *std::move(loaded);
    has_loaded_ = true;
    spdlog::info("{} pages are loaded, and follow the log", progress_.pages.load());
  } else {
    // Tried again when the turn comes, and refused then if it must be.
    if (!absl::IsCancelled(loaded.status())) {
      spdlog::warn("loading the pages beforehand: {}", loaded.status().ToString());
    }
    Drop();
  }
  return absl::OkStatus();
}

Status Standby::Update(uint16_t partition, const FollowedChanges& changes) {
  if (!loaded_) return absl::OkStatus();
  Status followed = hooks_.follow(*loaded_, partition, changes);
  if (!followed.ok()) spdlog::warn("following the log: {}", followed.ToString());
  return followed;
}

void Standby::Outdate() {
  if (loaded_) spdlog::info("the log has more than pages can follow: they are to be loaded anew");
  Drop();
}

std::optional<LoadedShards> Standby::Take(Store& store) {
  if (!loaded_) return std::nullopt;
  const Status finished = hooks_.finish(store, *loaded_);
  if (finished.ok()) return std::exchange(loaded_, std::nullopt);
  // Loading all of it anew says what is wrong.
  spdlog::warn("loading the leases: {}", finished.ToString());
  Drop();
  return std::nullopt;
}

void Standby::Drop() {
  loaded_.reset();
  has_loaded_ = false;
  progress_.Reset();
}

}  // namespace freshet
