#include "lab/bench/disturbance.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "core/base/check.h"
#include "core/base/random.h"
#include "fmt/format.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "lab/bench/load.h"
#include "lab/bench/resources.h"

namespace freshet {
namespace {

using std::chrono::steady_clock;

constexpr double kSignalsPerSecond = 10'000;
constexpr int kReaders = 4;
// The factor by which the rate is raised, and how long each rate lasts.
constexpr double kMore = 1.5;
constexpr std::chrono::milliseconds kOneRate{500};
constexpr std::chrono::milliseconds kOneCertificate{100};
constexpr std::chrono::minutes kLongestOfAll{5};

class Nothing final : public Disturbance {
 public:
  Status End() override { return {}; }
  [[nodiscard]] double per_second() const override { return 0; }
};

// Calls `work` repeatedly on `threads` threads, and passes the number of earlier calls.
class Repeated : public Disturbance {
 public:
  using Work = std::function<grpc::Status(int thread, uint64_t count)>;

  Repeated(int threads, const Work& work) {
    statuses_.resize(static_cast<size_t>(threads));
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, i, work] {
        grpc::Status& status = statuses_[static_cast<size_t>(i)];
        while (!ended_ && status.ok()) status = work(i, count_++);
      });
    }
  }
  ~Repeated() override { Join(); }
  Status End() override {
    Join();
    for (const grpc::Status& status : statuses_) {
      if (!status.ok()) {
        return MakeStatus(absl::StatusCode::kUnavailable, "the server said: {}",
                          status.error_message());
      }
    }
    return {};
  }
  [[nodiscard]] double per_second() const override {
    return static_cast<double>(count_) / SecondsSince(begun_);
  }

 private:
  void Join() {
    ended_ = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }

  const steady_clock::time_point begun_ = steady_clock::now();
  std::atomic<bool> ended_ = false;
  std::atomic<uint64_t> count_ = 0;
  std::vector<grpc::Status> statuses_;
  std::vector<std::thread> threads_;
};

grpc::Status ToGrpc(const Status& status) {
  return status.ok() ? grpc::Status::OK
                     : grpc::Status(grpc::StatusCode::UNAVAILABLE, std::string(status.message()));
}

class RateChanges final : public Disturbance {
 public:
  RateChanges(Served& served, double rate)
      : greatest_(kMore * rate), repeated_(1, [&served, rate](int, uint64_t count) {
          std::this_thread::sleep_for(kOneRate);
          return ToGrpc(served.SetCrawlRate(count % 2 == 0 ? kMore * rate : rate));
        }) {}
  Status End() override { return repeated_.End(); }
  [[nodiscard]] double per_second() const override { return repeated_.per_second(); }
  [[nodiscard]] std::optional<double> greatest_rate() const override { return greatest_; }

 private:
  const double greatest_;
  Repeated repeated_;
};

// Sends a stream of signals at a constant rate.
class Signals final : public Disturbance {
 public:
  Signals(const Served& served, const SyntheticOptions& pages) {
    constexpr int kBatch = 100;
    constexpr int kInFlight = 64;
    FillSignals fill = [this, random = RandomSignals(pages, kBatch, /*seed=*/7)](
                           v1::SignalChangesRequest* request) {
      const double due = kSignalsPerSecond * SecondsSince(begun_);
      if (static_cast<double>(filled_ + kBatch) > due) return 0;
      filled_ += kBatch;
      return random(request);
    };
    stream_ = MakeSignalStream(served.NewChannel(), std::move(fill), kInFlight, tally_);
    stream_->Start();
    waker_ = std::thread([this] {
      while (!ended_) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        stream_->Wake();
      }
    });
  }
  ~Signals() override { Join(); }
  Status End() override {
    Join();
    return stream_->End();
  }
  [[nodiscard]] double per_second() const override {
    return static_cast<double>(tally_.signals) / SecondsSince(begun_);
  }

 private:
  void Join() {
    ended_ = true;
    if (waker_.joinable()) waker_.join();
  }

  const steady_clock::time_point begun_ = steady_clock::now();
  uint64_t filled_ = 0;  // items filled so far; only the stream uses it
  LoadTally tally_;
  std::unique_ptr<ItemStream> stream_;
  std::atomic<bool> ended_ = false;
  std::thread waker_;
};

