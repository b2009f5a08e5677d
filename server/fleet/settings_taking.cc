#include "server/fleet/settings_taking.h"

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/base/url.h"
#include "server/api/crawls_and_hosts.h"
#include "server/api/from_proto.h"
#include "server/api/to_proto.h"
#include "server/config.h"
#include "server/engine/crawls.h"
#include "server/engine/epochs_of_all.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// The maximum number of crawl ids in one part.
constexpr int kCrawlsInPart = 1000;

void SettingsToProto(const CrawlRecord& crawl, v1::FleetCrawl* out) {
  v1::Crawl whole;
  ToProto(crawl, FrontierMode::kDates, {}, &whole);
  out->set_crawl_id(crawl.crawl_id);
  *out->mutable_settings() = std::move(*whole.mutable_settings());
  out->set_deleting(crawl.deleting);
}

// Makes the request that sets all settings of the crawl id.
v1::SetCrawlRequest RequestOf(const v1::FleetCrawl& crawl) {
  const v1::CrawlSettings& its = crawl.settings();
  v1::SetCrawlRequest request;
  request.set_crawl_id(crawl.crawl_id());
  request.set_reset(true);
  if (its.has_share()) request.set_share(its.share());
  if (its.has_max_rate_per_second()) request.set_max_rate_per_second(its.max_rate_per_second());
  if (its.has_max_pages()) request.set_max_pages(its.max_pages());
  if (its.has_min_delay()) *request.mutable_min_delay() = its.min_delay();
  if (its.has_max_in_flight()) request.set_max_in_flight(its.max_in_flight());
  if (its.has_min_page_interval()) *request.mutable_min_page_interval() = its.min_page_interval();
  request.set_frontier_mode(its.frontier_mode());
  return request;
}

v1::SetPolitenessDefaultsRequest PolitenessOf(const Settings& settings) {
  v1::SetPolitenessDefaultsRequest request;
  request.set_reset(true);
  if (settings.min_delay) ToProto(*settings.min_delay, request.mutable_min_delay());
  if (settings.max_in_flight) request.set_max_in_flight(*settings.max_in_flight);
  if (settings.min_page_interval) {
    ToProto(*settings.min_page_interval, request.mutable_min_page_interval());
  }
  return request;
}

// Applies one part, step by step. Thread-safe.
class Taking final : public std::enable_shared_from_this<Taking> {
 public:
  Taking(const ServerContext& context, v1::FleetSettings part, bool stay_paused, TakingDone done)
      : context_(context),
        part_(std::move(part)),
        stay_paused_(stay_paused),
        done_(std::move(done)) {}

  void Begin() {
    const Status planned = Plan();
    if (!planned.ok()) return done_.stored(planned);
    Next();
  }

 private:
  using Step = std::function<void()>;

  // Converts the part into steps. A malformed part is refused here, before anything changes.
  [[nodiscard]] Status Plan() {
    if (part_.after_crawl_id().empty()) {
      RETURN_IF_ERROR(
          ValidateText("pause_reason", part_.pause_reason(), limits::kMaxPauseReasonBytes));
      ASSIGN_OR_RETURN(politeness_, ConvertDefaults(part_.politeness()));
      const std::string name = part_.has_policy() ? part_.policy() : context_.config.policy;
      ASSIGN_OR_RETURN(policy_, ResolvePolicy(name, context_.config.signal_delay));
      policy_name_ = name;
      steps_.emplace_back([this] { ChangeSettings(); });
      for (const v1::FleetSource& source : part_.sources()) {
        steps_.emplace_back([this, source] { ChangeSource(source); });
      }
    }
    return PlanCrawls();
  }

  [[nodiscard]] Status PlanCrawls() {
    std::map<std::string, CrawlRecord> wanted;
    for (const v1::FleetCrawl& crawl : part_.crawls()) {
      ASSIGN_OR_RETURN(const std::string id, CanonicalCrawlId(crawl.crawl_id()));
      ASSIGN_OR_RETURN(const auto set, ConvertCrawl(RequestOf(crawl)));
      CrawlRecord& record = wanted[id];
      record.crawl_id = id;
      set(&record);
      record.deleting = crawl.deleting();
    }
    if (part_.more() && wanted.empty())
      return InvalidArgument("crawls: this part of the list is empty, although more parts follow");
    const std::string last = part_.more() ? wanted.rbegin()->first : std::string();
    for (const CrawlRecord& own : context_.crawls.All()) {
      const std::string& id = own.crawl_id;
      const bool in_part = id > part_.after_crawl_id() && (!part_.more() || id <= last);
      // If the part leaves out this crawl id, the keeper has no settings for it, so its settings
      // are reset here. A crawl id that is being deleted loses its record at the end of the
      // deletion.
      if (in_part && !own.deleting) wanted.try_emplace(id, CrawlRecord{.crawl_id = id});
    }
    for (const auto& [id, record] : wanted) {
      if (record == context_.crawls.Find(id)) continue;
      steps_.emplace_back([this, taken = record] { ChangeCrawl(taken); });
    }
    return absl::OkStatus();
  }

  void Next() {
    if (steps_.empty()) {
      done_.stored(absl::OkStatus());
      return EndEffect(absl::OkStatus());
    }
    const Step step = std::move(steps_.front());
    steps_.pop_front();
    step();
  }

