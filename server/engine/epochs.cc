#include "server/engine/epochs.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/base/id_limits.h"
#include "core/schedule/learning.h"
#include "core/schedule/policy_switch.h"
#include "core/schedule/shard_state.h"
#include "core/schedule/transaction.h"
#include "server/engine/epoch_exchange.h"
#include "server/logs/loggers.h"
#include "storage/pages_read.h"
#include "storage/store.h"

namespace freshet {
namespace {

// The interval at which a shard checks whether publishing or learning is done.
constexpr Duration kLook = Duration::Millis(5);

EpochOptions WithExchange(EpochOptions options) {
  if (options.exchange != nullptr) return options;
  options.exchange = std::make_shared<EpochExchange>(options.stride);
  for (size_t i = 0; i < options.stride; ++i) {
    if (i != options.first_slot.value()) options.exchange->Leave(i);
  }
  return options;
}

}  // namespace

EpochRunner::EpochRunner(const EpochOptions& options, Store& store, Instant now)
    : options_(WithExchange(options)),
      store_(store),
      next_start_(options.interval > Duration() ? now + options.interval : Instant::Infinite()),
      slice_pages_(options.slice_pages) {
  CHECK(options.stride >= 1 && options.slice_pages >= 1);
}

EpochRunner::~EpochRunner() { Break(); }

void EpochRunner::Request(Done done) { epoch_waiters_.push_back(std::move(done)); }

void EpochRunner::RequestFiling(Done done) { filing_waiters_.push_back(std::move(done)); }

bool EpochRunner::Due(Instant now) const {
  if (!cancelled_.ok()) return false;
  if (phase_ == Phase::kShare || phase_ == Phase::kLearn) return next_look_ <= now;
  return running() || !epoch_waiters_.empty() || !filing_waiters_.empty() || next_start_ <= now;
}

Instant EpochRunner::next_start() const {
  return phase_ == Phase::kShare || phase_ == Phase::kLearn ? next_look_ : next_start_;
}

void EpochRunner::Rewind() {
  slot_ = options_.first_slot.value();
  while (slot_ < limits::kSlots && !Reads(slot_)) slot_ += options_.stride;
  cursor_ = FirstNumber(slot_);
}

void EpochRunner::NextSlot() {
  do {
    slot_ += options_.stride;
  } while (slot_ < limits::kSlots && !Reads(slot_));
  cursor_ = FirstNumber(slot_);
}

void EpochRunner::Begin(ShardState& state, Instant now) {
  started_ = now;
  pages_ = again_ = changed_ = 0;
  filed_by_ = state.policies().policy();
  moved_.set();
  Rewind();
  learning_ = !epoch_waiters_.empty() || next_start_ <= now;
  // The run that begins answers all requests so far, and also files all pages if that was
  // requested.
  if (!learning_ || !filing_waiters_.empty() || !(state.policies().in_force() == filed_by_)) {
    file_all_ = true;
  }
  running_waiters_ = std::exchange(filing_waiters_, {});
  if (learning_) {
    for (Done& done : epoch_waiters_) running_waiters_.push_back(std::move(done));
    epoch_waiters_.clear();
    options_.exchange->Begin(index());
    state.learning().BeginEpoch(now);
  }
  phase_ = learning_ ? Phase::kCollect : Phase::kFile;
}

StatusOr<std::vector<PageRecord>> EpochRunner::NextPages() {
  std::vector<PageRecord> pages;
  // A slot counts like a page. Otherwise a slice over thousands of empty slots would take too long,
  // and would delay a stop of the server.
  while (slot_ < limits::kSlots && read_ < slice_pages_) {
    ASSIGN_OR_RETURN(ScanResult scan,
                     store_.ScanPages(cursor_, FirstNumber(slot_ + 1), slice_pages_ - read_));
    read_ += scan.pages.size();
    if (scan.done) {
      NextSlot();
      ++read_;
    } else {
      cursor_ = scan.next;
      // The scan stopped early, because skipping rows of removed pages took the rest of the slice.
      read_ = slice_pages_;
    }
    pages.insert(pages.end(), std::make_move_iterator(scan.pages.begin()),
                 std::make_move_iterator(scan.pages.end()));
  }
  return pages;
}

void EpochRunner::Took(Duration took) {
  if (read_ == 0) return;
  // A slice that took too long makes the next one shorter at once, because slices that write pages
  // take several times as long as slices that only read. Slices grow by small steps, and only after
  // a full slice; the last slice of a run can be smaller.
  constexpr size_t kMost = 1024;
  if (took > options_.slice) {
    const double share = options_.slice.seconds() / took.seconds();
    slice_pages_ = std::max<size_t>(1, static_cast<size_t>(share * static_cast<double>(read_)));
  } else if (read_ >= slice_pages_) {
    slice_pages_ = std::min(kMost, slice_pages_ + (slice_pages_ + 15) / 16);
  }
}

Event EpochRunner::Again(PageNumber page) const {
  // EnterAgeBin files the page again and writes nothing.
  if (learning_) return Reestimate{page};
  return EnterAgeBin{page};
}

void EpochRunner::LookAt(ShardState& state, Instant now, std::vector<PageRecord> pages,
                         Transaction& txn) {
  Learning& learning = state.learning();
  const bool collects = phase_ == Phase::kCollect;
  for (PageRecord& page : pages) {
    const bool mended = state.CapTimes(now, &page);
    const bool takes = collects ? learning.CollectForEpoch(page, now)
                                : learning_ && learning.TakeNewRates(page, now);
    const bool changed = mended || takes;
    changed_ += changed ? 1 : 0;
    // Unchanged pages are filed again only if all pages must be, and only in the phase kFile, after
    // MakeRoom.
    if (!changed && (collects || !file_all_)) continue;
    const PageNumber number = page.number;
    txn.Load(std::move(page));
    Transaction::Page* loaded = txn.Find(number);
    loaded->reindex = true;
    // An unchanged page is not written, so that a change of policy never waits for the disk.
    loaded->changed = changed;
  }
}

void EpochRunner::Slice(ShardState& state, Instant now, Transaction& txn) {
  read_ = 0;
  if (phase_ == Phase::kIdle) Begin(state, now);
  if (phase_ == Phase::kShare) return Learn(state, now);
  if (phase_ == Phase::kLearn) return TakeLearned(state, now);
  if (phase_ == Phase::kFile && file_all_ && !state.policies().MakeRoom()) return;
  StatusOr<std::vector<PageRecord>> pages = NextPages();
  if (!pages.ok()) {
    End(now, pages.status());
    return;
  }
  (phase_ == Phase::kFile && learning_ ? again_ : pages_) += pages->size();
  if (!pages->empty()) return LookAt(state, now, *std::move(pages), txn);
  if (slot_ < limits::kSlots) return;
  if (phase_ == Phase::kCollect) return Share(state, now);
  if (file_all_) state.policies().FinishFiling(filed_by_);
  file_all_ = false;
  End(now, absl::OkStatus());
}

void EpochRunner::Share(ShardState& state, Instant now) {
  state.learning().EndCollecting();
  shared_ = false;
  sharing_ = std::async(std::launch::async, [this, &state] {
    options_.exchange->Publish(index(), state.learning().CollectedInEpoch());
    shared_ = true;
  });
  phase_ = Phase::kShare;
  next_look_ = now;
  share_end_ = now + options_.patience;
}

bool EpochRunner::WaitsFor(const std::atomic<bool>& done, Instant now) {
  if (done) return false;
  next_look_ = now + kLook;
  return true;
}

void EpochRunner::Learn(ShardState& state, Instant now) {
  if (WaitsFor(shared_, now)) return;
  if (!options_.exchange->MayLearn(index()) && now < share_end_) {
    next_look_ = now + kLook;
    return;
  }
  sharing_.get();
  learned_ = false;
  learning_from_ = std::async(std::launch::async, [this, &learning = state.learning(), now] {
    StatusOr<LearnedSites> learned = learning.LearnEpoch(options_.exchange->All(), break_);
    if (!break_) {
      Changes changes;
      changes.epoch = learning.RecordOf(*learned, now);
      changes.shard = changes.epoch->shard;
      if (Status status = store_.Commit(changes); !status.ok()) learned = std::move(status);
    }
    learned_ = true;
    return learned;
  });
  phase_ = Phase::kLearn;
  next_look_ = now + kLook;
}

void EpochRunner::TakeLearned(ShardState& state, Instant now) {
  if (WaitsFor(learned_, now)) return;
  StatusOr<LearnedSites> learned = learning_from_.get();
  if (!learned.ok()) return End(now, learned.status());
  moved_ = learned->moved;
  state.learning().FinishEpoch(*std::move(learned));
  number_ = state.learning().epoch();
  Rewind();
  // If a model has changed, all of its pages may have to be written, so slices start small.
  slice_pages_ = std::min(slice_pages_, options_.slice_pages);
  phase_ = Phase::kFile;
}

void EpochRunner::Break() {
  break_ = true;
  if (sharing_.valid()) sharing_.get();
  if (learning_from_.valid()) (void)learning_from_.get();
  break_ = false;
}

void EpochRunner::End(Instant now, const Status& status) {
  Break();
  if (phase_ == Phase::kCollect) options_.exchange->Withdraw(index());
  phase_ = Phase::kIdle;
  if (learning_) {
    next_start_ = options_.interval > Duration() ? now + options_.interval : Instant::Infinite();
    // A cancellation is not logged, because it is not a failure.
    if (!status.ok() && cancelled_.ok()) {
      Logger(LogModule::kEngine)
          .error("shard {}: epoch {} (new estimates of all pages) failed: {}", index(),
                 last_.number + 1, status.ToString());
    }
    if (status.ok()) {
      last_ = {.number = number_,
               .epochs = last_.epochs + 1,
               .pages = pages_,
               .again = again_,
               .changed = changed_,
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

void EpochRunner::Expect() { options_.exchange->Expect(index()); }

void EpochRunner::Cancel(Instant now, const Status& reason) {
  CHECK(!reason.ok());
  cancelled_ = reason;
  options_.exchange->Leave(index());
  for (auto* waiters : {&epoch_waiters_, &filing_waiters_}) {
    for (Done& done : *waiters) running_waiters_.push_back(std::move(done));
    waiters->clear();
  }
  End(now, reason);
  next_start_ = Instant::Infinite();
}

void EpochRunner::Notify() {
  if (!cancelled_.ok()) Cancel(Instant::None(), Status(cancelled_));
  for (const auto& notice : std::exchange(notices_, {})) notice();
}

}  // namespace freshet
