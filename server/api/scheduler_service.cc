#include "server/api/scheduler_service.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/base/url.h"
#include "freshet/v1/fleet.pb.h"
#include "google/protobuf/arena.h"
#include "server/api/batch.h"
#include "server/api/caller_stream.h"
#include "server/api/faults.h"
#include "server/api/from_proto.h"
#include "server/api/ingest_service.h"
#include "server/api/inside.h"
#include "server/api/lease_returns.h"
#include "server/api/lent_credit.h"
#include "server/api/message_trace.h"
#include "server/api/over_divisions.h"
#include "server/api/parted_ack.h"
#include "server/api/to_proto.h"
#include "server/api/unary.h"
#include "server/api/wire.h"
#include "server/api/worker_crawls.h"
#include "server/base/client_network.h"
#include "server/base/limits.h"
#include "server/engine/dispatcher.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// The minimum wait of a call of Next, because leasing a page can take this long.
constexpr Duration kMinNextWait = Duration::Millis(25);
constexpr Duration kPausedRetry = Duration::Seconds(1);
constexpr Duration kStalledRetry = Duration::Seconds(1);

// Removes the port, which differs between connections and identifies no client.
std::string PeerWithoutPort(const std::string& peer) { return peer.substr(0, peer.rfind(':')); }

// The instant from which a page is no longer handed out, because its worker would have less than
// half of the lease.
Instant HalfOver(Instant deadline, Duration lease) {
  return deadline - Duration::Micros(lease.micros() / 2);
}

// --- Crawl

// The stream of one worker.
class CrawlStream final : public CallerStream, public AssignmentSink {
 public:
  static constexpr std::string_view kPath = "/freshet.v1.SchedulerService/Crawl";

  CrawlStream(const ServerContext& context, grpc::CallbackServerContext& call,
              std::string request_id)
      : CallerStream(context, kPath, call),
        request_id_(std::move(request_id)),
        address_(NetworkText(network())) {
    if (context.divisions == nullptr) return;
    client_ = ShownBy(call);
    results_.SetClient(client_);
    returns_.SetClient(client_);
  }

  void Deliver(std::vector<Assignment> assignments, Outlook outlook) override {
    if (!assignments.empty()) {
      SendAssignments(assignments);
      if (const auto lent = lent_credit(); lent != nullptr) lent->OnServed();
    }
    // The dispatcher uses these two outlooks only after the client has closed its side.
    if (outlook == Outlook::kServed) End(grpc::Status::OK);
    if (outlook == Outlook::kTimeOut) End(NothingCame());
  }
  void OnPause(bool paused) override {
    SendNotice(paused ? v1::NOTICE_KIND_PAUSED : v1::NOTICE_KIND_RESUMED,
               paused ? "Assignments are paused by an operator." : "Assignments go on.");
  }
  void OnStall(const Status& why) override {
    if (why.ok()) return SendNotice(v1::NOTICE_KIND_RESUMED, "Assignments go on.");
    v1::CrawlResponse response;
    response.mutable_notice()->set_kind(v1::NOTICE_KIND_STALLED);
    response.mutable_notice()->set_text("Nothing can be assigned at the moment.");
    *response.mutable_notice()->mutable_error() = FaultOf(why);
    SendNews(SerialiseMessage(response));
  }
  void OnAllowance(uint64_t leases, bool whole) override {
    v1::CrawlResponse response;
    response.mutable_notice()->set_kind(v1::NOTICE_KIND_ALLOWANCE);
    response.mutable_notice()->set_max_open_leases(static_cast<uint32_t>(leases));
    response.mutable_notice()->set_text(
        whole ? "The worker may have as many leases open as any other again."
              : fmt::format("Leases of this worker ran out without a result: it may have {} open, "
                            "one more with each result.",
                            leases));
    SendNews(SerialiseMessage(response));
  }
  bool behind() const override { return MessageStream::behind(); }
  // Not OK if the worker may no longer use exactly the crawl ids with which it was admitted. The
  // call then ends.
  Status CheckCaller() const override {
    const StatusOr<Caller> caller = LookAtCaller();
    RETURN_IF_ERROR(caller.status());
    const std::shared_ptr<const std::vector<std::string>> now = caller->crawl_ids();
    const MutexLock lock(mutex_);
    if (!entered_ || (now == nullptr ? !allowed_ : allowed_ == *now)) return absl::OkStatus();
    return MakeStatus(absl::StatusCode::kPermissionDenied,
                      "the crawl ids that this worker may use have changed: open the stream again");
  }
  void OnServerDraining() override {
    if (const auto lent = lent_credit(); lent != nullptr) lent->Recall();
    SendNotice(v1::NOTICE_KIND_DRAINING, "The server is shutting down.");
  }

