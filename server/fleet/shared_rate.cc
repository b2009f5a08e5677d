#include "server/fleet/shared_rate.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "freshet/v1/fleet.grpc.pb.h"
#include "server/api/wire.h"
#include "server/engine/dispatcher.h"
#include "server/engine/plan_runner.h"
#include "server/fleet/fleet_run.h"
#include "server/fleet/rate_wire.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

constexpr const char* kPath = "/freshet.v1.FleetService/ShareRate";
constexpr Duration kFindEvery = Duration::Millis(500);
// Plans are made again only if the rate changes by more than this share, because making a plan
// takes a pass over all pages.
constexpr double kPlanAgain = 0.1;
// A server that gave up the lead takes no part in the election for this share of the silence
// (SharingOptions). By the end of that time another server leads. If none does, grants last until
// this server leads again.
constexpr double kRestsFor = 0.5;
// A server that has had no grant for this many lifetimes of a grant reports that it is cut off.
constexpr int kCutOffAfter = 2;

}  // namespace

FleetRateOptions SharingOptions(uint32_t divisions, Duration silence) {
  FleetRateOptions options;
  options.places = divisions;
  // Grants last long enough for another server to be elected and found.
  options.lifetime = std::max(options.lifetime, silence * 2);
  options.silence = std::max(options.silence, silence);
  return options;
}

SharedRate::SharedRate(const SharedRateOptions& options, Clock& clock, Router& router,
                       Dispatcher& dispatcher, PlanRunner& plans, Divisions& divisions,
                       std::function<bool()> serves, Stand stand)
    : options_(options),
      sharing_(SharingOptions(options.division.divisions, options.silence)),
      clock_(clock),
      dispatcher_(dispatcher),
      plans_(plans),
      divisions_(divisions),
      stand_(std::move(stand)),
      probe_(router, clock),
      leadership_(sharing_, clock, [this] { return Leads(); }),
      review_(sharing_),
      member_(NodeId(FleetRunOf(options.division, options.generation)), options.division.division,
              sharing_, clock,
              {.serves = std::move(serves),
               .describe =
                   [this](RateReport* report) {
                     const PriceProbe::Figures figures = probe_.figures();
                     report->price = figures.price;
                     report->demand = figures.demand;
                     report->pages = figures.pages;
                     probe_.Ask();
                   },
               .handed_out = [this] { return CountHandedOut(); },
               .send =
                   [this](const RateReport& report, RateMemberHooks::Answered answered) {
                     Send(report, std::move(answered));
                   },
               .obey = [this](Rate rate) { Obey(rate); }}) {
  if (keeps()) total_ = FleetTotal{options.total, clock.Now()};
}

void SharedRate::Start() {
  finder_ = std::make_unique<Ticker>(kFindEvery, [this] { FindLeader(); });
  attender_ = std::make_unique<Ticker>(RateLeadership::Tick(), [this] { Attend(); });
}

void SharedRate::Stop() {
  if (attender_ != nullptr) attender_->Stop();
  if (finder_ != nullptr) finder_->Stop();
  leadership_.Stop();
  member_.Stop();
  // Leaving the election can take a while. It is done on another thread, so that it does not delay
  // the handover of the division.
  std::vector<std::shared_ptr<void>> ended;
  {
    const MutexLock lock(mutex_);
    if (election_ != nullptr) ended.push_back(std::move(election_));
  }
  leaver_.Destroy(std::move(ended));
}

std::optional<uint64_t> SharedRate::Leads() const {
  std::shared_ptr<RateElection> election;
  {
    const MutexLock lock(mutex_);
    election = election_;
  }
  return election == nullptr ? std::nullopt : election->leads();
}

std::shared_ptr<RateElection> SharedRate::Election() {
  {
    const MutexLock lock(mutex_);
    if (election_ != nullptr) return election_;
  }
  if (clock_.Now() < stands_from_) return nullptr;
  StatusOr<std::unique_ptr<RateElection>> election = stand_();
  if (!election.ok()) {
    spdlog::warn("who shares out the crawl rate is not known: {}",
                 std::string(election.status().message()));
    return nullptr;
  }
  const MutexLock lock(mutex_);
  return election_ = *std::move(election);
}

void SharedRate::ReviewLead() {
  size_t serving = 1;
  const SlotDivision own = options_.division;
  for (uint32_t division = 0; division < own.divisions; ++division) {
    if (division != own.division && divisions_.IsServed(division)) ++serving;
  }
  const std::optional<FleetRateFigures> figures = leadership_.figures();
  if (!review_.GivesUp(figures, serving, clock_.Now())) return;
  spdlog::warn(
      "this server gives up sharing out the crawl rate: of {} servers {} report to it, and {} "
      "cannot obey what it grants, as clocks differ",
      serving, figures->nodes, figures->refusing);
  std::shared_ptr<RateElection> given_up;
  {
    const MutexLock lock(mutex_);
    given_up.swap(election_);
  }
  // This is done without the lock, because leaving the election can take a while.
  given_up.reset();
  stands_from_ = clock_.Now() + Duration::FromSeconds(options_.silence.seconds() * kRestsFor);
}

