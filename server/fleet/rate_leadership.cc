#include "server/fleet/rate_leadership.h"

#include <algorithm>
#include <utility>

#include "spdlog/spdlog.h"

namespace freshet {
namespace {

Status NotLeading() {
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "only the leader (the server that shares out the crawl rate) answers this, and "
                    "this server is not the leader");
}

}  // namespace

void RateLeadership::Hear(const RateReport& report, const std::optional<FleetTotal>& total,
                          Answered answered) {
  // If this report is refused, its callback must be called at once; otherwise the callback of the
  // node's earlier report, if that report still waits.
  Answered at_once;
  Status why;
  {
    const MutexLock lock(mutex_);
    why = Take(report, total);
    if (why.ok()) {
      at_once = std::exchange(waiting_[report.node], std::move(answered));
      why = MakeStatus(absl::StatusCode::kFailedPrecondition, "a later report has arrived");
    } else {
      at_once = std::move(answered);
    }
  }
  if (at_once) at_once(why);
}

Status RateLeadership::Take(const RateReport& report, const std::optional<FleetTotal>& total) {
  Status heard = stopped_ || !leader_ ? NotLeading() : leader_->Hear(report, clock_.Now());
  if (leader_ && !heard.ok()) return heard;
  if (total && (!total_ || total_->told < total->told)) {
    total_ = total;
    if (leader_) leader_->SetRate(total->rate);
  }
  if (heard.ok()) term_ = std::max(term_, report.held.term);
  return heard;
}

void RateLeadership::Attend() {
  Answers answers;
  {
    const MutexLock lock(mutex_);
    // The time is read before the turn. So no other server can have led at `now`, even if this
    // thread is suspended between the two reads.
    const Instant now = clock_.Now();
    const std::optional<uint64_t> turn = stopped_ ? std::nullopt : leads_();
    if (turn != turn_ || (leader_ && leader_->figures().deposed)) End(&answers);
    turn_ = turn;
    if (leader_) {
      Round(now, &answers);
    } else if (turn_ && total_) {
      // The term begins after the turn was read, when no other server leads any more.
      Begin(clock_.Now());
    }
  }
  for (auto& [answered, answer] : answers) answered(std::move(answer));
}

void RateLeadership::Begin(Instant now) {
  // The clocks of leaders may differ, so the term must also be above all terms that nodes have
  // reported.
  term_ = std::max(term_ + 1, static_cast<uint64_t>(now.micros()));
  leader_.emplace(options_, term_, total_->rate, now);
  next_round_ = now;
  spdlog::info("this server shares out the crawl rate of the fleet, {:g} a second",
               total_->rate.per_second());
}

void RateLeadership::End(Answers* answers) {
  if (leader_) spdlog::info("this server does not share out the crawl rate any more");
  leader_.reset();
  for (auto& [node, answered] : waiting_) answers->emplace_back(std::move(answered), NotLeading());
  waiting_.clear();
}

void RateLeadership::Round(Instant now, Answers* answers) {
  // In the quiet time (core/fleet/grant_book.h), rounds do not wait for their interval. The quiet
  // time ends early once all nodes obey grants of this term, and only rounds make such grants.
  if (now < next_round_ && !leader_->figures().quiet) return;
  next_round_ = now + options_.round;
  for (const RateGrant& grant : leader_->Round(now)) {
    const auto it = waiting_.find(grant.node);
    // No report waits for this grant, so it is not sent. The next report of the node will get a
    // newer one.
    if (it == waiting_.end()) continue;
    answers->emplace_back(std::move(it->second), Answer{grant, *total_});
    waiting_.erase(it);
  }
  for (auto& [node, answered] : waiting_) {
    answers->emplace_back(std::move(answered), Answer{std::nullopt, *total_});
  }
  waiting_.clear();
}

void RateLeadership::Stop() {
  Answers answers;
  {
    const MutexLock lock(mutex_);
    stopped_ = true;
    End(&answers);
  }
  for (auto& [answered, answer] : answers) answered(std::move(answer));
}

std::optional<FleetRateFigures> RateLeadership::figures() const {
  const MutexLock lock(mutex_);
  if (!leader_) return std::nullopt;
  return leader_->figures();
}

}  // namespace freshet