 private:
  void SendAssignments(const std::vector<Assignment>& assignments) {
    v1::CrawlResponse response;
    for (const Assignment& assignment : assignments) {
      ToProto(assignment, response.mutable_assignments()->add_assignments());
    }
    Instant half_over = Instant::Infinite();
    for (const Assignment& its : assignments) {
      half_over = std::min(half_over, HalfOver(its.deadline, its.deadline - its.at));
    }
    SendBefore(half_over, response, assignments.size(),
               [&router = context_.router, leases = LeasesOf(assignments)](Fate fate) {
                 if (fate != Fate::kSent) router.GiveBack(leases, fate == Fate::kNeverLeft);
               });
  }

  // Sends pages, but only while at least half of their lease is left. After that, drops the pages
  // and restores the worker's credit.
  void SendBefore(Instant half_over, const v1::CrawlResponse& response, uint64_t pages, Sent sent) {
    const Instant now = context_.clock.Now();
    Sent told = [weak = weak_from_this(), pages, sent = std::move(sent)](Fate fate) {
      sent(fate);
      const auto self = std::static_pointer_cast<CrawlStream>(weak.lock());
      if (fate == Fate::kNeverLeft && self != nullptr) self->GoOnWith(pages);
    };
    if (half_over <= now) return told(Fate::kNeverLeft);
    // No lease is longer than max_lease.
    const Duration most = context_.config.max_lease;
    Send(SerialiseMessage(response), std::move(told), std::min(half_over, now + most) - now);
  }

  // Sends pages of another division that were leased on lent credit.
  void SendAssignmentsOf(uint32_t division, Duration lease, const v1::NextResponse& next) {
    v1::CrawlResponse response;
    Instant half_over = Instant::Infinite();
    for (const v1::Assignment& its : next.assignments()) {
      const StatusOr<Instant> deadline = FromProto(its.deadline());
      if (deadline.ok()) half_over = std::min(half_over, HalfOver(*deadline, lease));
    }
    *response.mutable_assignments()->mutable_assignments() = next.assignments();
    std::vector<LeaseId> leases = LeasesIn(next);
    const size_t count = leases.size();
    context_.counters.assignments_elsewhere += count;
    SendBefore(
        half_over, response, count,
        [&context = context_, division, client = client_, leases = std::move(leases)](Fate fate) {
          if (fate != Fate::kSent) ReturnElsewhere(context, division, client, leases);
        });
  }

  // The status for a client that has closed its side and got no page in time.
  [[nodiscard]] grpc::Status NothingCame() const {
    const Duration wait = context_.config.half_closed_wait;
    return {grpc::StatusCode::UNAVAILABLE,
            context_.dispatcher.pause()
                ? "credit is left, but assignments are paused: call again later"
                : fmt::format("credit is left, but no page became due for {} s: call again later",
                              wait.seconds())};
  }

  bool OnReadsEnded() override {
    const WorkerId worker = worker_;
    if (const auto lent = lent_credit(); lent != nullptr) lent->Recall();
    return worker != kNone && worker != kGone &&
           context_.dispatcher.Linger(worker, context_.config.half_closed_wait);
  }

