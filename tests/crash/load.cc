#include "tests/crash/load.h"

#include <deque>
#include <map>

#include "fmt/format.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"
#include "tests/crash/requests.h"
#include "tests/support/wall_time.h"

namespace freshet::crash {
namespace {

enum Sender { kUpserts, kSignals, kReports, kWorker, kRemovals, kLooks };

constexpr size_t kLeasesAhead = 4;
constexpr Duration kPause = Duration::Millis(1);  // pause when there is nothing to do

}  // namespace

Load::Load(Knowledge* knowledge, std::shared_ptr<grpc::Channel> channel)
    : knowledge_(*knowledge), channel_(std::move(channel)) {}

Load::~Load() { Abandon(); }

void Load::Start() {
  {
    const MutexLock lock(knowledge_.mutex);
    first_acknowledged_ = knowledge_.acknowledged;
  }
  for (const auto client : {&Load::Upserts, &Load::Signals, &Load::Reports, &Load::Work,
                            &Load::Next, &Load::Removals, &Load::Look, &Load::Operate}) {
    threads_.emplace_back([this, client] { Run(client); });
  }
}

void Load::Run(void (Load::*client)()) {
  try {
    (this->*client)();
  } catch (const std::exception& error) {
    knowledge_.Fail(fmt::format("a client failed: {}", error.what()));
  }
}

void Load::AwaitTraffic() const {
  const auto flows = [this] {
    const MutexLock lock(knowledge_.mutex);
    return knowledge_.acknowledged > first_acknowledged_ + 20;
  };
  if (!Eventually(flows, Duration::Seconds(20))) knowledge_.Fail("nothing is acknowledged");
}

void Load::Stop() {
  stopping_ = true;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Load::Abandon() {
  stopping_ = true;
  {
    const MutexLock lock(mutex_);
    abandoned_ = true;
    for (grpc::ClientContext* call : calls_) call->TryCancel();
  }
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

void Load::Enter(grpc::ClientContext* call) {
  const MutexLock lock(mutex_);
  calls_.insert(call);
  if (abandoned_) call->TryCancel();
}

void Load::Leave(grpc::ClientContext* call) {
  const MutexLock lock(mutex_);
  calls_.erase(call);
}

// --- Streams of batches

template <typename Stream, typename Request, typename Response, typename Build>
void Load::Pump(Stream& stream, Build build) {
  std::deque<Sent> open;
  while (true) {
    while (Going() && open.size() < kLeasesAhead) {
      Request request;
      Sent sent;
      {
        const MutexLock lock(knowledge_.mutex);
        const uint64_t batch = ++knowledge_.batches;
        build(&request, &sent);
        for (const auto& [page, op] : sent) op->batch = batch;
      }
      if (sent.empty()) break;
      open.push_back(std::move(sent));
      if (!stream.Write(request)) return;
    }
    if (open.empty()) {
      if (!Going()) break;
      LetPass(kPause);
      continue;
    }
    Response response;
    if (!stream.Read(&response)) return;
    const MutexLock lock(knowledge_.mutex);
    knowledge_.Acknowledge(open.front(), response.ack());
    open.pop_front();
  }
  stream.WritesDone();
  Response response;
  while (stream.Read(&response)) {
  }
  (void)stream.Finish();
}

void Load::Upserts() {
  const auto stub = v1::PagesService::NewStub(channel_);
  grpc::ClientContext call;
  Enter(&call);
  const auto stream = stub->UpsertPages(&call);
  using Stream = grpc::ClientReaderWriter<v1::UpsertPagesRequest, v1::UpsertPagesResponse>;
  Pump<Stream, v1::UpsertPagesRequest, v1::UpsertPagesResponse>(
      *stream, [this](v1::UpsertPagesRequest* request, Sent* sent) {
        request->set_reset_unset_settings(knowledge_.Chance(20));
        for (uint64_t n = 1 + knowledge_.Below(20); n > 0; --n) {
          Page* page = knowledge_.Pick(kUpserts, Knowledge::Want::kAny);
          if (page == nullptr) continue;
          auto op = RandomUpsert(*page, request->reset_unset_settings(), &knowledge_);
          *request->add_pages() = op->spec;
          knowledge_.Send(page, kUpserts, std::move(op), sent);
        }
      });
  Leave(&call);
}

void Load::Signals() {
  const auto stub = v1::IngestService::NewStub(channel_);
  grpc::ClientContext call;
  Enter(&call);
  const auto stream = stub->SignalChanges(&call);
  using Stream = grpc::ClientReaderWriter<v1::SignalChangesRequest, v1::SignalChangesResponse>;
  Pump<Stream, v1::SignalChangesRequest, v1::SignalChangesResponse>(
      *stream, [this](v1::SignalChangesRequest* request, Sent* sent) {
        const uint32_t poll_size = knowledge_.Chance(50) ? 1 : 20;
        request->set_poll_size(poll_size);
        for (uint64_t n = 1 + knowledge_.Below(20); n > 0; --n) {
          Page* page = knowledge_.Pick(kSignals, Knowledge::Want::kKnown);
          if (page == nullptr) continue;
          auto op = RandomSignal(*page, poll_size, &knowledge_);
          *request->add_signals() = op->signal;
          knowledge_.Send(page, kSignals, std::move(op), sent);
        }
      });
  Leave(&call);
}

void Load::Reports() {
  const auto stub = v1::IngestService::NewStub(channel_);
  grpc::ClientContext call;
  Enter(&call);
  const auto stream = stub->ReportCrawls(&call);
  using Stream = grpc::ClientReaderWriter<v1::ReportCrawlsRequest, v1::ReportCrawlsResponse>;
  Pump<Stream, v1::ReportCrawlsRequest, v1::ReportCrawlsResponse>(
      *stream, [this](v1::ReportCrawlsRequest* request, Sent* sent) {
        const auto add = [&](Page* page, std::shared_ptr<Op> op) {
          *request->add_results() = op->result;
          knowledge_.Send(page, kReports, std::move(op), sent);
        };
        for (uint64_t n = 1 + knowledge_.Below(15); n > 0; --n) {
          // Sends the result of an ended lease again. The lease can be from before a crash.
          Page* over =
              knowledge_.Chance(20) ? knowledge_.Pick(kReports, Knowledge::Want::kLive) : nullptr;
          if (over != nullptr && over->facts.last_lease != 0) {
            auto op = RandomResult(*over, over->facts.last_lease, &knowledge_);
            op->result.clear_url();
            op->result.clear_crawl_id();
            add(over, std::move(op));
            continue;
          }
          const bool held = knowledge_.Chance(50);
          Page* page =
              knowledge_.Pick(kReports, held ? Knowledge::Want::kHeld : Knowledge::Want::kQuiet);
          if (page == nullptr) continue;
          // One in five results under a lease omits the lease id, and must still end the lease.
          const uint64_t lease = held && knowledge_.Chance(80) ? page->facts.lease.id : 0;
          auto op = RandomResult(*page, lease, &knowledge_);
          auto again = std::make_shared<Op>(*op);
          add(page, std::move(op));
          if (knowledge_.Chance(10)) add(page, std::move(again));
        }
      });
  Leave(&call);
}

// --- Workers

void Load::Work() {
  const auto stub = v1::SchedulerService::NewStub(channel_);
  grpc::ClientContext call;
  Enter(&call);
  const auto stream = stub->Crawl(&call);
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker("stream");
  v1::CrawlRequest credit;
  credit.mutable_credit()->set_assignments(2'000);
  bool fine = stream->Write(hello) && stream->Write(credit);
  std::map<uint64_t, Sent> open;  // by sequence
  v1::CrawlResponse response;
  while (fine && stream->Read(&response)) {
    v1::CrawlRequest results;
    v1::CrawlRequest returns;
    {
      const MutexLock lock(knowledge_.mutex);
      for (const v1::BatchAck* ack : {&response.result_ack(), &response.return_ack()}) {
        if (ack->item_count() == 0) continue;
        knowledge_.Acknowledge(open.at(ack->sequence()), *ack);
        open.erase(ack->sequence());
      }
      Sent reported;
      Sent returned;
      for (const v1::Assignment& assignment : response.assignments().assignments()) {
        Page* page = knowledge_.OnAssignment(assignment, "stream");
        // The leases that are skipped here stay open. Clients that report results without a worker
        // stream can use them, or they expire.
        if (page == nullptr || !page->pending.empty() || !Going() || knowledge_.Chance(30))
          continue;
        if (knowledge_.Chance(15)) {
          auto op = Return(assignment.lease_id());
          returns.mutable_returned_leases()->add_lease_ids(op->lease);
          knowledge_.Send(page, kWorker, std::move(op), &returned);
        } else {
          auto op = RandomResult(*page, assignment.lease_id(), &knowledge_);
          *results.mutable_results()->add_results() = op->result;
          knowledge_.Send(page, kWorker, std::move(op), &reported);
        }
      }
      const auto number = [&](Sent sent) {
        const uint64_t batch = ++knowledge_.batches;
        for (const auto& [page, op] : sent) op->batch = batch;
        open[batch] = std::move(sent);
        return batch;
      };
      if (!reported.empty()) {
        results.mutable_results()->set_sequence(number(std::move(reported)));
      }
      if (!returned.empty()) {
        returns.mutable_returned_leases()->set_sequence(number(std::move(returned)));
      }
    }
    if (results.has_results()) fine = stream->Write(results);
    if (fine && returns.has_returned_leases()) fine = stream->Write(returns);
    // If the loop did not end here, the server would hand out pages for as long as there is credit.
    if (!Going() && open.empty()) break;
  }
  Leave(&call);
}

void Load::Next() {
  const auto stub = v1::SchedulerService::NewStub(channel_);
  bool brief = false;
  while (Going()) {
    v1::NextRequest request;
    request.set_worker("next");
    request.set_max_assignments(5);
    SetMicros(20'000, request.mutable_max_wait());
    brief = !brief;
    SetMicros(brief ? 1'000'000 : 3600'000'000, request.mutable_lease_duration());
    grpc::ClientContext call;
    Enter(&call);
    v1::NextResponse response;
    const grpc::Status status = stub->Next(&call, request, &response);
    Leave(&call);
    if (!status.ok()) return;
    const MutexLock lock(knowledge_.mutex);
    for (const v1::Assignment& assignment : response.assignments()) {
      (void)knowledge_.OnAssignment(assignment, "next");
    }
  }
}

// Reads pages between and during commits. The answers are not checked here: after the restart, the
// lane lists all pages and compares them.
void Load::Look() {
  const auto stub = v1::PagesService::NewStub(channel_);
  while (Going()) {
    v1::GetPageRequest request;
    {
      const MutexLock lock(knowledge_.mutex);
      const Page* page = knowledge_.Pick(kLooks, Knowledge::Want::kAny);
      if (page == nullptr) continue;
      request.set_url(page->url);
      request.set_crawl_id(page->crawl_id);
    }
    grpc::ClientContext call;
    Enter(&call);
    v1::GetPageResponse response;
    const grpc::Status status = stub->GetPage(&call, request, &response);
    Leave(&call);
    if (!status.ok() && status.error_code() != grpc::StatusCode::NOT_FOUND) return;
  }
}

void Load::Removals() {
  const auto stub = v1::PagesService::NewStub(channel_);
  while (Going()) {
    v1::RemovePagesRequest removal;
    v1::RecheckPagesRequest recheck;
    Sent sent;
    {
      const MutexLock lock(knowledge_.mutex);
      const bool remove = knowledge_.Chance(40);
      const std::string crawl_id = knowledge_.Chance(80) ? "DEFAULT" : "other";
      removal.set_crawl_id(crawl_id);
      recheck.set_crawl_id(crawl_id);
      const uint64_t batch = ++knowledge_.batches;
      for (uint64_t n = 1 + knowledge_.Below(6); n > 0; --n) {
        Page* page =
            knowledge_.Pick(kRemovals, remove ? Knowledge::Want::kKnown : Knowledge::Want::kLive);
        if (page == nullptr || page->crawl_id != crawl_id) continue;
        auto op = std::make_shared<Op>();
        op->kind = remove ? Op::Kind::kRemove : Op::Kind::kRecheck;
        op->batch = batch;
        remove ? removal.add_urls(page->url) : recheck.add_urls(page->url);
        knowledge_.Send(page, kRemovals, std::move(op), &sent);
      }
    }
    if (sent.empty()) {
      LetPass(kPause);
      continue;
    }
    grpc::ClientContext call;
    Enter(&call);
    v1::RemovePagesResponse removed;
    v1::RecheckPagesResponse rechecked;
    const grpc::Status status = removal.urls_size() > 0
                                    ? stub->RemovePages(&call, removal, &removed)
                                    : stub->RecheckPages(&call, recheck, &rechecked);
    Leave(&call);
    if (!status.ok()) return;
    const MutexLock lock(knowledge_.mutex);
    knowledge_.Acknowledge(sent, removal.urls_size() > 0 ? removed.ack() : rechecked.ack());
  }
}

void Load::Operate() {
  const auto stub = v1::AdminService::NewStub(channel_);
  while (Going()) {
    grpc::ClientContext call;
    Enter(&call);
    const bool fine = OperateOnce(*stub, &call, &knowledge_);
    Leave(&call);
    if (!fine) return;
    LetPass(kPause);
  }
  bool abandoned = false;
  {
    const MutexLock lock(mutex_);
    abandoned = abandoned_;
  }
  // Pausing and resuming the server wakes waiting workers, which then notice that they should stop.
  if (!abandoned) TogglePause(*stub, &knowledge_);
}

}  // namespace freshet::crash
