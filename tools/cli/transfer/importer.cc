#include "tools/cli/transfer/importer.h"

#include <algorithm>
#include <array>
#include <map>
#include <thread>
#include <utility>

#include "fmt/format.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "tools/cli/admin_call.h"
#include "tools/cli/table.h"

namespace freshet::cli {

// A stream that is opened for the first batch, and the outcomes of its items.
template <typename Request, typename Response>
struct Importer::Stream {
  using Upload = Uploader<Request, Response>;
  using Open = std::function<std::unique_ptr<grpc::ClientReaderWriter<Request, Response>>(
      grpc::ClientContext*)>;

  Stream(const Session& session, Progress& progress, const Tally::Refusal& refused,
         const Open& open)
      : tally(session, progress, "items"), uploader(session, tally, open) {
    tally.Tell(refused);
  }

  // Sends and empties the batch, unless it is empty.
  bool Send(Batch<Request>& batch, const Request& prototype) {
    if (batch.rows.empty()) return true;
    return uploader.Send(std::exchange(batch, {prototype, {}, 0, 1}));
  }

  // Waits for all acknowledgements. Not OK: the stream is broken.
  grpc::Status Drain(bool sent) {
    if (sent && uploader.Drain()) return grpc::Status::OK;
    grpc::Status status = uploader.Finish();
    return status.ok() ? grpc::Status(grpc::StatusCode::UNAVAILABLE, "the server ended the stream")
                       : status;
  }