  void OnMessage(grpc::ByteBuffer* bytes) override {
    const auto trace = context_.tracer.Sample(kPath, request_id_);
    google::protobuf::Arena arena;
    auto& request = *google::protobuf::Arena::CreateMessage<v1::CrawlRequest>(&arena);
    MessageFaults faults;
    if (const Status status = ParseMessage(bytes, &request, &faults, MostBytes(context_));
        !status.ok()) {
      ChargeForRefused();
      return Refuse(request, faults.items, status);
    }
    switch (request.message_case()) {
      case v1::CrawlRequest::kHello:
        OnHello(request.hello(), faults.texts);
        return;
      case v1::CrawlRequest::kCredit:
        OnCredit(request.credit());
        return;
      case v1::CrawlRequest::kResults:
        OnResults(request.mutable_results(), &faults.texts, trace);
        return;
      case v1::CrawlRequest::kReturnedLeases:
        OnReturns(request.mutable_returned_leases());
        return;
      case v1::CrawlRequest::MESSAGE_NOT_SET:
        SendRefusal(InvalidArgument("message: is unset"));
        return;
    }
  }

  // Answers a message that was refused as a whole. Only the numbers in the message could be read.
  void Refuse(const v1::CrawlRequest& request, size_t items, const Status& why) {
    if (request.has_results()) {
      const uint64_t place = OpenAck();
      context_.counters.results_refused += items;
      const uint64_t sequence = request.results().sequence();
      AnswerResults(place, RefusedBatch(sequence, items, why));
    } else if (request.has_returned_leases()) {
      const uint64_t place = OpenAck();
      const uint64_t sequence = request.returned_leases().sequence();
      AnswerReturns(place, RefusedBatch(sequence, items, why));
    } else {
      SendRefusal(why);
    }
  }

  void OnCaughtUp() override { GoOnWith(0); }

  void GoOnWith(uint64_t credit) {
    if (const WorkerId worker = worker_; worker != kNone && worker != kGone) GoOn(worker, credit);
  }

  void OnClientGone() override {
    const WorkerId worker = worker_.exchange(kGone);
    if (const auto lent = lent_credit(); lent != nullptr) lent->Recall();
    if (worker != kNone && worker != kGone) context_.dispatcher.Leave(worker);
  }

  void OnHello(const v1::WorkerHello& hello, const std::vector<TextFault>& faults) {
    if (worker_ != kNone) {
      SendRefusal(MakeStatus(absl::StatusCode::kFailedPrecondition,
                             "hello: this worker has already sent its hello"));
      return;
    }
    if (!faults.empty()) return SendRefusal(StatusOf(faults.front()));
    if (hello.worker().empty()) return SendRefusal(InvalidArgument("worker: is empty"));
    const Status name = ValidateText("worker", hello.worker(), limits::kMaxWorkerNameBytes);
    if (!name.ok()) return SendRefusal(name);
    const ServerConfig& config = context_.config;
    const StatusOr<Duration> lease = ConvertLease(
        hello.has_lease_duration(), hello.lease_duration(), config.default_lease, config.max_lease);
    if (!lease.ok()) return SendRefusal(lease.status());
    const StatusOr<const Caller*> caller = GetCaller();
    if (!caller.ok()) return SendRefusal(caller.status());
    StatusOr<TakenClasses> takes = ClassesOfWorker(context_, hello.crawl_ids(), **caller);
    if (!takes.ok()) return SendRefusal(takes.status());
    Remember((*caller)->crawl_ids());
    classes_ = std::move(takes->hold);
    Enter(hello, *lease, takes->set);
  }

