#include "server/fleet/shared_rate.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "freshet/v1/fleet.grpc.pb.h"
#include "server/api/wire.h"
#include "server/fleet/rate_wire.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

constexpr const char* kPath = "/freshet.v1.FleetService/ShareRate";
constexpr Duration kFindEvery = Duration::Millis(500);
// A run of a server, of which there are fewer in a division.
constexpr int kGenerationBits = 40;
// By so much of it a rate moves before plans are made anew for it, which looks at all pages.
constexpr double kPlanAgain = 0.1;

NodeId NodeOf(const SharedRateOptions& options) {
  return NodeId(uint64_t{options.division.division} << kGenerationBits | options.generation);
}

}  // namespace

FleetRateOptions SharingOptions(uint32_t divisions, Duration silence) {
  FleetRateOptions options;
  options.places = divisions;
  // So that grants last until another one leads, and is known to.
  options.lifetime = std::max(options.lifetime, silence * 2);
  options.silence = std::max(options.silence, silence);
  return options;
}

SharedRate::SharedRate(const SharedRateOptions& options, Clock& clock, Router& router,
                       Dispatcher& dispatcher, PlanRunner& plans, Divisions& divisions,
                       std::function<bool()> serves, Stand stand)
    : options_(options),
      clock_(clock),
      dispatcher_(dispatcher),
      plans_(plans),
      divisions_(divisions),
      stand_(std::move(stand)),
      probe_(router, clock),
      leadership_(SharingOptions(options.division.divisions, options.silence), clock,
                  [this] { return Leads(); }),
      member_(NodeOf(options), options.division.division,
              SharingOptions(options.division.divisions, options.silence), clock,
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
  elected_ = nullptr;
  election_ = nullptr;
}

std::optional<uint64_t> SharedRate::Leads() const {
  const RateElection* const election = elected_;
  return election == nullptr ? std::nullopt : election->leads();
}

void SharedRate::FindLeader() {
  if (election_ == nullptr) {
    StatusOr<std::unique_ptr<RateElection>> election = stand_();
    if (!election.ok()) {
      return spdlog::warn("who shares out the crawl rate is not known: {}",
                          std::string(election.status().message()));
    }
    election_ = *std::move(election);
    elected_ = election_.get();
  }
  const StatusOr<std::optional<uint32_t>> leader = election_->Leader();
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
  // A plan for none would crawl nothing until there is another.
  if (rate == Rate()) return;
  const double planned = planned_;
  if (std::abs(rate.per_second() - planned) <= kPlanAgain * planned) return;
  planned_ = rate.per_second();
  plans_.Poke();
}

// --- The fleet's rate

std::optional<FleetTotal> SharedRate::TotalAsOf(Instant sent) {
  const MutexLock lock(mutex_);
  // The keeper's word, as of an instant at which it surely was that.
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
    // One that is told from the future would never be replaced.
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
                           .price = probe_.figures().price};
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
