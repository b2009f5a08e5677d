#include "lab/sim/replay_learner.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/base/check.h"
#include "lab/sim/replay_truth.h"

namespace freshet {
namespace {

double LearnerDays(Instant from, Instant to) { return (to - from).seconds() / 86400; }

// The times and counts of a replay are always valid for a learner.
void MustWork(const Status& status) { CHECK(status.ok(), "{}", std::string(status.message())); }

}  // namespace

bool LearnsFromSignals(LearnerKind kind) {
  return kind == LearnerKind::kLambdaLearn || kind == LearnerKind::kLambdaLearnApprox;
}

LearnerReplay::LearnerReplay(const World& world, Learner learner, bool from_signals,
                             double signal_recall, Duration first_epoch, Duration epoch)
    : world_(world),
      learner_(std::move(learner)),
      next_epoch_length_(first_epoch),
      epoch_(epoch),
      pages_(world.pages.size()),
      rates_(world.pages.size(), 0.0) {
  if (!from_signals) return;
  const ReplayTruth truth = TruthOf(world, signal_recall);
  for (size_t page = 0; page < pages_.size(); ++page) {
    pages_[page].complete = std::all_of(truth.rates[page].begin(), truth.rates[page].end(),
                                        [](const TrueRates& rates) { return rates.recall == 1; });
  }
}

void LearnerReplay::CatchUp(Instant now) {
  if (epoch_ends_.is_none()) epoch_ends_ = now + std::exchange(next_epoch_length_, epoch_);
  if (now < epoch_ends_) return;
  epoch_ends_ = now + next_epoch_length_;
  for (size_t page = 0; page < pages_.size(); ++page) {
    if (pages_[page].known && pages_[page].complete) TellSignals(page, now);
  }
  learner_.EndEpoch();
  rates_changed_ = true;
}

void LearnerReplay::TellSignals(size_t page, Instant now) {
  constexpr double kWorthTelling = 0.1;
  Page& state = pages_[page];
  const double days = LearnerDays(state.told, now);
  if (days <= 0 || (state.signals == 0 && days < kWorthTelling * state.told_days)) return;
  MustWork(learner_.ObserveSignals(page, days, state.signals));
  state.told = now;
  state.told_days += days;
  state.signals = 0;
}

void LearnerReplay::Add(size_t page, Instant now) {
  CatchUp(now);
  Page& state = pages_[page];
  state.known = true;
  state.crawled = state.told = now;
  // Pages appear in the order of their numbers, so the learner gives them the same numbers.
  MustWork(learner_.AddPage(world_.pages[page].importance, state.complete));
  rates_changed_ = true;
}

void LearnerReplay::Signal(std::span<const ReplaySignal> poll, Instant now) {
  CatchUp(now);
  for (const ReplaySignal& signal : poll) {
    Page& state = pages_[signal.page];
    if (!state.known || !state.complete) continue;
    state.signals += 1;
    const std::vector<double>& probability = learner_.plan().probability;
    if (state.wanted || signal.changed <= state.crawled || probability.empty()) continue;
    if (random_.Uniform() >= probability[signal.page]) continue;
    state.wanted = true;
    wanted_.push_back(signal.page);
  }
}

void LearnerReplay::Reschedule() {
  rates_changed_ = false;
  double sum = 0;
  for (size_t page = 0; page < learner_.plan().rate.size(); ++page) {
    rates_[page] = pages_[page].known ? learner_.plan().rate[page] : 0;
    sum += rates_[page];
  }
  if (sum <= 0) {
    schedule_.reset();
    return;
  }
  if (schedule_) {
    MustWork(schedule_->Replan(rates_, sum));
    return;
  }
  StatusOr<LowDiscrepancySchedule> schedule = LowDiscrepancySchedule::Create(rates_, sum);
  MustWork(schedule.status());
  schedule_ = *std::move(schedule);
}

std::optional<size_t> LearnerReplay::Pick(Instant now) {
  CatchUp(now);
  while (!wanted_.empty()) {
    const size_t page = wanted_.front();
    wanted_.pop_front();
    pages_[page].wanted = false;
    if (pages_[page].known) return page;
  }
  if (rates_changed_) Reschedule();
  if (!schedule_) return std::nullopt;
  return schedule_->Next();
}

void LearnerReplay::Crawled(size_t page, Instant now, bool changed) {
  Page& state = pages_[page];
  const double days = LearnerDays(state.crawled, now);
  state.crawled = now;
  if (!state.complete && days > 0) MustWork(learner_.ObserveCrawl(page, days, changed));
}

void LearnerReplay::Gone(size_t page, Instant) {
  pages_[page].known = false;
  rates_changed_ = true;
}

}  // namespace freshet
