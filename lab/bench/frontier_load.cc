#include "lab/bench/frontier_load.h"

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "sync/mutex.h"
#include "urlfrontier/urlfrontier.grpc.pb.h"

namespace freshet {
namespace {

namespace uf = urlfrontier;

constexpr uint64_t kAgainAfterSeconds = 60;

int64_t MicrosNow() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

uint64_t UnixSecondsNow() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(
                                   std::chrono::system_clock::now().time_since_epoch())
                                   .count());
}

// A PutURLs stream. `fill` makes the next item, or returns false if there is none yet. Only one
// thread at a time calls it. Thread-safe.
class PutClient final : public grpc::ClientBidiReactor<uf::URLItem, uf::AckMessage> {
 public:
  using Fill = std::function<bool(uf::URLItem*)>;

  PutClient(uf::URLFrontier::Stub& stub, Fill fill, std::atomic<uint64_t>& taken, LoadTally& tally)
      : fill_(std::move(fill)), taken_(taken), tally_(tally) {
    stub.async()->PutURLs(&context_, this);
  }

  void Begin() {
    AddHold();
    StartRead(&ack_);
    StartCall();
    Wake();
  }
  // Makes the stream try again to send.
  void Wake() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (writing_ || over_ || sent_.size() >= size_t{kFrontierWindow}) return;
    if (!filled_ && !finished_) filled_ = fill_(next_);
    if (!filled_) return;
    std::swap(item_, next_);
    sent_.push_back(MicrosNow());
    filled_ = !finished_ && sent_.size() < size_t{kFrontierWindow} && fill_(next_);
    grpc::WriteOptions options;
    if (filled_) options.set_buffer_hint();
    writing_ = true;
    StartWrite(item_, options);
  }
  void Finish() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    finished_ = true;
  }
  [[nodiscard]] bool quiet() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return over_ || (sent_.empty() && !writing_ && !filled_);
  }
  Status End() FRESHET_EXCLUDES(mutex_) {
    Finish();
    context_.TryCancel();
    RemoveHold();
    const MutexLock lock(mutex_);
    while (!status_) ended_.Wait(mutex_);
    if (status_->ok() || status_->error_code() == grpc::StatusCode::CANCELLED) return {};
    return MakeStatus(absl::StatusCode::kUnavailable, "PutURLs ended with {}",
                      status_->error_message());
  }

 private:
  void OnWriteDone(bool ok) override {
    {
      const MutexLock lock(mutex_);
      writing_ = false;
      over_ |= !ok;
    }
    Wake();
  }
  void OnReadDone(bool ok) override {
    {
      const MutexLock lock(mutex_);
      over_ |= !ok;
      if (!ok) return;
      if (!sent_.empty()) {
        tally_.acks.Add(MicrosNow() - sent_.front());
        sent_.pop_front();
      }
    }
    ++tally_.messages;
    ++(ack_.status() == uf::AckMessage::FAIL ? tally_.refused : taken_);
    StartRead(&ack_);
    Wake();
  }
  void OnDone(const grpc::Status& status) override {
    const MutexLock lock(mutex_);
    status_ = status;
    over_ = true;
    ended_.NotifyAll();
  }

  const Fill fill_;
  std::atomic<uint64_t>& taken_;
  LoadTally& tally_;
  grpc::ClientContext context_;
  uf::AckMessage ack_;  // gRPC owns it while reading
  mutable Mutex mutex_;
  Condition ended_;
  uf::URLItem items_[2];
  uf::URLItem* item_ FRESHET_GUARDED_BY(mutex_) = &items_[0];  // gRPC owns it while writing
  uf::URLItem* next_ FRESHET_GUARDED_BY(mutex_) = &items_[1];
  bool filled_ FRESHET_GUARDED_BY(mutex_) = false;  // next_ holds an item
  bool writing_ FRESHET_GUARDED_BY(mutex_) = false;
  bool finished_ FRESHET_GUARDED_BY(mutex_) = false;
  bool over_ FRESHET_GUARDED_BY(mutex_) = false;
  std::deque<int64_t> sent_ FRESHET_GUARDED_BY(mutex_);
  std::optional<grpc::Status> status_ FRESHET_GUARDED_BY(mutex_);
};

// Thread-safe.
class Putter final : public LoadClient {
 public:
  Putter(const std::shared_ptr<grpc::Channel>& channel, const SyntheticOptions& pages,
         std::atomic<uint64_t>& next, LoadTally& tally)
      : stub_(uf::URLFrontier::NewStub(channel)),
        puts_(
            *stub_,
            [pages, &next](uf::URLItem* item) {
              const uint64_t page = next++;
              if (page >= pages.pages) return false;
              WriteSyntheticUrl(pages, page,
                                item->mutable_discovered()->mutable_info()->mutable_url());
              return true;
            },
            tally.upserts, tally) {}

