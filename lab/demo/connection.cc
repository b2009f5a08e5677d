#include "lab/demo/connection.h"

#include <chrono>
#include <utility>

namespace freshet::demo {
namespace {

constexpr auto kCallTimeout = std::chrono::seconds(10);

void SetTimeout(grpc::ClientContext& context, std::chrono::microseconds timeout) {
  gpr_timespec span = gpr_time_from_micros(timeout.count(), GPR_TIMESPAN);
  context.set_deadline(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), span));
}

bool Fine(v1::ItemOutcome outcome) {
  return outcome != v1::ITEM_OUTCOME_REFUSED && outcome != v1::ITEM_OUTCOME_UNSPECIFIED;
}

std::string Describe(const v1::ItemError& error) {
  const std::string field = error.field().empty() ? "" : error.field() + ": ";
  return field + error.reason();
}

// Notes a page that the server lists.
void Take(const v1::Page& page, const ReplayedHistory& replayed, KnownPages* pages) {
  const std::optional<uint32_t> position = replayed.Find(page.url());
  if (!position) {
    ++pages->foreign;
    return;
  }
  pages->known[*position] = true;
  if (page.has_last_crawl_time()) {
    pages->last_crawls[*position] = ToMicros(page.last_crawl_time());
  }
}

}  // namespace

google::protobuf::Timestamp ToTimestamp(int64_t micros) {
  google::protobuf::Timestamp timestamp;
  timestamp.set_seconds(micros / 1'000'000);
  timestamp.set_nanos(static_cast<int32_t>(micros % 1'000'000 * 1000));
  return timestamp;
}

int64_t ToMicros(const google::protobuf::Timestamp& timestamp) {
  return timestamp.seconds() * 1'000'000 + timestamp.nanos() / 1000;
}

Status FromGrpc(const grpc::Status& status, std::string_view what) {
  if (status.ok()) return absl::OkStatus();
  return MakeStatus(static_cast<absl::StatusCode>(status.error_code()), "{}: {}", what,
                    status.error_message());
}

Status CheckAck(const v1::BatchAck& ack, std::string_view what) {
  if (ack.has_error()) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "{} refused by the server: {}", what,
                      Describe(ack.error()));
  }
  for (const v1::ItemStatus& item : ack.statuses()) {
    if (Fine(item.outcome())) continue;
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "{} refused by the server: {}", what,
                      Describe(item.error()));
  }
  return absl::OkStatus();
}

Connection::Connection(std::string address, const std::shared_ptr<grpc::Channel>& channel)
    : address_(std::move(address)),
      scheduler_(v1::SchedulerService::NewStub(channel)),
      ingest_(v1::IngestService::NewStub(channel)),
      pages_(v1::PagesService::NewStub(channel)),
      admin_(v1::AdminService::NewStub(channel)) {}

StatusOr<std::unique_ptr<Connection>> Connection::Open(const std::string& address,
                                                       const ClientSecurity& security,
                                                       int64_t timeout_micros) {
  ASSIGN_OR_RETURN(const std::shared_ptr<grpc::Channel> channel,
                   OpenChannel(address, security, {}));
  const gpr_timespec span = gpr_time_from_micros(timeout_micros, GPR_TIMESPAN);
  if (!channel->WaitForConnected(gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), span))) {
    return MakeStatus(absl::StatusCode::kUnavailable, "no freshetd answers at {}", address);
  }
  return std::unique_ptr<Connection>(new Connection(address, channel));
}

StatusOr<v1::GetStatisticsResponse> Connection::Statistics() {
  grpc::ClientContext context;
  SetTimeout(context, kCallTimeout);
  v1::GetStatisticsResponse response;
  RETURN_IF_ERROR(FromGrpc(admin_->GetStatistics(&context, {}, &response), "asking statistics"));
  return response;
}

StatusOr<KnownPages> Connection::ListKnownPages(const ReplayedHistory& replayed) {
  const size_t count = replayed.pages().size();
  KnownPages pages{.known = std::vector<bool>(count), .last_crawls = LastCrawls(count)};
  grpc::ClientContext context;
  SetTimeout(context, kCallTimeout);
  const auto reader = pages_->ListPages(&context, {});
  v1::ListPagesResponse response;
  while (reader->Read(&response)) {
    for (const v1::Page& page : response.pages()) Take(page, replayed, &pages);
  }
  RETURN_IF_ERROR(FromGrpc(reader->Finish(), "listing pages"));
  return pages;
}

}  // namespace freshet::demo
