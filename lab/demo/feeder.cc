#include "lab/demo/feeder.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace freshet::demo {
namespace {

constexpr size_t kPagesPerBatch = 500;
constexpr size_t kSignalsPerBatch = 1000;  // the server's limit
constexpr size_t kMaxUnanswered = 16;      // batches per stream
constexpr std::string_view kSource = "sitemap";

}  // namespace

Feeder::Feeder(Connection& connection, const ReplayedHistory& replayed, int64_t polled_until_micros,
               NowMicros now, Stop& stop)
    : replayed_(replayed),
      now_(std::move(now)),
      stop_(stop),
      plan_(replayed, polled_until_micros),
      polled_until_(polled_until_micros),
      upserts_(connection.pages().UpsertPages(&upsert_context_)),
      signals_(connection.ingest().SignalChanges(&signal_context_)) {}

void Feeder::Cancel() {
  upsert_context_.TryCancel();
  signal_context_.TryCancel();
}

std::vector<KnownPoll> Feeder::TakeKnown() {
  const MutexLock lock(mutex_);
  return std::exchange(known_, {});
}

Status Feeder::AddMissing(const std::vector<bool>& known) {
  const int64_t until = std::max(polled_until_.load(), replayed_.timeline().wall_begin_micros);
  std::vector<uint32_t> missing;
  for (uint32_t page = 0; page < known.size(); ++page) {
    if (!known[page] && replayed_.pages()[page].born_micros <= until) missing.push_back(page);
  }
  return AddPages(missing);
}

v1::UpsertPagesRequest Feeder::UpsertOf(const std::vector<uint32_t>& pages, size_t first) {
  v1::UpsertPagesRequest request;
  request.set_sequence(++sequence_);
  const size_t end = std::min(first + kPagesPerBatch, pages.size());
  for (size_t i = first; i < end; ++i) {
    const ReplayedPage& page = replayed_.pages()[pages[i]];
    v1::PageSpec* spec = request.add_pages();
    spec->set_url(page.url);
    spec->set_importance(page.importance);
    const int64_t begin = replayed_.timeline().wall_begin_micros;
    if (page.born_micros <= begin) *spec->mutable_last_crawl_time() = ToTimestamp(begin);
  }
  return request;
}

Status Feeder::AddPages(const std::vector<uint32_t>& pages) {
  for (size_t first = 0; first < pages.size(); first += kPagesPerBatch) {
    while (unanswered_upserts_ >= kMaxUnanswered) RETURN_IF_ERROR(ReadUpsertAck());
    if (!upserts_->Write(UpsertOf(pages, first))) return StreamLost();
    ++unanswered_upserts_;
  }
  while (unanswered_upserts_ > 0) RETURN_IF_ERROR(ReadUpsertAck());
  return absl::OkStatus();
}

Status Feeder::ReadUpsertAck() {
  v1::UpsertPagesResponse response;
  if (!upserts_->Read(&response)) return StreamLost();
  --unanswered_upserts_;
  return CheckAck(response.ack(), "a page was");
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
    const Poll poll = plan_.Next(now_());
    RETURN_IF_ERROR(AddPages(poll.births));
    RETURN_IF_ERROR(SendSignals(poll));
    polled_until_ = poll.time_micros;
    const MutexLock lock(mutex_);
    known_.push_back({.poll_micros = poll.time_micros, .known_micros = now_()});
  }
  return absl::OkStatus();
}

// Leaves out pages that are new in this poll, because a page that was never crawled cannot become
// stale.
Status Feeder::SendSignals(const Poll& poll) {
  const std::unordered_set<uint32_t> births(poll.births.begin(), poll.births.end());
  std::vector<TouchedPage> signalled;
  for (const TouchedPage& touched : poll.touched) {
    if (!births.contains(touched.page)) signalled.push_back(touched);
  }
  const size_t size = signalled.size();
  for (size_t first = 0; first < size; first += kSignalsPerBatch) {
    const size_t end = std::min(first + kSignalsPerBatch, size);
    v1::SignalChangesRequest request;
    request.set_sequence(++sequence_);
    if (end - first != poll.touched.size()) request.set_poll_size(poll.touched.size());
    request.set_poll_id(static_cast<uint64_t>(poll.time_micros));
    for (size_t i = first; i < end; ++i) *request.add_signals() = SignalOf(signalled[i]);
    while (unanswered_signals_ >= kMaxUnanswered) RETURN_IF_ERROR(ReadSignalAck());
    if (!signals_->Write(request)) return StreamLost();
    ++unanswered_signals_;
  }
  while (unanswered_signals_ > 0) RETURN_IF_ERROR(ReadSignalAck());
  return absl::OkStatus();
}

v1::ChangeSignal Feeder::SignalOf(const TouchedPage& touched) const {
  v1::ChangeSignal signal;
  signal.set_url(replayed_.pages()[touched.page].url);
  signal.set_source(std::string(kSource));
  *signal.mutable_change_time() = ToTimestamp(touched.lastmod_micros);
  // After a restart, a repeated poll announces the same touch, which must count only once.
  signal.set_signal_id(fmt::format("{}", touched.lastmod_micros));
  return signal;
}

Status Feeder::ReadSignalAck() {
  v1::SignalChangesResponse response;
  if (!signals_->Read(&response)) return StreamLost();
  --unanswered_signals_;
  return CheckAck(response.ack(), "a signal was");
}

Status Feeder::StreamLost() {
  Cancel();
  // The stream that failed first has the reason; the other one was cancelled.
  const grpc::Status upserts = upserts_->Finish();
  const grpc::Status signals = signals_->Finish();
  const bool of_upserts = upserts.error_code() != grpc::StatusCode::CANCELLED && !upserts.ok();
  Status status = FromGrpc(of_upserts ? upserts : signals, "sending pages and signals");
  if (!status.ok()) return status;
  return MakeStatus(absl::StatusCode::kUnavailable, "the server ended the stream of signals");
}

}  // namespace freshet::demo