void SharedRate::FindLeader() {
  ReviewLead();
  const std::shared_ptr<RateElection> election = Election();
  if (election == nullptr) return;
  const StatusOr<std::optional<uint32_t>> leader = election->Leader();
  if (!leader.ok() || !*leader || **leader >= options_.division.divisions) return;
  {
    const MutexLock lock(mutex_);
    if (leader_ == *leader) return;
    leader_ = *leader;
  }
  spdlog::info("the server of division {} shares out the crawl rate", **leader);
  member_.HearOfLeader();
}

void SharedRate::Attend() {
  leadership_.Attend();
  member_.Attend();
}

HandedOut SharedRate::CountHandedOut() const {
  const DispatchStats stats = dispatcher_.stats();
  return {.assignments = stats.assignments,
          .ticks_without_credit = stats.ticks_without_credit,
          .credit = stats.credit + stats.waiting_credit};
}

void SharedRate::Obey(Rate rate) {
  (void)dispatcher_.SetRate(rate);
  // With a plan for the rate 0, no page would be crawled until the next plan.
  if (rate == Rate()) return;
  const double planned = planned_;
  if (std::abs(rate.per_second() - planned) <= kPlanAgain * planned) return;
  planned_ = rate.per_second();
  plans_.Poke();
}

// --- The fleet's rate

std::optional<FleetTotal> SharedRate::TotalAsOf(Instant sent) {
  const MutexLock lock(mutex_);
  // The keeper confirms the rate as of `sent`, when this server certainly was the keeper.
  if (keeps()) total_->told = sent;
  return total_;
}

void SharedRate::HearOfTotal(const FleetTotal& total) {
  const MutexLock lock(mutex_);
  if (!keeps() && (!total_ || total_->told < total.told)) total_ = total;
}

Rate SharedRate::total() const {
  const MutexLock lock(mutex_);
  return total_ ? total_->rate : Rate();
}

Rate SharedRate::SetTotal(Rate rate) {
  const MutexLock lock(mutex_);
  return std::exchange(total_, FleetTotal{rate, clock_.Now()})->rate;
}

// --- Reports

void SharedRate::Send(const RateReport& report, RateMemberHooks::Answered answered) {
  v1::ShareRateRequest request;
  ToProto(report, &request);
  if (const auto total = TotalAsOf(report.sent)) ToProto(*total, request.mutable_crawl_rate());
  auto take = [this, answered = std::move(answered)](StatusOr<v1::ShareRateResponse> response) {
    if (!response.ok()) return answered(response.status());
    if (const auto total = FromProto(response->crawl_rate()); total.ok()) HearOfTotal(*total);
    if (!response->has_grant()) return answered(RateGrant());
    answered(FromProto(response->grant()));
  };
  std::optional<uint32_t> leader;
  {
    const MutexLock lock(mutex_);
    leader = leader_;
  }
  if (!leader) return take(MakeStatus(absl::StatusCode::kUnavailable, "nobody leads"));
  if (*leader == options_.division.division) return Hear(request, std::move(take));
  const std::unique_ptr<DivisionCall> call = divisions_.Open(*leader, kPath, {.sent_on = true});
  call->Send(SerialiseMessage(request),
             [take = std::move(take)](const StatusOr<grpc::ByteBuffer>& answer) {
               take(ResponseIn<v1::ShareRateResponse>(answer));
             });
}

void SharedRate::Hear(const v1::ShareRateRequest& request, Answered answered) {
  const StatusOr<RateReport> report = FromProto(request);
  if (!report.ok()) return answered(report.status());
  std::optional<FleetTotal> total;
  if (request.has_crawl_rate()) {
    StatusOr<FleetTotal> told = FromProto(request.crawl_rate());
    if (!told.ok()) return answered(told.status());
    // A total with a time in the future would never be replaced.
    if (told->told <= clock_.Now() + FleetRateOptions().clock_bound) total = *told;
  }
  leadership_.Hear(*report, total,
                   [answered = std::move(answered)](StatusOr<RateLeadership::Answer> answer) {
                     if (!answer.ok()) return answered(answer.status());
                     v1::ShareRateResponse response;
                     ToProto(answer->total, response.mutable_crawl_rate());
                     if (answer->grant) ToProto(*answer->grant, response.mutable_grant());
                     answered(std::move(response));
                   });
}

RateSharingStatus SharedRate::status() const {
  RateSharingStatus status{.shared = true,
                           .granted = member_.granted(),
                           .grants = member_.grants(),
                           .unheard = member_.unheard(),
                           .ungranted = member_.ungranted(),
                           .price = probe_.figures().price};
  status.cut_off = status.ungranted >= sharing_.lifetime * kCutOffAfter;
  if (const auto figures = leadership_.figures()) {
    status.leads = true;
    status.price_gap = figures->price_gap;
  }
  const MutexLock lock(mutex_);
  if (total_) status.total = total_->rate;
  status.leader = leader_;
  return status;
}

}  // namespace freshet
