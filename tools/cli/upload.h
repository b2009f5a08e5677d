// Sends any number of items in batches and says what became of each.
#ifndef FRESHET_TOOLS_CLI_UPLOAD_H_
#define FRESHET_TOOLS_CLI_UPLOAD_H_

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "tools/cli/session.h"

namespace freshet::cli {

// Items of one message: the server's limit, and a size far below its limit on bytes.
inline constexpr int kMaxBatchItems = 1000;
inline constexpr size_t kMaxBatchBytes = 4 << 20;
// Batches that are sent before the first is acknowledged; with their bytes it bounds our memory.
inline constexpr size_t kMaxBatchesInFlight = 16;
// An item that the server is too busy for is sent this often in all before it counts as refused.
inline constexpr int kMaxAttempts = 10;

// The repeated field of each request, and what to call its items in messages.
inline auto* Items(v1::UpsertPagesRequest& request) { return request.mutable_pages(); }
inline auto* Items(v1::ReportCrawlsRequest& request) { return request.mutable_results(); }
inline auto* Items(v1::SignalChangesRequest& request) { return request.mutable_signals(); }
inline auto* Items(v1::RemovePagesRequest& request) { return request.mutable_urls(); }
inline auto* Items(v1::RecheckPagesRequest& request) { return request.mutable_urls(); }
inline std::string NameOf(const std::string& url) { return url; }
inline std::string NameOf(const v1::PageSpec& page) { return page.url(); }
inline std::string NameOf(const v1::ChangeSignal& signal) { return signal.url(); }
inline std::string NameOf(const v1::CrawlResult& result) {
  return result.url().empty() ? fmt::format("lease {}", result.lease_id()) : result.url();
}

// Everything but the items is the same in a request that repeats some of them.
template <typename Request>
Request WithoutItems(Request& request) {
  Request rest;
  auto* items = Items(request);
  auto kept = std::move(*items);
  items->Clear();
  rest = request;
  *Items(request) = std::move(kept);
  return rest;
}
// A part of a poll must not look like a smaller poll.
inline v1::SignalChangesRequest WithoutItems(v1::SignalChangesRequest& request) {
  v1::SignalChangesRequest rest;
  rest.set_poll_size(request.has_poll_size() ? request.poll_size()
                                             : static_cast<uint64_t>(request.signals_size()));
  rest.set_poll_id(request.poll_id());
  return rest;
}

// One message and the rows that its items came from.
template <typename Request>
struct Batch {
  Request request;
  std::vector<uint64_t> rows;
  size_t bytes = 0;
  int attempt = 1;

  [[nodiscard]] bool Full() const {
    return rows.size() >= static_cast<size_t>(kMaxBatchItems) || bytes >= kMaxBatchBytes;
  }
};

// Counts outcomes, and reports every item that was not simply applied. Thread-compatible.
class Tally {
 public:
  // `noun` is what the items are called in the summary, for example "pages".
  Tally(const Session& session, Progress& progress, std::string noun)
      : session_(session), progress_(progress), noun_(std::move(noun)) {}

  void Applied(uint64_t items);
  void Item(uint64_t row, const std::string& name, const v1::ItemStatus& status);
  // Counts an item that was never sent as refused.
  void Refused(uint64_t row, const std::string& name, const std::string& reason);

  // Prints the summary; `unacknowledged` items are those that the connection was lost with.
  void Summarise(uint64_t unacknowledged) const;
  [[nodiscard]] ExitCode code() const { return refused_ > 0 ? kRefused : kAccepted; }
  [[nodiscard]] uint64_t items() const {
    return applied_ + duplicate_ + observed_only_ + stale_ + refused_;
  }

