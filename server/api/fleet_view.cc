#include "server/api/fleet_view.h"

#include <grpcpp/alarm.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "server/api/status.h"
#include "server/api/to_proto.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

using FleetCall = UnaryCall<v1::GetFleetRequest, v1::GetFleetResponse>;

v1::FleetDivision DescribeOwn(const ServerContext& context) {
  const ClusterStatus cluster = context.cluster();
  const ServerStatus status = GatherStatus(context);
  v1::FleetDivision own;
  own.set_division(context.router.division().division);
  own.set_node(cluster.node);
  if (!cluster.address.empty()) own.set_address(cluster.address);
  ToProto(status.started, own.mutable_serves_since());
  own.set_sure(cluster.sure);
  own.set_leads(cluster.rate.leads);
  own.set_pages(status.counters.pages);
  own.set_open_leases(status.counters.leases);
  own.set_crawl_rate_per_second(status.dispatch.rate.per_second());
  const double price = cluster.rate.shared ? cluster.rate.price : status.price;
  if (price > 0) own.set_price(price);
  own.set_waiting_partitions(cluster.log.waiting);
  own.set_paused(status.dispatch.paused);
  return own;
}

// What another server says of its division, whatever it is that it says.
v1::FleetDivision DescribedBy(uint32_t division, const StatusOr<grpc::ByteBuffer>& answer) {
  v1::FleetDivision row;
  row.set_division(division);
  const StatusOr<v1::GetFleetResponse> said = ResponseIn<v1::GetFleetResponse>(answer);
  if (!said.ok()) {
    // gRPC itself says nothing but the code where a server of another release has no such call.
    const std::string code = absl::StatusCodeToString(said.status().code());
    const std::string why(said.status().message());
    row.set_unanswered(why.empty() ? code : why);
  } else if (said->divisions_size() != 1 || said->divisions(0).division() != division) {
    row.set_unanswered("its server describes another division");
  } else {
    row = said->divisions(0);
  }
  return row;
}

// Ends a call with the answer of the last server, or once they have had time enough. Thread-safe.
class FleetView : public std::enable_shared_from_this<FleetView> {
 public:
  FleetView(const ServerContext& context, FleetCall* call) : context_(context), call_(call) {}

  void Gather() {
    const SlotDivision division = context_.router.division();
    {
      const MutexLock lock(mutex_);
      v1::GetFleetResponse* response = call_->response();
      response->set_cluster(context_.config.cluster.name);
      for (uint32_t i = 0; i < division.divisions; ++i) {
        v1::FleetDivision* row = response->add_divisions();
        row->set_division(i);
        row->set_unanswered(
            fmt::format("nobody serves it, or its server has not answered within {:g} s",
                        kFleetViewPatience.seconds()));
      }
      missing_ = division.divisions;
    }
    const auto self = shared_from_this();
    // Those who have not answered yet keep this; an alarm would do so for ever.
    alarm_.Set(
        std::chrono::system_clock::now() + std::chrono::microseconds(kFleetViewPatience.micros()),
        [weak = weak_from_this()](bool late) {
          const auto view = late ? weak.lock() : nullptr;
          if (view != nullptr) view->End();
        });
    const grpc::ByteBuffer request = SerialiseMessage(call_->request());
    const std::string path(call_->path());
    const ShownByClient shown = call_->shown();
    for (uint32_t i = 0; i < division.divisions; ++i) {
      if (i == division.division) continue;
      if (context_.divisions == nullptr) {
        Take(i, MakeStatus(absl::StatusCode::kFailedPrecondition,
                           "cannot be asked: cluster.address is not set"));
        continue;
      }
      context_.divisions->Open(i, path, shown)
          ->Send(request,
                 [self, i](const StatusOr<grpc::ByteBuffer>& answer) { self->Take(i, answer); });
    }
    TakeRow(DescribeOwn(context_));
  }

 private:
  void Take(uint32_t division, const StatusOr<grpc::ByteBuffer>& answer) {
    TakeRow(DescribedBy(division, answer));
  }

  void TakeRow(v1::FleetDivision row) FRESHET_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (ended_) return;
      const auto index = static_cast<int>(row.division());
      *call_->response()->mutable_divisions(index) = std::move(row);
      if (--missing_ > 0) return;
    }
    End();
  }

  void End() FRESHET_EXCLUDES(mutex_) {
    {
      const MutexLock lock(mutex_);
      if (std::exchange(ended_, true)) return;
    }
    context_.listings.Give();
    alarm_.Cancel();
    call_->Answer(grpc::Status::OK);
  }

  const ServerContext& context_;
  FleetCall* const call_;
  grpc::Alarm alarm_;
  Mutex mutex_;
  uint32_t missing_ FRESHET_GUARDED_BY(mutex_) = 0;  // that have not answered yet
  bool ended_ FRESHET_GUARDED_BY(mutex_) = false;    // the call is gone
};

}  // namespace

void ShowFleet(const ServerContext& context, FleetCall* call) {
  if (context.cluster == nullptr) {
    return call->Answer({grpc::StatusCode::FAILED_PRECONDITION,
                         "this server is of no cluster: cluster.name is not set"});
  }
  if (call->shown().sent_on) {
    *call->response()->add_divisions() = DescribeOwn(context);
    return call->Answer(grpc::Status::OK);
  }
  if (!context.listings.Take()) return call->Answer(UnreadStatus(PushOutcome::kFull));
  std::make_shared<FleetView>(context, call)->Gather();
}

}  // namespace freshet
