// Counts and prints the outcomes of sent items, and repeats items if that can help.
#ifndef FRESHET_TOOLS_CLI_TALLY_H_
#define FRESHET_TOOLS_CLI_TALLY_H_

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "sync/mutex.h"
#include "tools/cli/item_batch.h"
#include "tools/cli/session.h"

namespace freshet::cli {

// Counts outcomes, and reports every item that was not simply applied. Thread-safe.
class Tally {
 public:
  // `noun` names the items in the summary, for example "pages".
  Tally(const Session& session, Progress& progress, std::string noun)
      : session_(session), progress_(progress), noun_(std::move(noun)) {}

  // From now on, `refused` is called for each refused item, on the thread that books
  // acknowledgements. Nothing is printed about other items, because the caller prints its own
  // summary.
  using Refusal =
      std::function<void(uint64_t row, const std::string& name, const v1::ItemError& error)>;
  void Tell(Refusal refused) { tell_ = std::move(refused); }

  void Applied(uint64_t items);
  void Item(uint64_t row, const std::string& name, const v1::ItemStatus& status);
  // Counts an item that was never sent as refused.
  void Refused(uint64_t row, const std::string& name, const std::string& reason);
  // Counts an unreadable row as refused. `what` is the whole message, including where the row is.
  void Unreadable(uint64_t row, const std::string& what);

  // Prints why items are sent again after this number of attempts. Prints the same reason at most
  // once in half a minute. Prints nothing if the retry comes soon, for example when the server is
  // merely busy.
  void Again(uint64_t items, const v1::ItemError& error, int attempts);

  // Prints the summary. `unacknowledged`: the number of items that had no answer when the
  // connection was lost.
  void Summarise(uint64_t unacknowledged) const;
  [[nodiscard]] ExitCode code() const {
    const MutexLock lock(mutex_);
    return refused_ > 0 ? kRefused : kAccepted;
  }
  [[nodiscard]] uint64_t items() const {
    const MutexLock lock(mutex_);
    return Sum();
  }

 private:
  [[nodiscard]] uint64_t Sum() const FRESHET_REQUIRES(mutex_) {
    return applied_ + duplicate_ + observed_only_ + stale_ + refused_;
  }
  void PrintJson(const nlohmann::ordered_json& object) const FRESHET_REQUIRES(mutex_);

  const Session& session_;
  Progress& progress_;
  std::string noun_;
  Refusal tell_;  // set before the first outcome
  // One thread reads rows, and another books acknowledgements. The mutex is held while output is
  // written, so that lines do not mix.
  mutable Mutex mutex_;
  uint64_t applied_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t duplicate_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t observed_only_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t stale_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t refused_ FRESHET_GUARDED_BY(mutex_) = 0;
  // The reason that Again printed last, and the time when it did.
  std::string again_ FRESHET_GUARDED_BY(mutex_);
  std::chrono::steady_clock::time_point again_told_ FRESHET_GUARDED_BY(mutex_);
};

// Returns the wait before refused items are sent again.
[[nodiscard]] std::chrono::milliseconds RetryDelay(const v1::ItemError& error, int attempt);

// Books the acknowledgement of a batch. Returns the items to send again, if any, and the longest
// delay in their refusals.
template <typename Request>
std::pair<Batch<Request>, std::chrono::milliseconds> Book(Batch<Request>& batch,
                                                          const v1::BatchAck& ack, Tally& tally) {
  auto& items = *Items(batch.request);
  std::pair<Batch<Request>, std::chrono::milliseconds> again;
  v1::ItemError why;  // error of the first item
  again.first.attempt = batch.attempt + 1;
  const auto book = [&](const v1::ItemStatus& status) {
    const auto i = static_cast<int>(status.index());
    if (i >= items.size()) return;
    if (status.error().retryable() && batch.attempt < kMaxAttempts) {
      if (again.first.rows.empty()) again.first.request = WithoutItems(batch.request);
      *Items(again.first.request)->Add() = items[i];
      again.first.rows.push_back(batch.rows[status.index()]);
      again.second = std::max(again.second, RetryDelay(status.error(), batch.attempt));
      if (again.first.rows.size() == 1) why = status.error();
    } else {
      tally.Item(batch.rows[status.index()], NameOf(items[i]), status);
    }
  };
  if (ack.has_error()) {
    v1::ItemStatus status;
    status.set_outcome(v1::ITEM_OUTCOME_REFUSED);
    *status.mutable_error() = ack.error();
    for (uint32_t i = 0; i < batch.rows.size(); ++i) {
      status.set_index(i);
      book(status);
    }
  } else {
    tally.Applied(batch.rows.size() -
                  std::min<size_t>(batch.rows.size(), static_cast<size_t>(ack.statuses_size())));
    for (const v1::ItemStatus& status : ack.statuses()) book(status);
  }
  if (!again.first.rows.empty()) tally.Again(again.first.rows.size(), why, batch.attempt);
  return again;
}

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TALLY_H_