  void GoOn(const Status& status) {
    if (!status.ok()) return done_.stored(status);
    Next();
  }

  // --- Settings

  void ChangeSettings() {
    const auto before = std::make_shared<Settings>();
    const auto after = std::make_shared<Settings>();
    const auto change = [self = shared_from_this(), before, after](Settings* settings) {
      *before = *settings;
      settings->policy.reset();
      if (self->part_.has_policy()) settings->policy = self->part_.policy();
      if (self->part_.paused() || !self->stay_paused_) {
        settings->paused = self->part_.paused();
        settings->pause_reason = self->part_.pause_reason();
      }
      self->politeness_(settings);
      *after = *settings;
    };
    context_.settings.Change(change, [self = shared_from_this(), before, after](Reply reply) {
      if (reply.status.ok()) self->PutInForce(*before, *after);
      self->GoOn(reply.status);
    });
  }

  void PutInForce(const Settings& before, const Settings& after) {
    const std::optional<std::string> pause =
        after.paused ? std::optional(after.pause_reason) : std::nullopt;
    if (pause != context_.dispatcher.pause()) {
      (void)context_.dispatcher.SetPaused(after.paused, after.pause_reason);
    }
    const auto end = [self = shared_from_this()](const Status& status) { self->EndEffect(status); };
    const PolitenessDefaults configured = context_.settings.configured();
    const PolitenessDefaults was = PolitenessIn(before, configured);
    const PolitenessDefaults now = PolitenessIn(after, configured);
    if (was != now) {
      ++effects_;
      ChangePoliteness(context_.router, now, was.min_page_interval != now.min_page_interval, end);
    }
    if (policy_name_ == context_.settings.policy()) return;
    ++effects_;
    const PolicyStatus policies = PolicyNow(context_.router, context_.settings);
    context_.settings.set_policy(policy_name_, policies.pending.empty());
    ChangePolicy(context_.router, context_.plans, policy_, end);
  }

  void EndEffect(const Status& status) {
    Status all;
    {
      const MutexLock lock(mutex_);
      effect_.Update(status);
      all = effect_;
    }
    if (--effects_ == 0) done_.in_force(all);
  }

  // --- Sources and crawl ids

  void ChangeSource(const v1::FleetSource& source) {
    if (context_.sources.Find(source.source()).has_value() != source.retired()) return Next();
    const Status valid = ValidateSourceName(source.source());
    if (!valid.ok()) return GoOn(valid);
    StatusOr<SourceRecord> record = context_.sources.Propose(source.source());
    if (!record.ok()) return GoOn(record.status());
    record->retired = source.retired();
    context_.router.SubmitAlways(Slot(), SetSource{*record},
                                 [self = shared_from_this(), record = *record](Reply reply) {
                                   if (reply.status.ok()) {
                                     self->context_.sources.Add(record);
                                   } else {
                                     self->context_.sources.Withdraw(record.name);
                                   }
                                   self->GoOn(reply.status);
                                 });
  }

  void ChangeCrawl(const CrawlRecord& wanted) {
    const auto before = std::make_shared<CrawlRecord>();
    const auto change = [wanted, before](CrawlRecord* record) -> Status {
      *before = *record;
      if (record->deleting && !wanted.deleting) {
        return MakeStatus(absl::StatusCode::kFailedPrecondition, "crawl_id: {} is being deleted",
                          wanted.crawl_id);
      }
      *record = wanted;
      return absl::OkStatus();
    };
    context_.crawls.Set(
        wanted.crawl_id, change,
        [self = shared_from_this(), before](const Status& status, const CrawlRecord& record) {
          if (status.ok()) FollowCrawl(self->context_, *before, record);
          self->GoOn(status);
        });
  }

  const ServerContext& context_;
  const v1::FleetSettings part_;
  const bool stay_paused_;
  const TakingDone done_;
  // Only the running step uses the following fields.
  std::function<void(Settings*)> politeness_;
  CrawlPolicy policy_;
  std::string policy_name_;
  std::deque<Step> steps_;
  std::atomic<int> effects_ = 1;  // effects under way, plus one for the steps
  Mutex mutex_;
  Status effect_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace

v1::FleetSettings SettingsOf(const ServerContext& context, const std::string& after_crawl_id) {
  v1::FleetSettings part;
  part.set_after_crawl_id(after_crawl_id);
  if (after_crawl_id.empty()) {
    const Settings settings = context.settings.stored();
    if (settings.policy) part.set_policy(*settings.policy);
    part.set_paused(settings.paused);
    part.set_pause_reason(settings.pause_reason);
    *part.mutable_politeness() = PolitenessOf(settings);
    for (const SourceRecord& source : context.sources.AllKnown()) {
      v1::FleetSource* const out = part.add_sources();
      out->set_source(source.name);
      out->set_retired(source.retired);
    }
  }
  for (const CrawlRecord& crawl : context.crawls.All()) {
    if (crawl.crawl_id <= after_crawl_id) continue;
    if (part.crawls_size() == kCrawlsInPart) {
      part.set_more(true);
      break;
    }
    SettingsToProto(crawl, part.add_crawls());
  }
  return part;
}

void TakeSettings(const ServerContext& context, v1::FleetSettings part, bool stay_paused,
                  TakingDone done) {
  std::make_shared<Taking>(context, std::move(part), stay_paused, std::move(done))->Begin();
}

}  // namespace freshet