  Tally tally;
  Upload uploader;
};

namespace {

// For each burst class, a poll size from which the server derives this class.
constexpr std::array<std::pair<v1::BurstClass, uint64_t>, 4> kPollSizes = {
    {{v1::BURST_CLASS_1_TO_2, 1},
     {v1::BURST_CLASS_3_TO_9, 3},
     {v1::BURST_CLASS_10_TO_99, 10},
     {v1::BURST_CLASS_100_OR_MORE, 100}}};

}  // namespace

Importer::Importer(Session& session, Progress& progress, ImportCounts& counts)
    : session_(session), progress_(progress), counts_(counts) {}

Importer::~Importer() = default;

void Importer::Refuse(uint64_t place, const std::string& name, const v1::ItemError& error) {
  progress_.PrintFault(fmt::format("freshet: {}: row {}: {}: {}{}{}", ShowText(input_),
                                   (*chunk_)[place].row, ShowName(name), error.field(),
                                   error.field().empty() ? "" : ": ", ShowText(error.reason())));
}

grpc::Status Importer::Send(const Pages& pages, const std::string& input) {
  chunk_ = &pages;
  input_ = input;
  not_taken_.assign(pages.size(), false);
  grpc::Status status = SendPages(pages);
  if (status.ok()) status = SendResults(pages);
  if (status.ok()) status = SendSignals(pages);
  if (status.ok()) status = SendRechecks(pages);
  if (!status.ok()) return status;
  const auto refused =
      static_cast<uint64_t>(std::count(not_taken_.begin(), not_taken_.end(), true));
  counts_.refused += refused;
  counts_.pages += pages.size() - refused;
  for (const ImportedPage& page : pages) {
    counts_.histories_left_out += page.history_left_out;
    counts_.undated += page.undated;
  }
  return status;
}

grpc::Status Importer::SendPages(const Pages& pages) {
  if (!upserts_) {
    const auto refused = [this](uint64_t place, const std::string& name,
                                const v1::ItemError& error) {
      not_taken_[place] = true;
      Refuse(place, name, error);
    };
    upserts_ = std::make_unique<Stream<v1::UpsertPagesRequest, v1::UpsertPagesResponse>>(
        session_, progress_, refused, [this](grpc::ClientContext* context) {
          return v1::PagesService::NewStub(session_.channel())->UpsertPages(context);
        });
  }
  v1::UpsertPagesRequest prototype;
  Batch<v1::UpsertPagesRequest> batch;
  bool sent = true;
  for (size_t i = 0; sent && i < pages.size(); ++i) {
    if (batch.Full() || pages[i].whole != prototype.reset_unset_settings()) {
      sent = upserts_->Send(batch, prototype);
      prototype.set_reset_unset_settings(pages[i].whole);
      batch.request = prototype;
    }
    *batch.request.add_pages() = pages[i].page;
    batch.bytes += pages[i].page.ByteSizeLong();
    batch.rows.push_back(i);
  }
  sent = sent && upserts_->Send(batch, prototype);
  return upserts_->Drain(sent);
}

grpc::Status Importer::SendResults(const Pages& pages) {
  Batch<v1::ReportCrawlsRequest> batch;
  bool sent = true;
  for (size_t i = 0; sent && i < pages.size(); ++i) {
    if (pages[i].results.empty() || not_taken_[i]) continue;
    if (!reports_) {
      const auto refused = [this](uint64_t place, const std::string& name,
                                  const v1::ItemError& error) {
        ++counts_.incomplete;
        Refuse(place, name, error);
      };
      reports_ = std::make_unique<Stream<v1::ReportCrawlsRequest, v1::ReportCrawlsResponse>>(
          session_, progress_, refused, [this](grpc::ClientContext* context) {
            return v1::IngestService::NewStub(session_.channel())->ReportCrawls(context);
          });
    }
    for (const v1::CrawlResult& result : pages[i].results) {
      if (batch.Full()) sent = reports_->Send(batch, {});
      *batch.request.add_results() = result;
      batch.bytes += result.ByteSizeLong();
      batch.rows.push_back(i);
      ++counts_.results;
    }
  }
  if (!reports_) return grpc::Status::OK;
  sent = sent && reports_->Send(batch, {});
  return reports_->Drain(sent);
}

void Importer::LearnSources() {
  v1::ListSourcesResponse known;
  const auto stub = v1::AdminService::NewStub(session_.channel());
  if (Call(session_, &Admin::ListSources, *stub, v1::ListSourcesRequest(), &known).ok()) {
    for (const v1::Source& source : known.sources()) sources_.insert(source.source());
  }
  most_sources_ = sources_.size() + kMostNewSources;
}

void Importer::AddSources(const ImportedPage& page) {
  for (const v1::PendingSignals& pending : page.signals) {
    if (most_sources_ == 0) LearnSources();
    if (sources_.contains(pending.source())) continue;
    // The server keeps a source for ever, so a file must not use up all places for sources.
    if (sources_.size() >= most_sources_) {
      if (std::exchange(said_too_many_, true)) return;
      return progress_.Print(fmt::format(
          "freshet: the input names more than {} sources that the server does not know; add those "
          "that you trust with `freshet sources --add`, and import again",
          kMostNewSources));
    }
    sources_.insert(pending.source());
    v1::RegisterSourceRequest request;
    request.set_source(pending.source());
    v1::RegisterSourceResponse response;
    const auto stub = v1::AdminService::NewStub(session_.channel());
    const grpc::Status status = Call(session_, &Admin::RegisterSource, *stub, request, &response);
    // The server might still accept the signals of this source. If it refuses them, that is
    // reported.
    if (!status.ok()) {
      progress_.Print(fmt::format("freshet: source {}: {}", ShowText(pending.source()),
                                  ShowText(status.error_message())));
    }
  }
}

grpc::Status Importer::SendSignals(const Pages& pages) {
  bool sent = true;
  for (const auto& [burst, size] : kPollSizes) {
    v1::SignalChangesRequest prototype;
    prototype.set_poll_size(size);
    Batch<v1::SignalChangesRequest> batch;
    batch.request = prototype;
    for (size_t i = 0; sent && i < pages.size(); ++i) {
      if (pages[i].signals.empty() || not_taken_[i]) continue;
      if (!signals_) {
        const auto refused = [this](uint64_t place, const std::string& name,
                                    const v1::ItemError& error) {
          ++counts_.incomplete;
          Refuse(place, name, error);
        };
        signals_ = std::make_unique<Stream<v1::SignalChangesRequest, v1::SignalChangesResponse>>(
            session_, progress_, refused, [this](grpc::ClientContext* context) {
              return v1::IngestService::NewStub(session_.channel())->SignalChanges(context);
            });
      }
      AddSources(pages[i]);
      std::map<std::string, uint32_t> of_source;
      for (const v1::PendingSignals& pending : pages[i].signals) {
        if (pending.burst_class() != burst) continue;
        uint32_t& k = of_source[pending.source()];
        for (uint32_t left = pending.signals(); left > 0 && k < kMaxSignalsOfAKind; --left, ++k) {
          if (batch.Full()) sent = signals_->Send(batch, prototype);
          v1::ChangeSignal& signal = *batch.request.add_signals();
          signal.set_url(pages[i].page.url());
          signal.set_crawl_id(pages[i].page.crawl_id());
          signal.set_source(pending.source());
          // The ids depend only on the input, so a repeated import sends the same ids.
          signal.set_signal_id(fmt::format("import/{}/{}", size, k));
          batch.bytes += signal.ByteSizeLong();
          batch.rows.push_back(i);
          ++counts_.signals;
        }
      }
    }
    sent = sent && (!signals_ || signals_->Send(batch, prototype));
  }
  return signals_ ? signals_->Drain(sent) : grpc::Status::OK;
}

grpc::Status Importer::SendRechecks(const Pages& pages) {
  const auto stub = v1::PagesService::NewStub(session_.channel());
  for (size_t i = 0; i < pages.size(); ++i) {
    if (!pages[i].recheck || not_taken_[i]) continue;
    v1::RecheckPagesRequest request;
    request.set_crawl_id(pages[i].page.crawl_id());
    std::vector<size_t> places;
    for (; i < pages.size() && places.size() < size_t{kMaxBatchItems}; ++i) {
      if (!pages[i].recheck || not_taken_[i]) continue;
      if (pages[i].page.crawl_id() != request.crawl_id()) break;
      request.add_urls(pages[i].page.url());
      places.push_back(i);
    }
    --i;
    v1::RecheckPagesResponse response;
    const grpc::Status status =
        Call(session_, &v1::PagesService::Stub::RecheckPages, *stub, request, &response);
    if (!status.ok()) return status;
    for (const v1::ItemStatus& item : response.ack().statuses()) {
      if (item.outcome() != v1::ITEM_OUTCOME_REFUSED || item.index() >= places.size()) continue;
      ++counts_.incomplete;
      Refuse(places[item.index()], request.urls(static_cast<int>(item.index())), item.error());
    }
  }
  return grpc::Status::OK;
}

}  // namespace freshet::cli
