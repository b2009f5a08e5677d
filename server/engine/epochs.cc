#include "server/engine/epochs.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/limits.h"

namespace freshet {

EpochRunner::EpochRunner(const EpochOptions& options, const Store& store, Instant now)
    : options_(options),
      store_(store),
      next_start_(options.interval > Duration() ? now + options.interval : Instant::Infinite()) {
  CHECK(options.stride >= 1 && options.slice_pages >= 1);
}

void EpochRunner::Request(Done done) { epoch_waiters_.push_back(std::move(done)); }

void EpochRunner::RequestFiling(Done done) { filing_waiters_.push_back(std::move(done)); }

bool EpochRunner::Due(Instant now) const {
  if (cancelled_) return false;
  return running() || !epoch_waiters_.empty() || !filing_waiters_.empty() || next_start_ <= now;
}

Instant EpochRunner::next_start() const { return next_start_; }

void EpochRunner::Rewind() {
  slot_ = options_.first_slot.value();
  cursor_ = FirstNumber(slot_);
}

void EpochRunner::Begin(ShardState& state, Instant now) {
  started_ = now;
  pages_ = 0;
  filed_by_ = state.policy();
  Rewind();
  learning_ = !epoch_waiters_.empty() || next_start_ <= now;
  // What was asked for since the last one began is answered by the one that begins now; an epoch
  // files them as well.
  running_waiters_ = std::exchange(filing_waiters_, {});
  if (learning_) {
    for (Done& done : epoch_waiters_) running_waiters_.push_back(std::move(done));
    epoch_waiters_.clear();
    state.BeginEpoch(now);
  }
  phase_ = learning_ ? Phase::kCollect : Phase::kFile;
}

StatusOr<std::vector<PageRecord>> EpochRunner::NextPages() {
  while (slot_ < limits::kSlots) {
    ASSIGN_OR_RETURN(ScanResult scan,
                     store_.ScanPages(cursor_, FirstNumber(slot_ + 1), options_.slice_pages));
    if (scan.done) {
      slot_ += options_.stride;
      cursor_ = FirstNumber(slot_);
    } else {
      cursor_ = scan.next;
    }
    if (!scan.pages.empty()) return std::move(scan.pages);
  }
  return std::vector<PageRecord>();
}

void EpochRunner::Slice(ShardState& state, Instant now, Transaction& txn,
                        std::vector<Event>* events) {
  if (phase_ == Phase::kIdle) Begin(state, now);
  if (phase_ == Phase::kFile && !state.MakeRoom()) return;
  StatusOr<std::vector<PageRecord>> pages = NextPages();
  if (!pages.ok()) {
    End(now, pages.status());
    return;
  }
  if (phase_ == Phase::kCollect) {
    for (const PageRecord& page : *pages) state.CollectForEpoch(page);
    if (pages->empty()) {
      state.FinishEpoch(now, txn);
      number_ = state.epoch();
      Rewind();
      phase_ = Phase::kFile;
    }
    return;
  }
  for (PageRecord& page : *pages) {
    const PageNumber number = page.number;
    txn.Load(std::move(page));
    if (learning_) {
      events->push_back(Reestimate{number});
    } else {
      // Filed anew as it is: nothing to write, so that a change of policy never waits for the disk.
      txn.Find(number)->reindex = true;
    }
  }
  pages_ += pages->size();
  if (!pages->empty()) return;
  state.FinishFiling(filed_by_);
  End(now, absl::OkStatus());
}

void EpochRunner::End(Instant now, const Status& status) {
  phase_ = Phase::kIdle;
  if (learning_) {
    next_start_ = options_.interval > Duration() ? now + options_.interval : Instant::Infinite();
    if (status.ok()) {
      last_ = {.number = number_,
               .epochs = last_.epochs + 1,
               .pages = pages_,
               .ended = now,
               .took = now - started_};
    }
  }
  StatusOr<EpochResult> result = last_;
  if (!status.ok()) result = status;
  for (Done& done : running_waiters_) {
    notices_.push_back([done = std::move(done), result] { done(result); });
  }
  running_waiters_.clear();
}

void EpochRunner::Cancel(Instant now) {
  cancelled_ = true;
  for (auto* waiters : {&epoch_waiters_, &filing_waiters_}) {
    for (Done& done : *waiters) running_waiters_.push_back(std::move(done));
    waiters->clear();
  }
  End(now, MakeStatus(absl::StatusCode::kUnavailable, "the server is shutting down"));
  next_start_ = Instant::Infinite();
}

void EpochRunner::Notify() {
  if (cancelled_) Cancel(Instant::None());
  for (const auto& notice : std::exchange(notices_, {})) notice();
}

}  // namespace freshet