 private:
  const Session& session_;
  Progress& progress_;
  std::string noun_;
  uint64_t applied_ = 0;
  uint64_t duplicate_ = 0;
  uint64_t observed_only_ = 0;
  uint64_t stale_ = 0;
  uint64_t refused_ = 0;
};

// How long to wait before sending refused items again.
[[nodiscard]] std::chrono::milliseconds RetryDelay(const v1::ItemError& error, int attempt);

// Books the acknowledgement of a batch. Returns the items to send again, if any, and the longest
// delay that they were refused with.
template <typename Request>
std::pair<Batch<Request>, std::chrono::milliseconds> Book(Batch<Request>& batch,
                                                          const v1::BatchAck& ack, Tally& tally) {
  auto& items = *Items(batch.request);
  std::pair<Batch<Request>, std::chrono::milliseconds> again;
  again.first.attempt = batch.attempt + 1;
  const auto book = [&](const v1::ItemStatus& status) {
    const auto i = static_cast<int>(status.index());
    if (i >= items.size()) return;
    if (status.error().retryable() && batch.attempt < kMaxAttempts) {
      if (again.first.rows.empty()) again.first.request = WithoutItems(batch.request);
      *Items(again.first.request)->Add() = items[i];
      again.first.rows.push_back(batch.rows[status.index()]);
      again.second = std::max(again.second, RetryDelay(status.error(), batch.attempt));
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
  return again;
}

// Pipelines batches over one stream: up to kMaxBatchesInFlight are unacknowledged, items that the
// server is too busy for are sent again after the delay it names, and a server that acknowledges
// nothing for the session's call time is given up on.
//
// Owner thread only; acknowledgements are booked in a thread of its own, which is the only one to
// touch the tally until Finish returns.
template <typename Request, typename Response>
class Uploader {
 public:
  using Stream = grpc::ClientReaderWriter<Request, Response>;

  Uploader(const Session& session, Tally& tally,
           const std::function<std::unique_ptr<Stream>(grpc::ClientContext*)>& open)
      : timeout_(
            std::chrono::milliseconds(static_cast<int64_t>(session.settings().call_seconds * 1e3))),
        tally_(tally),
        stream_(open(&context_)),
        last_ack_(Clock::now()),
        reader_([this] { ReadAcks(); }),
        watchdog_([this] { Watch(); }) {}

  ~Uploader() {
    if (reader_.joinable()) (void)Finish();
  }
  Uploader(const Uploader&) = delete;
  Uploader& operator=(const Uploader&) = delete;

  // Sends a batch, waiting for room if need be. False when the stream is broken.
  bool Send(Batch<Request> batch) {
    while (Waiting() >= kMaxBatchesInFlight) {
      if (!SendAgain()) return false;
    }
    return SendNow(std::move(batch));
  }

  // Waits until everything is acknowledged, and ends the stream.
  grpc::Status Finish() {
    while (SendAgain()) {
    }
    {
      const std::lock_guard lock(mutex_);
      closing_ = true;
      last_ack_ = Clock::now();
    }
    stream_->WritesDone();
    reader_.join();
    {
      const std::lock_guard lock(mutex_);
      finished_ = true;
    }
    changed_.notify_all();
    watchdog_.join();
    grpc::Status status = stream_->Finish();
    if (status.ok() && unacknowledged() > 0) {
      status = {grpc::StatusCode::UNAVAILABLE, "the server ended the stream early"};
    }
    return status;
  }

  // Number of items that were sent and not acknowledged. For use after Finish.
  [[nodiscard]] uint64_t unacknowledged() const {
    uint64_t items = 0;
    for (const auto& batch : in_flight_) items += batch->rows.size();
    for (const auto& [due, batch] : waiting_) items += batch.rows.size();
    return items;
  }

 private:
  using Clock = std::chrono::steady_clock;

  size_t Waiting() {
    const std::lock_guard lock(mutex_);
    return waiting_.size();
  }

  // Sends the next batch that waits for another attempt, once it is due. False when there is none
  // and none can come any more, or when the stream is broken.
  bool SendAgain() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return broken_ || in_flight_.empty() || !waiting_.empty(); });
    if (broken_ || waiting_.empty()) return false;
    auto [due, batch] = std::move(waiting_.front());
    waiting_.pop_front();
    changed_.wait_until(lock, due, [this] { return broken_; });
    lock.unlock();
    return SendNow(std::move(batch));
  }

  bool SendNow(Batch<Request> unsent) {
    const auto batch = std::make_shared<Batch<Request>>(std::move(unsent));
    batch->request.set_sequence(++sequence_);
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return broken_ || in_flight_.size() < kMaxBatchesInFlight; });
      if (in_flight_.empty()) last_ack_ = Clock::now();
      in_flight_.push_back(batch);  // Counts as unacknowledged even if the stream is broken.
      if (broken_) return false;
    }
    return stream_->Write(batch->request);
  }

  void ReadAcks() {
    Response response;
    while (stream_->Read(&response) && TakeAck(response.ack())) {
    }
    {
      const std::lock_guard lock(mutex_);
      broken_ = true;
    }
    changed_.notify_all();
  }

  // False if the acknowledgement is not that of the oldest batch: then nothing can be believed.
  bool TakeAck(const v1::BatchAck& ack) {
    std::shared_ptr<Batch<Request>> batch;
    {
      const std::lock_guard lock(mutex_);
      if (in_flight_.empty() || in_flight_.front()->request.sequence() != ack.sequence()) {
        context_.TryCancel();
        return false;
      }
      batch = in_flight_.front();
    }
    auto [again, delay] = Book(*batch, ack, tally_);
    {
      const std::lock_guard lock(mutex_);
      last_ack_ = Clock::now();
      if (!again.rows.empty()) waiting_.emplace_back(last_ack_ + delay, std::move(again));
      in_flight_.pop_front();
    }
    changed_.notify_all();
    return true;
  }

  void Watch() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, timeout_ / 4, [this] { return finished_ || broken_; })) {
      const bool owed = closing_ || !in_flight_.empty();
      if (owed && Clock::now() - last_ack_ > timeout_) context_.TryCancel();
    }
  }

  const std::chrono::milliseconds timeout_;
  Tally& tally_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  uint64_t sequence_ = 0;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Batch<Request>>> in_flight_;             // guarded by mutex_
  std::deque<std::pair<Clock::time_point, Batch<Request>>> waiting_;  // guarded by mutex_
  Clock::time_point last_ack_;                                        // guarded by mutex_
  bool closing_ = false;                                              // guarded by mutex_
  bool broken_ = false;                                               // guarded by mutex_
  bool finished_ = false;                                             // guarded by mutex_
  std::thread reader_;
  std::thread watchdog_;
};

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_UPLOAD_H_