  void Enter(const v1::WorkerHello& hello, Duration lease, ClassSet takes) {
    auto self = std::static_pointer_cast<CrawlStream>(shared_from_this());
    const StatusOr<WorkerId> worker =
        context_.dispatcher.Join({.name = hello.worker(),
                                  .client = client(),
                                  .address = address_,
                                  .lease = lease,
                                  .takes = takes,
                                  .admin = admin(),
                                  .waits_until = {}},
                                 self, static_cast<size_t>(context_.config.max_workers));
    if (!worker.ok()) return SendRefusal(worker.status());
    WorkerId none = kNone;
    if (!worker_.compare_exchange_strong(none, *worker)) {
      context_.dispatcher.Leave(*worker);  // the client has gone in the meantime
      return;
    }
    v1::CrawlResponse response;
    response.mutable_notice()->set_kind(v1::NOTICE_KIND_WELCOME);
    response.mutable_notice()->set_text("Welcome.");
    ToProto(lease, response.mutable_notice()->mutable_lease_duration());
    Send(SerialiseMessage(response));
    if (context_.dispatcher.pause()) OnPause(true);
    if (const Status why = context_.dispatcher.stalled(); !why.ok()) OnStall(why);
    if (SpansFleet(context_, client_)) LendCreditOf(hello, lease, *worker);
  }

  void LendCreditOf(const v1::WorkerHello& hello, Duration lease, WorkerId worker) {
    v1::NextRequest terms;
    terms.set_worker(hello.worker());
    // The length is sent even if the worker leaves it to the server, because all leases of a worker
    // have the same length.
    ToProto(lease, terms.mutable_lease_duration());
    *terms.mutable_crawl_ids() = hello.crawl_ids();
    const std::weak_ptr<MessageStream> stream = weak_from_this();
    const auto lent = std::make_shared<LentCredit>(
        context_, client_, std::move(terms),
        LentCredit::Lender{.worker = worker, .client = client(), .admin = admin()},
        [stream, lease, &context = context_, client = client_](uint32_t division,
                                                               const v1::NextResponse& next) {
          const auto self = std::static_pointer_cast<CrawlStream>(stream.lock());
          if (self != nullptr) return self->SendAssignmentsOf(division, lease, next);
          ReturnElsewhere(context, division, client, LeasesIn(next));
        });
    {
      const MutexLock lock(mutex_);
      lent_ = lent;
    }
    lent->Start();
    if (worker_ == kGone) lent->Recall();
  }

  [[nodiscard]] std::shared_ptr<LentCredit> lent_credit() const {
    if (context_.divisions == nullptr) return nullptr;
    const MutexLock lock(mutex_);
    return lent_;
  }

  void OnCredit(const v1::Credit& credit) {
    const WorkerId worker = worker_;
    if (worker == kNone) return SendRefusal(NotIntroduced());
    if (credit.assignments() == 0) {
      return SendRefusal(InvalidArgument("assignments: is 0"));
    }
    GoOn(worker, credit.assignments());
  }

  // Grants the worker more credit, and lends it to other divisions.
  void GoOn(WorkerId worker, uint64_t credit) {
    context_.dispatcher.Grant(worker, credit);
    if (const auto lent = lent_credit(); lent != nullptr) lent->Lend();
  }

  void OnResults(v1::ResultBatch* results, std::vector<TextFault>* faults,
                 const std::shared_ptr<MessageTrace>& trace) {
    const auto items = static_cast<size_t>(results->results_size());
    Status fault = CheckItemCount("results", results->results_size(), context_.config);
    const uint64_t place = OpenAck(fault.ok() ? AckBytes(items) : 0);
    if (worker_ == kNone) fault = NotIntroduced();
    const StatusOr<const Caller*> caller = GetCaller();
    if (!caller.ok()) fault = caller.status();
    if (!fault.ok()) {
      context_.counters.results_refused += items;
      return AnswerResults(place, RefusedBatch(results->sequence(), items, fault));
    }
    Charge(**caller, items);
    auto self = std::static_pointer_cast<CrawlStream>(shared_from_this());
    const PartedAck::Done acked = results_.SendOthers(
        results->sequence(), results->mutable_results(), faults,
        [results](const std::vector<uint32_t>& places, v1::ReportCrawlsRequest* part) {
          part->set_sequence(results->sequence());
          CopyItems(results->results(), places, part->mutable_results());
        },
        [self, place](v1::BatchAck ack) { self->AnswerResults(place, std::move(ack)); });
    if (results->results().empty()) return acked({});
    Batch batch =
        ConvertResults(context_, results->sequence(), results->results(), *faults, **caller);
    batch.SetTrace(trace);
    const auto done = [self, acked, trace](v1::BatchAck ack, const BatchCounts& counts) {
      const uint64_t sequence = ack.sequence();
      self->context_.counters.results_refused += counts.refused;
      acked(std::move(ack));
      if (trace != nullptr) trace->Finish(sequence, counts);
    };
    const bool go_on = std::move(batch).Submit(context_.router, done);
    if (!go_on) HoldReading();
  }

