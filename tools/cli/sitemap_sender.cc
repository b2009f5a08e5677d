#include "tools/cli/sitemap_sender.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/safe_text.h"
#include "tools/cli/json.h"
#include "tools/cli/table.h"

namespace freshet::cli {
namespace {

// The maximum number of bytes of a site's URL in a printed line.
constexpr size_t kShownNameBytes = 200;

v1::PageSpec PageOf(const sitemap::FeedEntry& entry, const NewsOptions& options) {
  v1::PageSpec page;
  page.set_url(entry.url);
  page.set_crawl_id(options.crawl_id);
  if (options.priority && entry.priority) page.set_importance(ImportanceOf(*entry.priority));
  return page;
}

// Whether the server might accept the same item later.
bool MayBeTaken(const v1::ItemError& error) {
  return error.code() != v1::ERROR_CODE_INVALID_ARGUMENT &&
         error.code() != v1::ERROR_CODE_NOT_FOUND;
}

}  // namespace

v1::ChangeSignal SignalOf(const sitemap::FeedEntry& entry, Instant changed,
                          const std::string& source, const std::string& crawl_id) {
  const auto floor_div = [](int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); };
  v1::ChangeSignal signal;
  signal.set_url(entry.url);
  signal.set_crawl_id(crawl_id);
  signal.set_source(source);
  const int64_t seconds = floor_div(changed.micros(), 1'000'000);
  signal.mutable_change_time()->set_seconds(seconds);
  signal.mutable_change_time()->set_nanos(
      static_cast<int32_t>(changed.micros() - seconds * 1'000'000) * 1000);
  const int64_t told = entry.modified->told.micros();
  const int64_t told_seconds = floor_div(told, 1'000'000);
  signal.set_signal_id(
      fmt::format("lastmod {}.{:09}", told_seconds, (told - told_seconds * 1'000'000) * 1000));
  return signal;
}

double ImportanceOf(double priority) { return 2 * std::max(priority, 0.05); }

// A stream and its counts. It shows no progress, because many streams can be open at the same time.
template <typename AnyUploader>
struct NewsSender::Upload {
  template <typename Open>
  Upload(NewsSender& sender, const char* noun, Open open)
      : progress(QuietStyle(sender.session_), noun),
        tally(sender.session_, progress, noun),
        uploader(sender.session_, tally, open) {
    // Outcomes arrive only after something was sent, so it is not too late to set the listener
    // here.
    tally.Tell([&sender](uint64_t row, const std::string& name, const v1::ItemError& error) {
      sender.Book(row, name, error);
    });
  }

  static ProgressStyle QuietStyle(const Session& session) {
    ProgressStyle style = session.progress_style();
    style.quiet = true;
    return style;
  }

  Progress progress;
  Tally tally;
  AnyUploader uploader;
};

NewsSender::NewsSender(Session& session, NewsOptions options, uint64_t signals)
    : session_(session),
      options_(std::move(options)),
      signals_(signals),
      pages_(v1::PagesService::NewStub(session.channel())),
      ingest_(v1::IngestService::NewStub(session.channel())) {}

NewsSender::~NewsSender() {
  // Ends the uploads while Book can still receive their last outcomes.
  page_upload_.reset();
  signal_upload_.reset();
}

void NewsSender::Book(uint64_t row, const std::string& name, const v1::ItemError& error) {
  const MutexLock lock(mutex_);
  ++receipt_.refused;
  if (++named_ <= kMaxNamedRefusals) {
    receipt_.refusals.push_back(fmt::format("entry {}: {}: {}{}{}", row,
                                            ShowText(CutText(name, kShownNameBytes)), error.field(),
                                            error.field().empty() ? "" : ": ", error.reason()));
  }
  if (MayBeTaken(error)) receipt_.again.push_back(row);
}

bool NewsSender::SendPage(uint64_t row, const sitemap::FeedEntry& entry) {
  if (!page_upload_) {
    page_upload_ = std::make_unique<Upload<PageUploader>>(
        *this, "pages",
        [this](grpc::ClientContext* context) { return pages_->UpsertPages(context); });
  }
  if (page_batch_.Full() && !page_upload_->uploader.Send(std::exchange(page_batch_, {}))) {
    return false;
  }
  v1::PageSpec& page = *page_batch_.request.add_pages();
  page = PageOf(entry, options_);
  page_batch_.bytes += page.ByteSizeLong();
  page_batch_.rows.push_back(row);
  return true;
}

bool NewsSender::SendSignal(uint64_t row, const sitemap::FeedEntry& entry, Instant changed) {
  if (!signal_upload_) {
    signal_upload_ = std::make_unique<Upload<SignalUploader>>(
        *this, "signals",
        [this](grpc::ClientContext* context) { return ingest_->SignalChanges(context); });
    poll_ = std::make_unique<Poll>(1, signal_upload_->uploader, signals_);
  }
  return poll_->Add(SignalOf(entry, changed, options_.source, options_.crawl_id), row);
}

// Reopens a stream that the server ended after it had answered all items.
template <typename AnyUploader>
absl::Status NewsSender::Settle(std::unique_ptr<Upload<AnyUploader>>* upload) const {
  if ((*upload)->uploader.Drain()) return absl::OkStatus();
  const grpc::Status status = (*upload)->uploader.Finish();
  upload->reset();
  if (status.ok()) return absl::OkStatus();
  const std::string server = session_.settings().server;
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return absl::UnavailableError(fmt::format("{}: {}", server, status.error_message()));
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::CANCELLED:
      return absl::UnavailableError(
          fmt::format("{}: no answer within {} s", server, session_.settings().call_seconds));
    default:
      return absl::InternalError(fmt::format("{}: {}", server, status.error_message()));
  }
}

absl::StatusOr<sitemap::Receipt> NewsSender::Settle() {
  absl::Status status;
  if (page_upload_) {
    if (!page_batch_.rows.empty()) page_upload_->uploader.Send(std::exchange(page_batch_, {}));
    status = Settle(&page_upload_);
  }
  if (signal_upload_) {
    poll_->Flush();
    status.Update(Settle(&signal_upload_));
  }
  const MutexLock lock(mutex_);
  sitemap::Receipt receipt = std::exchange(receipt_, {});
  if (!status.ok()) return status;
  return receipt;
}

NewsPrinter::NewsPrinter(const Session& session, NewsOptions options)
    : session_(session), options_(std::move(options)) {}

bool NewsPrinter::SendPage(uint64_t, const sitemap::FeedEntry& entry) {
  const v1::PageSpec page = PageOf(entry, options_);
  if (session_.json()) {
    session_.out() << fmt::format("{{\"page\":{}}}\n", ToJsonLine(page));
  } else {
    session_.out() << "page " << ShowText(entry.url) << '\n';
  }
  return true;
}

bool NewsPrinter::SendSignal(uint64_t, const sitemap::FeedEntry& entry, Instant changed) {
  const v1::ChangeSignal signal = SignalOf(entry, changed, options_.source, options_.crawl_id);
  if (session_.json()) {
    session_.out() << fmt::format("{{\"signal\":{}}}\n", ToJsonLine(signal));
  } else {
    session_.out() << fmt::format("signal {} {}\n", ShowText(entry.url),
                                  ShowTime(signal.change_time()));
  }
  return true;
}

absl::StatusOr<sitemap::Receipt> NewsPrinter::Settle() { return sitemap::Receipt(); }

}  // namespace freshet::cli
