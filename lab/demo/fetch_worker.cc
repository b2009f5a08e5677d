#include "lab/demo/fetch_worker.h"

#include <optional>
#include <utility>

namespace freshet::demo {
namespace {

constexpr uint32_t kCredit = 64;
// The length of a lease. The pages of a killed worker are handed out again after this time, which
// is some hundred days of history.
constexpr int64_t kLeaseSeconds = 2;

std::optional<int64_t> LastCrawl(const v1::Assignment& assignment) {
  if (!assignment.has_last_crawl_time()) return std::nullopt;
  return ToMicros(assignment.last_crawl_time());
}

v1::CrawlResult ResultOf(const v1::Assignment& assignment, const Fetched& fetched) {
  v1::CrawlResult result;
  result.set_lease_id(assignment.lease_id());
  *result.mutable_fetch_time() = ToTimestamp(fetched.time_micros);
  result.set_outcome(fetched.changed ? v1::CRAWL_OUTCOME_CHANGED : v1::CRAWL_OUTCOME_UNCHANGED);
  result.set_http_status(fetched.changed ? 200 : 304);
  return result;
}

}  // namespace

FetchWorker::FetchWorker(std::string name, Connection& connection, const ReplayedHistory& replayed,
                         Truth& truth, Stop& stop)
    : name_(std::move(name)),
      connection_(connection),
      replayed_(replayed),
      truth_(truth),
      stop_(stop) {}

void FetchWorker::Run() {
  const auto stream = connection_.scheduler().Crawl(&context_);
  const Status work = Work(*stream);
  if (!work.ok()) Cancel();
  const grpc::Status finish = stream->Finish();
  if (!work.ok()) {
    stop_.Fail(work);
  } else if (!finish.ok()) {
    stop_.Fail(FromGrpc(finish, "fetch worker " + name_));
  } else if (!stop_.requested()) {
    stop_.Fail(
        MakeStatus(absl::StatusCode::kUnavailable, "the server ended the stream of {}", name_));
  }
}

Status FetchWorker::Work(Stream& stream) {
  v1::CrawlRequest hello;
  hello.mutable_hello()->set_worker(name_);
  hello.mutable_hello()->mutable_lease_duration()->set_seconds(kLeaseSeconds);
  Send(stream, hello);
  Grant(stream, kCredit);
  v1::CrawlResponse response;
  while (stream.Read(&response)) {
    RETURN_IF_ERROR(Handle(stream, response));
    if (stop_.requested() && credit_ == 0 && unanswered_ == 0) break;
  }
  stream.WritesDone();
  while (stream.Read(&response)) {
  }
  return absl::OkStatus();
}

Status FetchWorker::Handle(Stream& stream, const v1::CrawlResponse& response) {
  switch (response.message_case()) {
    case v1::CrawlResponse::kAssignments:
      return HandleAssignments(stream, response.assignments());
    case v1::CrawlResponse::kResultAck:
      --unanswered_;
      RETURN_IF_ERROR(CheckAck(response.result_ack(), "a result was"));
      if (!stop_.requested()) Grant(stream, response.result_ack().item_count());
      return absl::OkStatus();
    case v1::CrawlResponse::kReturnAck:
      --unanswered_;
      RETURN_IF_ERROR(CheckAck(response.return_ack(), "a returned lease was"));
      if (!stop_.requested()) Grant(stream, response.return_ack().item_count());
      return absl::OkStatus();
    case v1::CrawlResponse::kNotice:
      return HandleNotice(response.notice());
    case v1::CrawlResponse::MESSAGE_NOT_SET:
      break;
  }
  return MakeStatus(absl::StatusCode::kInternal, "the server sent an empty message");
}

Status FetchWorker::HandleAssignments(Stream& stream, const v1::AssignmentBatch& batch) {
  const auto count = static_cast<uint64_t>(batch.assignments_size());
  if (count > credit_) {
    return MakeStatus(absl::StatusCode::kInternal,
                      "the server sent {} assignments, but the worker had asked for at most {}",
                      count, credit_);
  }
  credit_ -= count;
  v1::CrawlRequest request;
  v1::ResultBatch* results = request.mutable_results();
  for (const v1::Assignment& assignment : batch.assignments()) {
    ASSIGN_OR_RETURN(const std::optional<v1::CrawlResult> result, Fetch(assignment));
    if (result) {
      *results->add_results() = *result;
    } else {
      ReturnLease(stream, assignment.lease_id());
    }
  }
  if (results->results().empty()) return absl::OkStatus();
  results->set_sequence(++sequence_);
  ++unanswered_;
  Send(stream, request);
  return absl::OkStatus();
}

StatusOr<std::optional<v1::CrawlResult>> FetchWorker::Fetch(const v1::Assignment& assignment) {
  if (stop_.requested()) return std::optional<v1::CrawlResult>();
  const std::optional<uint32_t> page = replayed_.Find(assignment.url());
  if (!page) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the server assigned {}, which is not a URL of the history",
                      assignment.url());
  }
  const std::optional<Fetched> fetched = truth_.Fetch(*page, LastCrawl(assignment));
  if (!fetched) return std::optional<v1::CrawlResult>();
  return std::optional<v1::CrawlResult>(ResultOf(assignment, *fetched));
}

void FetchWorker::ReturnLease(Stream& stream, uint64_t lease_id) {
  v1::CrawlRequest request;
  request.mutable_returned_leases()->set_sequence(++sequence_);
  request.mutable_returned_leases()->add_lease_ids(lease_id);
  ++unanswered_;
  Send(stream, request);
}

Status FetchWorker::HandleNotice(const v1::Notice& notice) {
  const bool draining = notice.kind() == v1::NOTICE_KIND_DRAINING && !stop_.requested();
  if (draining) return MakeStatus(absl::StatusCode::kUnavailable, "the server is shutting down");
  if (notice.kind() == v1::NOTICE_KIND_REFUSED) {
    return MakeStatus(absl::StatusCode::kInternal, "the server refused a message: {}",
                      notice.error().reason());
  }
  return absl::OkStatus();
}

void FetchWorker::Grant(Stream& stream, uint32_t assignments) {
  if (assignments == 0) return;
  v1::CrawlRequest request;
  request.mutable_credit()->set_assignments(assignments);
  credit_ += assignments;
  Send(stream, request);
}

// A failed write means that the stream has ended: the next read fails, and Finish returns the
// reason.
void FetchWorker::Send(Stream& stream, const v1::CrawlRequest& request) { stream.Write(request); }

}  // namespace freshet::demo