  void OnReturns(v1::LeaseReturn* returns) {
    const int items = returns->lease_ids_size();
    Status fault = CheckItemCount("lease_ids", items, context_.config);
    const uint64_t place = OpenAck(fault.ok() ? AckBytes(static_cast<size_t>(items)) : 0);
    if (worker_ == kNone) fault = NotIntroduced();
    const StatusOr<const Caller*> caller = GetCaller();
    if (!caller.ok()) fault = caller.status();
    if (!fault.ok()) {
      return AnswerReturns(place,
                           RefusedBatch(returns->sequence(), static_cast<size_t>(items), fault));
    }
    auto self = std::static_pointer_cast<CrawlStream>(shared_from_this());
    std::vector<TextFault> none;
    const PartedAck::Done acked = returns_.SendOthers(
        returns->sequence(), returns->mutable_lease_ids(), &none,
        [returns](const std::vector<uint32_t>& places, v1::ReturnLeasesRequest* part) {
          CopyItems(returns->lease_ids(), places, part->mutable_lease_ids());
        },
        [self, place](v1::BatchAck ack) { self->AnswerReturns(place, std::move(ack)); });
    if (returns->lease_ids().empty()) return acked({});
    const bool go_on = ConvertReturns(returns->sequence(), returns->lease_ids(), **caller)
                           .Submit(context_.router, [acked](v1::BatchAck ack, BatchCounts) {
                             acked(std::move(ack));
                           });
    if (!go_on) HoldReading();
  }

  void AnswerResults(uint64_t place, v1::BatchAck ack) {
    v1::CrawlResponse response;
    *response.mutable_result_ack() = std::move(ack);
    Acknowledge(place, SerialiseMessage(response));
  }
  void AnswerReturns(uint64_t place, v1::BatchAck ack) {
    v1::CrawlResponse response;
    *response.mutable_return_ack() = std::move(ack);
    Acknowledge(place, SerialiseMessage(response));
  }
  void SendNotice(v1::NoticeKind kind, const char* text) {
    v1::CrawlResponse response;
    response.mutable_notice()->set_kind(kind);
    response.mutable_notice()->set_text(text);
    SendNews(SerialiseMessage(response));
  }
  void SendRefusal(const Status& why) {
    v1::CrawlResponse response;
    response.mutable_notice()->set_kind(v1::NOTICE_KIND_REFUSED);
    response.mutable_notice()->set_text("The message was refused.");
    *response.mutable_notice()->mutable_error() = FaultOf(why);
    Send(SerialiseMessage(response));
  }
  static Status NotIntroduced() {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "hello: the first message of a worker must be its hello");
  }

  static constexpr WorkerId kNone = 0;
  static constexpr WorkerId kGone = UINT64_MAX;

  void Remember(const std::shared_ptr<const std::vector<std::string>>& allowed) {
    const MutexLock lock(mutex_);
    entered_ = true;
    allowed_.reset();
    if (allowed != nullptr) allowed_ = *allowed;
  }

  const std::string request_id_;
  const std::string address_;
  ShownByClient client_;  // set only if there are other divisions
  // results_ and returns_ are used only in OnMessage. results_ calls a method with a stream of
  // messages, and returns_ calls a unary method.
  PartSender<v1::ReportCrawlsRequest, v1::ReportCrawlsResponse> results_{
      context_, kReportCrawlsPath, /*streams=*/true};
  PartSender<v1::ReturnLeasesRequest, v1::ReturnLeasesResponse> returns_{
      context_, kReturnLeasesPath, /*streams=*/false};
  std::atomic<WorkerId> worker_{kNone};
  std::shared_ptr<const void> classes_;  // keeps the classes assigned to their crawl ids
  mutable Mutex mutex_;
  std::shared_ptr<LentCredit> lent_ FRESHET_GUARDED_BY(mutex_);  // nullptr = none
  bool entered_ FRESHET_GUARDED_BY(mutex_) = false;
  // The crawl ids to which the worker was limited when it was admitted; unset = no limit.
  std::optional<std::vector<std::string>> allowed_ FRESHET_GUARDED_BY(mutex_);
};

