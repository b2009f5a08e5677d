#include "server/fleet/shared_model.h"

#include <future>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "freshet/v1/fleet.grpc.pb.h"
#include "server/api/epoch_totals.h"
#include "server/api/over_divisions.h"
#include "server/api/wire.h"
#include "server/engine/epoch_exchange.h"
#include "server/engine/router.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

constexpr std::string_view kTotalsPath = "/freshet.v1.FleetService/GetEpochTotals";
// Answers of other divisions are reused for this long, because the shards of a server learn at
// about the same time.
constexpr Duration kFresh = Duration::Seconds(1);

}  // namespace

SharedModel::SharedModel(const ServerContext& context) : context_(context) {
  context_.epochs.SetOthers(context_.router.division().division, [this] { return Ask(); });
}

SharedModel::~SharedModel() { context_.epochs.SetOthers(0, nullptr); }

uint32_t SharedModel::heard() const {
  const MutexLock lock(mutex_);
  return static_cast<uint32_t>(totals_.size());
}

DivisionTotals SharedModel::Ask() {
  {
    const MutexLock lock(mutex_);
    const Instant now = context_.clock.Now();
    if (asked_ && *asked_ <= now && now - *asked_ < kFresh) return totals_;
  }
  const auto answers = std::make_shared<std::promise<DivisionAnswers>>();
  AskOtherDivisions(context_, kTotalsPath, {.sent_on = true},
                    SerialiseMessage(v1::GetEpochTotalsRequest()), kFleetViewPatience,
                    [answers](DivisionAnswers all) { answers->set_value(std::move(all)); });
  const DivisionAnswers all = answers->get_future().get();
  const MutexLock lock(mutex_);
  for (const DivisionAnswer& its : all) Take(its.division, its.answer);
  asked_ = context_.clock.Now();
  return totals_;
}

void SharedModel::Take(uint32_t division, const StatusOr<grpc::ByteBuffer>& answer) {
  const StatusOr<v1::GetEpochTotalsResponse> response =
      ResponseIn<v1::GetEpochTotalsResponse>(answer);
  Status status = response.status();
  if (response.ok()) {
    // The server has no totals yet since its start, so its totals of an earlier run stay in use.
    if (!response->has_totals()) return;
    StatusOr<EpochTotals> totals = FromProto(response->totals(), context_.sources);
    if (totals.ok()) {
      totals_.insert_or_assign(division, *std::move(totals));
      return;
    }
    status = totals.status();
  }
  Logger(LogModule::kEngine)
      .warn("division {} sent no new statistics, so estimates use {}: {}", division,
            totals_.contains(division) ? "its previous ones" : "the other divisions only",
            std::string(StatusOfDivision(division, status).message()));
}

}  // namespace freshet
