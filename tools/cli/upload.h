// Sends any number of items in batches and reports the outcome of each.
#ifndef FRESHET_TOOLS_CLI_UPLOAD_H_
#define FRESHET_TOOLS_CLI_UPLOAD_H_

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include "sync/mutex.h"
#include "tools/cli/item_batch.h"
#include "tools/cli/session.h"
#include "tools/cli/tally.h"

namespace freshet::cli {

// Sends batches over one stream, with up to kMaxBatchesInFlight unacknowledged. Items for which the
// server is too busy are sent again after the delay that the server names. The uploader gives up if
// the server acknowledges nothing for call_seconds (Settings).
//
// Owner thread only. An internal thread books acknowledgements, so no other thread may use the
// tally until Finish has returned.
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

  // Sends a batch. Waits while too many batches are in flight. Returns false if the stream is
  // broken.
  bool Send(Batch<Request> batch) {
    while (Waiting() >= kMaxBatchesInFlight) {
      if (!SendAgain()) return false;
    }
    return SendNow(std::move(batch));
  }

  // Waits until all sent items are acknowledged. Returns false if the stream is broken.
  bool Drain() {
    while (SendAgain()) {
    }
    const MutexLock lock(mutex_);
    return !broken_;
  }

  // Waits until all sent items are acknowledged, and ends the stream.
  grpc::Status Finish() {
    while (SendAgain()) {
    }
    {
      const MutexLock lock(mutex_);
      closing_ = true;
      last_ack_ = Clock::now();
    }
    stream_->WritesDone();
    reader_.join();
    {
      const MutexLock lock(mutex_);
      finished_ = true;
    }
    changed_.NotifyAll();
    watchdog_.join();
    grpc::Status status = stream_->Finish();
    if (status.ok() && unacknowledged() > 0) {
      status = {grpc::StatusCode::UNAVAILABLE, "the server ended the stream early"};
    }
    return status;
  }

  // Returns the number of sent items without an acknowledgement. Must be called after Finish.
  [[nodiscard]] uint64_t unacknowledged() const {
    const MutexLock lock(mutex_);
    uint64_t items = 0;
    for (const auto& batch : in_flight_) items += batch->rows.size();
    for (const auto& [due, batch] : waiting_) items += batch.rows.size();
    return items;
  }

 private:
  using Clock = std::chrono::steady_clock;

  size_t Waiting() {
    const MutexLock lock(mutex_);
    return waiting_.size();
  }

  // Waits until the next waiting batch is due, and sends it again. Returns false if the stream is
  // broken, or if no batch waits and none can be added any more.
  bool SendAgain() {
    MutexLock lock(mutex_);
    while (!broken_ && !in_flight_.empty() && waiting_.empty()) changed_.Wait(mutex_);
    if (broken_ || waiting_.empty()) return false;
    auto [due, batch] = std::move(waiting_.front());
    waiting_.pop_front();
    while (!broken_ && Clock::now() < due) changed_.WaitUntil(mutex_, due);
    lock.Unlock();
    return SendNow(std::move(batch));
  }

  bool SendNow(Batch<Request> unsent) {
    const auto batch = std::make_shared<Batch<Request>>(std::move(unsent));
    batch->request.set_sequence(++sequence_);
    {
      const MutexLock lock(mutex_);
      while (!broken_ && in_flight_.size() >= kMaxBatchesInFlight) changed_.Wait(mutex_);
      if (in_flight_.empty()) last_ack_ = Clock::now();
      in_flight_.push_back(batch);  // counts as unacknowledged even if the stream is broken
      if (broken_) return false;
    }
    return stream_->Write(batch->request);
  }

  void ReadAcks() {
    Response response;
    while (stream_->Read(&response) && TakeAck(response.ack())) {
    }
    {
      const MutexLock lock(mutex_);
      broken_ = true;
    }
    changed_.NotifyAll();
  }

  // Returns false if the acknowledgement is not for the oldest batch. No acknowledgement can be
  // trusted then.
  bool TakeAck(const v1::BatchAck& ack) {
    std::shared_ptr<Batch<Request>> batch;
    {
      const MutexLock lock(mutex_);
      if (in_flight_.empty() || in_flight_.front()->request.sequence() != ack.sequence()) {
        context_.TryCancel();
        return false;
      }
      batch = in_flight_.front();
    }
    auto [again, delay] = Book(*batch, ack, tally_);
    {
      const MutexLock lock(mutex_);
      last_ack_ = Clock::now();
      if (!again.rows.empty()) waiting_.emplace_back(last_ack_ + delay, std::move(again));
      in_flight_.pop_front();
    }
    changed_.NotifyAll();
    return true;
  }

  void Watch() {
    const MutexLock lock(mutex_);
    while (!finished_ && !broken_) {
      changed_.WaitFor(mutex_, timeout_ / 4);
      const bool owed = closing_ || !in_flight_.empty();
      if (owed && Clock::now() - last_ack_ > timeout_) context_.TryCancel();
    }
  }

  const std::chrono::milliseconds timeout_;
  Tally& tally_;
  grpc::ClientContext context_;
  std::unique_ptr<Stream> stream_;
  uint64_t sequence_ = 0;
  mutable Mutex mutex_;
  Condition changed_;
  std::deque<std::shared_ptr<Batch<Request>>> in_flight_ FRESHET_GUARDED_BY(mutex_);
  std::deque<std::pair<Clock::time_point, Batch<Request>>> waiting_ FRESHET_GUARDED_BY(mutex_);
  Clock::time_point last_ack_ FRESHET_GUARDED_BY(mutex_);
  bool closing_ FRESHET_GUARDED_BY(mutex_) = false;
  bool broken_ FRESHET_GUARDED_BY(mutex_) = false;
  bool finished_ FRESHET_GUARDED_BY(mutex_) = false;
  std::thread reader_;
  std::thread watchdog_;
};

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_UPLOAD_H_