// --- Next

// One call of Next: a worker that is served once.
class NextCall final : public UnaryCall<v1::NextRequest, v1::NextResponse>, public AssignmentSink {
 public:
  static constexpr std::string_view kPath = kNextPath;

  NextCall(const ServerContext& context, ServerCall* call)
      : UnaryCall(context, kPath, Payment::kAsAnItem, nullptr, call) {}

  void Deliver(std::vector<Assignment> assignments, Outlook outlook) override {
    bool complete = false;
    {
      const MutexLock lock(mutex_);
      if (!finished_) {
        for (const Assignment& assignment : assignments) {
          ToProto(assignment, response()->add_assignments());
          delivered_.push_back(assignment.lease);
          half_over_ = std::min(half_over_,
                                HalfOver(assignment.deadline, assignment.deadline - assignment.at));
        }
        assignments.clear();
        complete = outlook != Outlook::kMore;
      }
    }
    context_.router.GiveBack(LeasesOf(assignments), /*never_left=*/true);
    if (complete) Complete(grpc::Status::OK);
  }
  void OnPause(bool) override {}
  void OnStall(const Status& why) override {
    if (why.ok()) return;
    context_.dispatcher.Leave(worker_);
    Complete(GrpcStatusOf(why), /*stalled=*/true);
  }

 private:
  void OnRequest(grpc::ByteBuffer* bytes) override {
    const std::shared_ptr<CallReactor> held = shared_from_this();
    grpc::Status status = Receive(*bytes);
    bytes->Clear();
    if (status.ok()) status = Enter(request());
    if (!status.ok()) return Complete(status);
    // If the call was stopped during Enter, there may have been no worker to remove yet.
    if (!stopped().ok()) OnStopped();
  }
  void OnStopped() override {
    context_.dispatcher.Leave(worker_);
    Complete(stopped());
  }

  grpc::Status Enter(const v1::NextRequest& request) {
    const uint32_t most = request.has_max_assignments() ? request.max_assignments() : 1;
    if (most < 1 || most > static_cast<uint32_t>(limits::kMaxAssignmentsPerNext)) {
      return GrpcStatusOf(InvalidArgument("max_assignments: {} is not from 1 to {}", most,
                                          limits::kMaxAssignmentsPerNext));
    }
    StatusOr<Duration> wait = Duration::Seconds(1);
    if (request.has_max_wait()) wait = FromProto(request.max_wait());
    if (!wait.ok() || *wait < Duration() ||
        *wait > Duration::Seconds(limits::kMaxNextWaitSeconds)) {
      return GrpcStatusOf(
          InvalidArgument("max_wait: must be from 0 to {} s", limits::kMaxNextWaitSeconds));
    }
    const Status name = ValidateText("worker", request.worker(), limits::kMaxWorkerNameBytes);
    if (!name.ok()) return GrpcStatusOf(name);
    const ServerConfig& config = context_.config;
    const StatusOr<Duration> lease =
        ConvertLease(request.has_lease_duration(), request.lease_duration(), config.default_lease,
                     config.max_lease);
    if (!lease.ok()) return GrpcStatusOf(lease.status());
    StatusOr<TakenClasses> takes = ClassesOfWorker(context_, request.crawl_ids(), caller());
    if (!takes.ok()) return GrpcStatusOf(takes.status());
    classes_ = std::move(takes->hold);
    if (const Status why = context_.dispatcher.stalled(); !why.ok()) {
      OnStall(why);
      return grpc::Status::OK;
    }
    // The address is that of the client, even if another server of the cluster has forwarded the
    // call.
    const std::optional<Credentials> forwarded = InsideCredentials(call());
    Credentials shown;
    shown.network = forwarded ? forwarded->network : NetworkOfPeer(call().peer());
    const std::string address = NetworkText(shown.network);
    worker_key_ = {.client = Authoriser::ClientOf(caller(), shown),
                   .name = !request.worker().empty() ? request.worker()
                           : forwarded               ? address
                                                     : PeerWithoutPort(call().peer())};
    const StatusOr<WorkerId> worker = context_.dispatcher.Join(
        {.name = worker_key_.name,
         .client = worker_key_.client,
         .address = address,
         .lease = *lease,
         .takes = takes->set,
         .admin = caller().is_admin(),
         .waiter = true,
         .waits_until = context_.clock.Now() + std::max(*wait, kMinNextWait)},
        std::static_pointer_cast<NextCall>(shared_from_this()),
        static_cast<size_t>(config.max_workers));
    if (!worker.ok()) return GrpcStatusOf(worker.status());
    worker_ = *worker;
    context_.dispatcher.Grant(*worker, most);
    return grpc::Status::OK;
  }