std::unique_ptr<Disturbance> Reads(const Served& served, const SyntheticOptions& pages) {
  std::vector<std::shared_ptr<v1::PagesService::Stub>> stubs;
  for (int i = 0; i < kReaders; ++i)
    stubs.push_back(v1::PagesService::NewStub(served.NewChannel()));
  return std::make_unique<Repeated>(kReaders, [stubs, pages](int thread, uint64_t count) {
    grpc::ClientContext call;
    v1::GetPageRequest request;
    WriteSyntheticUrl(pages, Random(count).Below(pages.pages), request.mutable_url());
    v1::GetPageResponse response;
    return stubs[static_cast<size_t>(thread)]->GetPage(&call, request, &response);
  });
}

std::unique_ptr<Disturbance> OneAfterTheOther(
    const Served& served,
    const std::function<grpc::Status(v1::AdminService::Stub&, grpc::ClientContext*, uint64_t)>&
        work) {
  const std::shared_ptr<v1::AdminService::Stub> stub =
      v1::AdminService::NewStub(served.NewChannel());
  return std::make_unique<Repeated>(1, [stub, work](int, uint64_t count) {
    grpc::ClientContext call;
    call.set_deadline(std::chrono::system_clock::now() + kLongestOfAll);
    return work(*stub, &call, count);
  });
}

}  // namespace

const std::vector<std::string>& Besides() {
  static const std::vector<std::string> kNames = {kNothingBeside, "rate-changes", "signals",
                                                  "reads",        "epochs",       "checkpoints",
                                                  "compactions",  kCertificates};
  return kNames;
}

std::unique_ptr<Disturbance> MakeDisturbance(const std::string& name, Served& served,
                                             const SyntheticOptions& pages, double rate) {
  if (name == kNothingBeside) return std::make_unique<Nothing>();
  if (name == "rate-changes") return std::make_unique<RateChanges>(served, rate);
  if (name == "signals") return std::make_unique<Signals>(served, pages);
  if (name == "reads") return Reads(served, pages);
  if (name == "epochs") {
    return OneAfterTheOther(served,
                            [](v1::AdminService::Stub& admin, grpc::ClientContext* call, uint64_t) {
                              v1::RunEpochResponse response;
                              return admin.RunEpoch(call, v1::RunEpochRequest(), &response);
                            });
  }
  if (name == "compactions") {
    return OneAfterTheOther(served,
                            [](v1::AdminService::Stub& admin, grpc::ClientContext* call, uint64_t) {
                              v1::CompactStoreResponse response;
                              return admin.CompactStore(call, v1::CompactStoreRequest(), &response);
                            });
  }
  if (name == kCertificates) {
    return std::make_unique<Repeated>(1, [&served](int, uint64_t) {
      std::this_thread::sleep_for(kOneCertificate);
      return ToGrpc(served.ReplaceCertificate());
    });
  }
  CHECK(name == "checkpoints", "{} is nothing that can be done", name);
  // Makes names that no earlier measurement of this server has used.
  const auto run = steady_clock::now().time_since_epoch().count();
  return OneAfterTheOther(
      served, [run](v1::AdminService::Stub& admin, grpc::ClientContext* call, uint64_t count) {
        v1::CreateCheckpointRequest request;
        request.set_name(fmt::format("bench-{}-{}", run, count));
        v1::CreateCheckpointResponse response;
        return admin.CreateCheckpoint(call, request, &response);
      });
}

}  // namespace freshet