  void Start() override { puts_.Begin(); }
  void Finish() override { puts_.Finish(); }
  [[nodiscard]] bool quiet() const override { return puts_.quiet(); }
  Status End() override { return puts_.End(); }

 private:
  const std::unique_ptr<uf::URLFrontier::Stub> stub_;
  PutClient puts_;
};

// Thread-safe.
class Crawler final : public LoadClient {
 public:
  Crawler(const std::shared_ptr<grpc::Channel>& channel, LoadTally& tally)
      : tally_(tally),
        stub_(uf::URLFrontier::NewStub(channel)),
        puts_(
            *stub_, [this](uf::URLItem* item) { return Fill(item); }, tally.results, tally) {}

  void Start() override {
    puts_.Begin();
    Get();
  }
  void Finish() override {
    const MutexLock lock(mutex_);
    finished_ = true;
  }
  [[nodiscard]] bool quiet() const override {
    {
      const MutexLock lock(mutex_);
      if (call_ != nullptr || !fetched_.empty()) return false;
    }
    return puts_.quiet();
  }
  Status End() override {
    Finish();
    {
      const MutexLock lock(mutex_);
      if (call_ != nullptr) call_->Cancel();
      while (call_ != nullptr) ended_.Wait(mutex_);
    }
    Status ended = puts_.End();
    const MutexLock lock(mutex_);
    ended.Update(failure_);
    return ended;
  }

 private:
  // One call of GetURLs; deletes itself at the end.
  class GetCall final : public grpc::ClientReadReactor<uf::URLInfo> {
   public:
    explicit GetCall(Crawler& crawler) : crawler_(crawler) {
      params_.set_max_urls_per_queue(10);
      params_.set_max_queues(10);
      params_.set_delay_requestable(600);
    }
    void Begin() {
      crawler_.stub_->async()->GetURLs(&context_, &params_, this);
      StartRead(&info_);
      StartCall();
    }
    void Cancel() { context_.TryCancel(); }

   private:
    void OnReadDone(bool ok) override {
      if (!ok) return;
      crawler_.Take(&info_);
      StartRead(&info_);
    }
    void OnDone(const grpc::Status& status) override {
      crawler_.tally_.calls.Add(MicrosNow() - begun_);
      Crawler& crawler = crawler_;
      const grpc::Status kept = status;  // a copy, because the original is destroyed with the call
      delete this;
      crawler.OnCallDone(kept);
    }

    Crawler& crawler_;
    const int64_t begun_ = MicrosNow();
    uf::GetParams params_;
    uf::URLInfo info_;
    grpc::ClientContext context_;
  };

  void Get() FRESHET_EXCLUDES(mutex_) {
    GetCall* call = nullptr;
    {
      const MutexLock lock(mutex_);
      if (finished_) return;
      call = call_ = new GetCall(*this);
    }
    call->Begin();
  }
  void Take(uf::URLInfo* info) FRESHET_EXCLUDES(mutex_) {
    ++tally_.assignments;
    {
      const MutexLock lock(mutex_);
      fetched_.emplace_back().Swap(info);
    }
    puts_.Wake();
  }
  void OnCallDone(const grpc::Status& status) FRESHET_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      call_ = nullptr;
      if (!status.ok() && !finished_) {
        failure_ = MakeStatus(absl::StatusCode::kUnavailable, "GetURLs ended with {}",
                              status.error_message());
      }
      finished_ |= !status.ok();
      ended_.NotifyAll();
      if (finished_) return;
    }
    Get();
  }
  bool Fill(uf::URLItem* item) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (fetched_.empty()) return false;
    uf::KnownURLItem& known = *item->mutable_known();
    known.mutable_info()->Swap(&fetched_.front());
    known.set_refetchable_from_date(UnixSecondsNow() + kAgainAfterSeconds);
    fetched_.pop_front();
    return true;
  }

  LoadTally& tally_;
  const std::unique_ptr<uf::URLFrontier::Stub> stub_;
  mutable Mutex mutex_;
  Condition ended_;
  GetCall* call_ FRESHET_GUARDED_BY(mutex_) = nullptr;  // the running call
  bool finished_ FRESHET_GUARDED_BY(mutex_) = false;
  Status failure_ FRESHET_GUARDED_BY(mutex_);
  std::deque<uf::URLInfo> fetched_ FRESHET_GUARDED_BY(mutex_);  // URLs to put
  PutClient puts_;
};

}  // namespace

std::unique_ptr<LoadClient> MakeFrontierPutter(const std::shared_ptr<grpc::Channel>& channel,
                                               const SyntheticOptions& pages,
                                               std::atomic<uint64_t>& next, LoadTally& tally) {
  return std::make_unique<Putter>(channel, pages, next, tally);
}

std::unique_ptr<LoadClient> MakeFrontierCrawler(const std::shared_ptr<grpc::Channel>& channel,
                                                LoadTally& tally) {
  return std::make_unique<Crawler>(channel, tally);
}

}  // namespace freshet