  void Complete(grpc::Status status, bool stalled = false) {
    std::vector<LeaseId> unsent;
    {
      const MutexLock lock(mutex_);
      if (finished_) return;
      finished_ = true;
      if (stalled && delivered_.empty()) {
        // Clients that follow gRPC's retry rules wait this long.
        call().AddTrailingMetadata("grpc-retry-pushback-ms",
                                   std::to_string(kStalledRetry.micros() / 1000));
      } else if (stalled) {
        status = grpc::Status::OK;
      }
      // If a page came early, its lease may be half over by the time the call is complete.
      const bool late = half_over_ <= context_.clock.Now();
      if (late) response()->clear_assignments();
      if (late || !status.ok() || call().IsCancelled()) unsent = std::exchange(delivered_, {});
      if (context_.dispatcher.pause() || context_.dispatcher.rate() == Rate()) {
        ToProto(kPausedRetry, response()->mutable_retry_after());
      } else if (status.ok() && delivered_.empty()) {
        SayWhatIsHeld();
      }
    }
    context_.router.GiveBack(unsent, /*never_left=*/true);
    Answer(status);
  }

  // If the call got no page because the worker may hold no more leases, tells the client so.
  void SayWhatIsHeld() {
    const auto full = context_.dispatcher.FullBy(worker_key_);
    if (!full) return;
    v1::AllowanceUse& use = *response()->mutable_allowance();
    use.set_max_open_leases(static_cast<uint32_t>(full->most));
    use.set_open_leases(static_cast<uint32_t>(full->held));
    use.set_newcomers(full->newcomers);
  }

  WorkerKey worker_key_;  // set before the call waits
  std::atomic<WorkerId> worker_{0};
  std::shared_ptr<const void> classes_;  // keeps the classes assigned to their crawl ids
  Mutex mutex_;
  bool finished_ FRESHET_GUARDED_BY(mutex_) = false;
  std::vector<LeaseId> delivered_ FRESHET_GUARDED_BY(mutex_);
  // The earliest instant at which one of these leases is half over.
  Instant half_over_ FRESHET_GUARDED_BY(mutex_) = Instant::Infinite();
};

Reactor* StartCrawl(const ServerContext& context, ServerCall* call) {
  std::string id = NoteStream(CrawlStream::kPath, context, *call);
  const auto stream = std::make_shared<CrawlStream>(context, *call, std::move(id));
  stream->Begin(&context.streams);
  return stream.get();
}

Reactor* StartNext(const ServerContext& context, ServerCall* call) {
  const auto next = std::make_shared<NextCall>(context, call);
  next->Begin();
  return next.get();
}

}  // namespace

std::vector<CallMethod> SchedulerMethods(const ServerContext& context) {
  return {
      Streaming(CrawlStream::kPath, context, StartCrawl),
      Streaming(kNextPath, context, StartNext),
  };
}

}  // namespace freshet
