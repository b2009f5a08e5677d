#include "server/fleet/shared_settings.h"

#include <optional>
#include <utility>

#include "core/base/check.h"
#include "core/model/settings.h"
#include "core/schedule/event.h"
#include "server/api/divisions.h"
#include "server/api/wire.h"
#include "server/engine/dispatcher.h"
#include "server/engine/runtime_settings.h"
#include "server/fleet/fleet_run.h"
#include "server/fleet/settings_keeper.h"
#include "server/fleet/settings_taking.h"
#include "spdlog/spdlog.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

constexpr const char* kShareSettingsPath = "/freshet.v1.FleetService/ShareSettings";
constexpr Duration kAttendSettingsEvery = Duration::Millis(250);
// The wait after an error, and after settings that could not be applied.
constexpr Duration kSettingsRest = Duration::Seconds(1);
// The keeper is shown as reachable for this long after its last answer. It answers every second.
constexpr Duration kHeardLately = Duration::Seconds(3);

}  // namespace

// --- The keeper

// Thread-safe.
class SharedSettings::Keeping {
 public:
  Keeping(const SharedSettingsOptions& options, Clock& clock, const ServerContext& context)
      : context_(context),
        keeper_(options.division, options.generation, clock,
                [&context](const std::string& after) { return SettingsOf(context, after); }) {}

  void Hear(const v1::ShareSettingsRequest& report, Answered answered) {
    if (!report.has_pause() || context_.dispatcher.pause()) {
      return keeper_.Hear(report, std::move(answered));
    }
    const std::string& reason = report.pause();
    const auto change = [reason](Settings* settings) {
      settings->paused = true;
      settings->pause_reason = reason;
    };
    context_.settings.Change(
        change, [this, report, answered = std::move(answered)](const Reply& reply) mutable {
          if (!reply.status.ok()) return answered(reply.status);
          (void)context_.dispatcher.SetPaused(true, report.pause());
          keeper_.Publish(nullptr);
          keeper_.Hear(report, std::move(answered));
        });
  }

  [[nodiscard]] SettingsKeeper& keeper() { return keeper_; }

 private:
  const ServerContext& context_;
  SettingsKeeper keeper_;
};

// --- The others

// Thread-safe.
class SharedSettings::Following : public std::enable_shared_from_this<Following> {
 public:
  Following(const SharedSettingsOptions& options, Clock& clock, const ServerContext& context,
            std::function<bool()> serves)
      : options_(options), clock_(clock), context_(context), serves_(std::move(serves)) {}

