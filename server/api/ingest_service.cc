#include "server/api/ingest_service.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "server/api/batch_stream.h"

namespace freshet {
namespace {

class ReportStream final : public BatchStream<v1::ReportCrawlsRequest, v1::ReportCrawlsResponse> {
 public:
  using BatchStream::BatchStream;

 private:
  const char* ItemField() const override { return "results"; }
  int ItemCount(const v1::ReportCrawlsRequest& request) const override {
    return request.results_size();
  }
  void FillBatch(const v1::ReportCrawlsRequest& request, const std::vector<TextFault>& faults,
                 Batch* batch) override {
    FillResults(request.results(), faults, context_, batch);
  }
  void Count(const BatchCounts& counts) override {
    context_.counters.results_refused += counts.refused;
  }
};

class SignalStream final : public BatchStream<v1::SignalChangesRequest, v1::SignalChangesResponse> {
 public:
  explicit SignalStream(const ServerContext& context)
      : BatchStream(context), serial_(++context.counters.signal_streams) {}

 private:
  const char* ItemField() const override { return "signals"; }
  int ItemCount(const v1::SignalChangesRequest& request) const override {
    return request.signals_size();
  }
  Fault CheckMessage(const v1::SignalChangesRequest& request) const override {
    if (!request.has_poll_size() || request.poll_size() > 0) return std::nullopt;
    return MakeFault(v1::ERROR_CODE_INVALID_ARGUMENT, "poll_size", "is 0");
  }
  void FillBatch(const v1::SignalChangesRequest& request, const std::vector<TextFault>& faults,
                 Batch* batch) override {
    const Instant now = context_.clock.Now();
    for (int i = 0; i < request.signals_size(); ++i) {
      const auto place = static_cast<size_t>(i);
      if (const TextFault* fault = FindTextFault(faults, place)) {
        batch->Refuse(place, FaultOf(*fault));
        continue;
      }
      batch->Convert(place, [&](RoutedEvent* event) {
        return ConvertSignal(request.signals(i), context_.sources, now, event);
      });
    }
    ++messages_;
    PollOrigin origin;
    if (request.has_poll_size()) origin.size = request.poll_size();
    origin.name = request.poll_id() > 0 ? fmt::format("{} poll {}", serial_, request.poll_id())
                                        : fmt::format("{} message {}", serial_, messages_);
    SetPolls(origin, &batch->events());
    for (const RoutedEvent& event : batch->events()) {
      context_.sources.CountSignals(std::get<SignalChange>(event.event).source, 1);
    }
  }
  void Count(const BatchCounts& counts) override {
    context_.counters.signals_refused += counts.refused;
  }

  const uint64_t serial_;  // of the stream
  uint64_t messages_ = 0;
};

// Texts that are not UTF-8 and come from the site that was crawled are left out of the result, and
// noted; the fault of another text, if there is one.
const TextFault* LeaveOutTextsOfTheSite(const std::vector<TextFault>& faults, int item,
                                        v1::CrawlResult* result, std::vector<std::string>* notes) {
  for (const TextFault& fault : faults) {
    if (fault.item != item) continue;
    if (fault.field == "etag") {
      result->clear_etag();
    } else if (fault.field == "moved_to") {
      result->clear_moved_to();
    } else {
      return &fault;
    }
    notes->push_back(fault.field + ": is not valid UTF-8; left out");
  }
  return nullptr;
}

template <typename Stream>
grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Open(const ServerContext& context) {
  const auto stream = std::make_shared<Stream>(context);
  stream->Begin(&context.streams);
  return stream.get();
}

}  // namespace

void FillResults(const google::protobuf::RepeatedPtrField<v1::CrawlResult>& results,
                 const std::vector<TextFault>& faults, const ServerContext& context, Batch* batch) {
  const Instant now = context.clock.Now();
  const auto generation = static_cast<uint32_t>(context.store.generation());
  for (int i = 0; i < results.size(); ++i) {
    const auto place = static_cast<size_t>(i);
    std::vector<std::string> notes;
    std::optional<v1::CrawlResult> mended;
    if (FindTextFault(faults, place) != nullptr) {
      mended = results[i];
      if (const TextFault* fault = LeaveOutTextsOfTheSite(faults, i, &*mended, &notes)) {
        batch->Refuse(place, FaultOf(*fault));
        continue;
      }
    }
    batch->Convert(place, [&](RoutedEvent* event) {
      event->notes = std::move(notes);
      return ConvertResult(mended ? *mended : results[i], generation, now, event);
    });
  }
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* IngestService::ReportCrawls(
    grpc::CallbackServerContext*) {
  return Open<ReportStream>(context_);
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* IngestService::SignalChanges(
    grpc::CallbackServerContext*) {
  return Open<SignalStream>(context_);
}

}  // namespace freshet
