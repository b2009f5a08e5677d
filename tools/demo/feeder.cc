#include "tools/demo/feeder.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace freshet::demo {
namespace {

constexpr size_t kPagesPerBatch = 500;
constexpr size_t kSignalsPerBatch = 1000;  // the server's limit
constexpr size_t kMaxUnanswered = 8;
constexpr std::string_view kSource = "sitemap";

}  // namespace

Feeder::Feeder(Connection& connection, const World& world, Truth& truth,
               int64_t polled_until_micros, NowMicros now, Stop& stop)
    : connection_(connection),
      world_(world),
      truth_(truth),
      now_(std::move(now)),
      stop_(stop),
      plan_(world, polled_until_micros),
      polled_until_(polled_until_micros),
      upserts_(connection.pages().UpsertPages(&upsert_context_)),
      signals_(connection.ingest().SignalChanges(&signal_context_)) {}

void Feeder::Cancel() {
  upsert_context_.TryCancel();
  signal_context_.TryCancel();
}

Status Feeder::AddMissing(const std::vector<bool>& known) {
  const int64_t until = std::max(polled_until_.load(), world_.timeline().wall_begin_micros);
  std::vector<uint32_t> missing;
  for (uint32_t page = 0; page < known.size(); ++page) {
    if (!known[page] && world_.pages()[page].born_micros <= until) missing.push_back(page);
  }
  return AddPages(missing);
}

Status Feeder::AddPages(const std::vector<uint32_t>& pages) {
  for (size_t first = 0; first < pages.size(); first += kPagesPerBatch) {
    const size_t end = std::min(first + kPagesPerBatch, pages.size());
    v1::UpsertPagesRequest request;
    request.set_sequence(++sequence_);
    for (size_t i = first; i < end; ++i) {
      const WorldPage& page = world_.pages()[pages[i]];
      v1::PageSpec* spec = request.add_pages();
      spec->set_url(page.url);
      spec->set_importance(page.importance);
      const int64_t begin = world_.timeline().wall_begin_micros;
      if (page.born_micros <= begin) *spec->mutable_last_crawl_time() = ToTimestamp(begin);
    }
    v1::UpsertPagesResponse response;
    if (!upserts_->Write(request) || !upserts_->Read(&response)) return StreamLost();
    RETURN_IF_ERROR(CheckAck(response.ack(), "a page was"));
  }
  return LearnSpellings(pages);
}

// Assignments name pages as the server spells them.
Status Feeder::LearnSpellings(const std::vector<uint32_t>& pages) {
  for (const uint32_t page : pages) {
    const std::string& url = world_.pages()[page].url;
    if (!MayBeSpelledOtherwise(url)) continue;
    ASSIGN_OR_RETURN(const std::optional<std::string> spelling, connection_.SpellingOf(url));
    if (spelling) truth_.AddSpelling(*spelling, page);
  }
  return absl::OkStatus();
}

void Feeder::Run(const std::vector<bool>& known) {
  Status status = AddMissing(known);
  if (status.ok()) status = RunPolls();
  if (!status.ok()) {
    stop_.Fail(status);
    Cancel();
    return;
  }
  upserts_->WritesDone();
  signals_->WritesDone();
  upserts_->Finish();
  signals_->Finish();
}

Status Feeder::RunPolls() {
  while (!plan_.done() && !stop_.requested()) {
    if (const int64_t wait = plan_.next_micros() - now_(); wait > 0) {
      if (stop_.WaitFor(wait)) break;
      continue;
    }
    const Poll poll = plan_.Next();
    RETURN_IF_ERROR(AddPages(poll.births));
    RETURN_IF_ERROR(SendSignals(poll));
  }
  while (!unanswered_.empty()) RETURN_IF_ERROR(ReadSignalAck());
  return absl::OkStatus();
}

Status Feeder::SendSignals(const Poll& poll) {
  const size_t size = poll.touched.size();
  for (size_t first = 0; first < size; first += kSignalsPerBatch) {
    const size_t end = std::min(first + kSignalsPerBatch, size);
    v1::SignalChangesRequest request;
    request.set_sequence(++sequence_);
    if (size > kSignalsPerBatch) request.set_poll_size(size);
    for (size_t i = first; i < end; ++i) {
      const TouchedPage& touched = poll.touched[i];
      v1::ChangeSignal* signal = request.add_signals();
      signal->set_url(world_.pages()[touched.page].url);
      signal->set_source(std::string(kSource));
      *signal->mutable_change_time() = ToTimestamp(touched.lastmod_micros);
      // A poll that is made again after a restart announces the same touch: it counts once.
      signal->set_signal_id(fmt::format("{}", touched.lastmod_micros));
    }
    while (unanswered_.size() >= kMaxUnanswered) RETURN_IF_ERROR(ReadSignalAck());
    if (!signals_->Write(request)) return StreamLost();
    unanswered_.push_back(end == size ? poll.time_micros : polled_until_.load());
  }
  if (unanswered_.empty()) polled_until_ = poll.time_micros;
  return absl::OkStatus();
}

Status Feeder::ReadSignalAck() {
  v1::SignalChangesResponse response;
  if (!signals_->Read(&response)) return StreamLost();
  polled_until_ = std::max(polled_until_.load(), unanswered_.front());
  unanswered_.pop_front();
  return CheckAck(response.ack(), "a signal was");
}

Status Feeder::StreamLost() {
  Cancel();
  // The stream that failed first knows the reason; the other one ends as cancelled.
  const grpc::Status upserts = upserts_->Finish();
  const grpc::Status signals = signals_->Finish();
  const bool of_upserts = upserts.error_code() != grpc::StatusCode::CANCELLED && !upserts.ok();
  Status status = FromGrpc(of_upserts ? upserts : signals, "sending pages and signals");
  if (!status.ok()) return status;
  return MakeStatus(absl::StatusCode::kUnavailable, "the server ended the stream of signals");
}

}  // namespace freshet::demo
