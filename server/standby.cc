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
  const bool silent = hooks_.other_is_silent();
  // The turn may have come meanwhile: what is not loaded then is loaded as at any start.
  if (hooks_.has_turn()) return loaded_.has_value();
  if (silent) return true;
  if (loaded_) spdlog::info("the server that serves is heard again: this one stands by as before");
  Drop();
  return false;
}

Status Standby::Prepare(Store& store) {
  Drop();
  abandoned_ = false;
  LoadOptions options;
  options.cancelled = &abandoned_;
  options.report_interval = kLookInterval;
  options.report = [this] {
    abandoned_ = stop_ || (!hooks_.has_turn() && !hooks_.other_is_silent());
  };
  spdlog::info(
      "the server that serves is silent: loading the pages, in case it is this one's turn");
  StatusOr<LoadedShards> loaded = hooks_.load(store, options);
  if (loaded.ok()) {
    loaded_ = *std::move(loaded);
  } else {
    // Tried again when the turn comes, and refused then if it must be.
    if (!absl::IsCancelled(loaded.status())) {
      spdlog::warn("loading the pages beforehand: {}", loaded.status().ToString());
    }
    Drop();
  }
  return absl::OkStatus();
}

void Standby::Drop() {
  loaded_.reset();
  progress_.Reset();
}

}  // namespace freshet
