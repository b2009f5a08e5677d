#include "server/standby.h"

#include <utility>

#include "absl/status/status.h"
#include "core/base/counted.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

// The interval at which a load checks whether the server is stopping or the load is no longer
// needed.
constexpr Duration kLookInterval = Duration::Millis(500);
constexpr std::chrono::seconds kAfterFailure{10};
// The pause after the loaded pages have become outdated. On the serving server, each shard that
// finishes learning makes them outdated, and the shards finish one after the other.
constexpr std::chrono::seconds kAfterOutdating{3};
// Each followed record wastes some bytes of memory, which the next load frees. Between two loads, a
// standby follows at most kFollowedAtLeast records, plus kFollowedPerPage for each page.
constexpr uint64_t kFollowedAtLeast = 1'000'000;
constexpr uint64_t kFollowedPerPage = 8;

}  // namespace

bool Standby::MayOwn() {
  const bool turn = hooks_.has_turn();
  if (turn && !std::exchange(told_, true)) {
    spdlog::info("this server takes over the log");
  }
  return turn;
}

bool Standby::MayOwnSoon() {
  const bool may_come = TurnMayCome();
  // If this server has just got the turn, it begins no load here. Pages that are not loaded yet are
  // loaded as in a normal start.
  if (hooks_.has_turn()) return loaded_.has_value();
  if (!may_come) {
    if (loaded_) spdlog::info("the active server goes on serving; this one stays a standby");
    Drop();
    tried_ = false;
    return false;
  }
  // The caller has read the log up to its present end, so loaded pages are up to date.
  has_loaded_ = loaded_.has_value();
  if (loaded_) return true;
  // True = the caller calls Prepare, which loads the pages. After a load that was cancelled, failed
  // or became outdated, this call returns false once, and a later call starts the next load.
  return !std::exchange(tried_, false) && Steady::now() >= rests_until_;
}

Status Standby::Prepare(Store& store) {
  Drop();
  tried_ = true;
  abandoned_ = false;
  LoadOptions options;
  options.without_leases = true;
  options.cancelled = &abandoned_;
  options.report_interval = kLookInterval;
  options.report = [this] {
    if (stop_ || (!hooks_.has_turn() && !TurnMayCome())) abandoned_ = true;
  };
  spdlog::info("loading the pages, in case this server becomes active");
  StatusOr<LoadedShards> loaded = hooks_.load(store, options);
  if (loaded.ok()) {
    loaded_ = *std::move(loaded);
    followed_ = 0;
    most_followed_ = kFollowedAtLeast + kFollowedPerPage * progress_.pages;
    spdlog::info("loaded {}, which follow the log from now on",
                 Counted(progress_.pages.load(), "page"));
  } else {
    Drop();
    // A standby that cannot load must not be a candidate, because it would take the turn from one
    // that can.
    if (absl::IsDataLoss(loaded.status())) return loaded.status();
    // After other errors the load is tried again, at the latest when this server gets the turn. An
    // error then ends the start.
    if (!absl::IsCancelled(loaded.status())) {
      spdlog::warn("loading the pages beforehand: {}", loaded.status().ToString());
      Rest(kAfterFailure);
    }
  }
  return absl::OkStatus();
}

Status Standby::Update(uint16_t partition, FollowedChanges changes) {
  if (!loaded_) return absl::OkStatus();
  followed_ += changes.pages.size() + changes.hosts.size();
  Status followed = hooks_.follow(*loaded_, partition, std::move(changes));
  if (!followed.ok()) {
    spdlog::warn("following the log: {}", followed.ToString());
    return followed;
  }
  if (followed_ <= most_followed_) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kResourceExhausted, "{} records were followed",
                    followed_.load());
}

void Standby::Outdate() {
  if (loaded_) spdlog::info("the pages must be loaded again");
  Drop();
  Rest(kAfterOutdating);
}

std::optional<LoadedShards> Standby::Take(Store& store) {
  if (!loaded_) return std::nullopt;
  const Status finished = hooks_.finish(store, *loaded_);
  if (finished.ok()) return std::exchange(loaded_, std::nullopt);
  // The caller then loads everything again, and reports the error if it persists.
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