  void Ask() FRESHET_EXCLUDES(mutex_) {
    v1::ShareSettingsRequest request;
    {
      const MutexLock lock(mutex_);
      if (stopped_ || asks_ || takes_ || clock_.Now() < rests_until_ || !serves_()) return;
      asks_ = true;
      request = ReportNow();
    }
    context_.divisions->Open(SlotDivision::kKeeper, kShareSettingsPath, {.sent_on = true})
        ->Send(SerialiseMessage(request),
               [self = shared_from_this(), request](const StatusOr<grpc::ByteBuffer>& answer) {
                 self->Take(request, ResponseIn<v1::ShareSettingsResponse>(answer));
               });
  }
  void Stop() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    stopped_ = true;
  }
  [[nodiscard]] bool hears_keeper() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return heard_ && clock_.Now() < *heard_ + kHeardLately;
  }
  void KeepPause(const std::string& reason) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    pause_ = reason;
  }
  void Forget() FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    taken_ = in_force_ = 0;
  }

 private:
  [[nodiscard]] v1::ShareSettingsRequest ReportNow() const FRESHET_REQUIRES(mutex_) {
    v1::ShareSettingsRequest request;
    request.set_node(FleetRunOf(options_.division, options_.generation));
    request.set_division(options_.division.division);
    request.set_taken(taken_);
    request.set_in_force(in_force_);
    request.set_after_crawl_id(after_);
    if (fault_) *request.mutable_fault() = *fault_;
    if (pause_) request.set_pause(*pause_);
    return request;
  }

  void Take(const v1::ShareSettingsRequest& request,
            const StatusOr<v1::ShareSettingsResponse>& response) FRESHET_EXCLUDES(mutex_) {
    bool stay_paused = false;
    uint64_t version = 0;
    {
      const MutexLock lock(mutex_);
      asks_ = false;
      const Instant now = clock_.Now();
      if (stopped_) return;
      if (!response.ok()) {
        NoteUnheard(response.status(), now);
        return;
      }
      heard_ = now;
      // A pause that was set while the report was under way is sent with the next report.
      if (request.has_pause() && pause_ == request.pause()) pause_.reset();
      stay_paused = pause_.has_value();
      takes_ = response->has_settings();
      // The version of the first part is used for all parts, because later parts are at least as
      // new.
      if (takes_ && after_.empty()) version_ = response->settings().version();
      version = version_;
    }
    if (!response->has_settings()) return Ask();
    const v1::FleetSettings& part = response->settings();
    std::string last;
    if (part.more() && !part.crawls().empty()) last = part.crawls().rbegin()->crawl_id();
    TakeSettings(context_, part, stay_paused,
                 {.stored = [self = shared_from_this(),
                             last](const Status& status) { self->OnStored(last, status); },
                  .in_force = [self = shared_from_this(), version = last.empty() ? version : 0](
                                  const Status& status) { self->OnInForce(version, status); }});
  }

  void NoteUnheard(const Status& why, Instant now) FRESHET_REQUIRES(mutex_) {
    rests_until_ = now + kSettingsRest;
    after_.clear();
    if (!heard_) return;
    heard_.reset();
    spdlog::warn("the settings of the fleet are not known at the moment: division {}: {}",
                 SlotDivision::kKeeper, std::string(why.message()));
  }

  void OnStored(const std::string& last, const Status& status) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    takes_ = false;
    if (!status.ok()) return Fail(status);
    after_ = last;
    if (!last.empty()) return;
    taken_ = version_;
    spdlog::info("settings of the fleet are taken over, version {}", version_);
  }

  // `version`: 0 = more parts follow. OnInForce can be called after later parts were stored: a
  // later pause, for example, does not wait until the plan of an earlier policy is in force.
  void OnInForce(uint64_t version, const Status& status) FRESHET_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (!status.ok()) {
        Fail(status);
      } else if (version > in_force_) {
        in_force_ = version;
        fault_.reset();
      }
    }
    Ask();
  }

  void Fail(const Status& why) FRESHET_REQUIRES(mutex_) {
    rests_until_ = clock_.Now() + kSettingsRest;
    after_.clear();
    taken_ = 0;
    const bool again = fault_ && fault_->version() == version_;
    fault_.emplace();
    fault_->set_version(version_);
    fault_->set_code(static_cast<uint32_t>(why.code()));
    fault_->set_text(std::string(why.message()));
    if (!again) {
      spdlog::warn("settings of the fleet are not taken over: {}", std::string(why.message()));
    }
  }

  const SharedSettingsOptions options_;
  Clock& clock_;
  const ServerContext& context_;
  const std::function<bool()> serves_;
  mutable Mutex mutex_;
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  bool asks_ FRESHET_GUARDED_BY(mutex_) = false;     // an answer is awaited
  bool takes_ FRESHET_GUARDED_BY(mutex_) = false;    // a part is being stored
  uint64_t version_ FRESHET_GUARDED_BY(mutex_) = 0;  // version of the settings being taken over
  // The last stored crawl id; empty = at the beginning.
  std::string after_ FRESHET_GUARDED_BY(mutex_);
  uint64_t taken_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t in_force_ FRESHET_GUARDED_BY(mutex_) = 0;
  std::optional<v1::FleetSettingsFault> fault_ FRESHET_GUARDED_BY(mutex_);
  std::optional<std::string> pause_ FRESHET_GUARDED_BY(mutex_);  // not yet known to the keeper
  std::optional<Instant> heard_ FRESHET_GUARDED_BY(mutex_);
  Instant rests_until_ FRESHET_GUARDED_BY(mutex_);
};

// --- Both

SharedSettings::SharedSettings(const SharedSettingsOptions& options, Clock& clock,
                               std::function<bool()> serves)
    : options_(options), clock_(clock), serves_(std::move(serves)) {}
SharedSettings::~SharedSettings() { Stop(); }

void SharedSettings::Start(const ServerContext& context) {
  if (options_.division.keeps()) {
    keeping_ = std::make_unique<Keeping>(options_, clock_, context);
    attender_ =
        std::make_unique<Ticker>(kAttendSettingsEvery, [this] { keeping_->keeper().Attend(); });
  } else {
    following_ = std::make_shared<Following>(options_, clock_, context, serves_);
    attender_ = std::make_unique<Ticker>(kAttendSettingsEvery, [its = following_] { its->Ask(); });
  }
}

void SharedSettings::Stop() {
  if (attender_ != nullptr) attender_->Stop();
  if (keeping_ != nullptr) keeping_->keeper().Stop();
  if (following_ != nullptr) following_->Stop();
}

void SharedSettings::Publish(Published done) { keeping_->keeper().Publish(std::move(done)); }
void SharedSettings::Hear(const v1::ShareSettingsRequest& report, Answered answered) {
  if (keeping_ == nullptr) {
    return answered(MakeStatus(
        absl::StatusCode::kFailedPrecondition,
        "this server does not store the settings of the cluster: the server of division 0 does"));
  }
  keeping_->Hear(report, std::move(answered));
}
bool SharedSettings::hears_keeper() const { return following_->hears_keeper(); }
void SharedSettings::KeepPause(const std::string& reason) { following_->KeepPause(reason); }
void SharedSettings::Forget() { following_->Forget(); }

}  // namespace freshet
