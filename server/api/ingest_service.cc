#include "server/api/ingest_service.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/schedule/leases.h"
#include "fmt/format.h"
#include "server/api/batch_stream.h"
#include "server/api/from_proto.h"
#include "server/api/unary.h"

namespace freshet {
namespace {

class Reports {
 public:
  using Request = v1::ReportCrawlsRequest;
  using Response = v1::ReportCrawlsResponse;
  static constexpr const char* kField = "results";
  static constexpr std::string_view kPath = kReportCrawlsPath;

  explicit Reports(const ServerContext& context) : context_(context) {}

  static auto* Of(Request* request) { return request->mutable_results(); }
  Batch Convert(const Request& request, const std::vector<TextFault>& faults,
                const Caller& caller) const {
    return ConvertResults(context_, request.sequence(), request.results(), faults, caller);
  }
  static void CopyPart(const Request& request, const std::vector<uint32_t>& places, Request* part) {
    part->set_sequence(request.sequence());
    CopyItems(request.results(), places, part->mutable_results());
  }
  void Count(const BatchCounts& counts) const {
    context_.counters.results_refused += counts.refused;
  }

 private:
  const ServerContext& context_;
};

class Signals {
 public:
  using Request = v1::SignalChangesRequest;
  using Response = v1::SignalChangesResponse;
  static constexpr const char* kField = "signals";
  static constexpr std::string_view kPath = "/freshet.v1.IngestService/SignalChanges";

  explicit Signals(const ServerContext& context)
      : context_(context), serial_(++context.counters.signal_streams) {}

  static auto* Of(Request* request) { return request->mutable_signals(); }
  static Status Check(const Request& request) {
    if (!request.has_poll_size() || request.poll_size() > 0) return absl::OkStatus();
    return InvalidArgument("poll_size: is 0");
  }
  Batch Convert(const Request& request, const std::vector<TextFault>& faults,
                const Caller& caller) {
    const Instant now = context_.clock.Now();
    Batch batch(request.sequence(), request.signals_size());
    batch.SetCaller(&caller);
    for (int i = 0; i < request.signals_size(); ++i) {
      Status fault = CheckTexts(faults, i);
      // The caller's limits are checked first, so that the error does not reveal which sources
      // exist.
      if (fault.ok()) fault = caller.CheckSource(request.signals(i).source());
      batch.Add(i, fault.ok() ? ConvertSignal(request.signals(i), context_.sources, now) : fault);
    }
    SetPolls(OriginOf(request), &batch.events());
    return batch;
  }
  Duration PayForSources(Batch& batch, Instant now) const {
    std::array<uint64_t, limits::kMaxSources> signals{};
    for (const RoutedEvent& event : batch.events()) {
      ++signals[std::get<SignalChange>(event.event).source];
    }
    Duration pause;
    for (size_t source = 0; source < signals.size(); ++source) {
      if (signals[source] == 0) continue;
      const auto index = static_cast<uint8_t>(source);
      pause = std::max(pause, context_.sources.TakeSignals(index, signals[source], now));
    }
    return pause;
  }
  static void CopyPart(const Request& request, const std::vector<uint32_t>& places, Request* part) {
    part->set_sequence(request.sequence());
    if (request.has_poll_size()) part->set_poll_size(request.poll_size());
    part->set_poll_id(request.poll_id());
    CopyItems(request.signals(), places, part->mutable_signals());
  }
  void Count(const BatchCounts& counts) const {
    context_.counters.signals_refused += counts.refused;
  }

 private:
  PollOrigin OriginOf(const Request& request) {
    ++messages_;
    PollOrigin origin;
    if (request.has_poll_size()) origin.size = request.poll_size();
    origin.name = request.poll_id() > 0 ? fmt::format("{} poll {}", serial_, request.poll_id())
                                        : fmt::format("{} message {}", serial_, messages_);
    return origin;
  }

  const ServerContext& context_;
  const uint64_t serial_;  // number of the stream
  uint64_t messages_ = 0;
};

// Converts a result with texts that are not UTF-8. Texts from the crawled site are left out and
// noted. Any other invalid text causes a refusal.
StatusOr<RoutedEvent> ConvertMended(const v1::CrawlResult& result,
                                    const std::vector<TextFault>& faults, int item,
                                    uint32_t generation, Instant now) {
  v1::CrawlResult mended = result;
  std::vector<std::string> notes;
  for (const TextFault& fault : faults) {
    if (fault.item != item) continue;
    if (fault.field == "etag") {
      mended.clear_etag();
    } else if (fault.field == "moved_to") {
      mended.clear_moved_to();
    } else {
      return StatusOf(fault);
    }
    notes.push_back(fault.field + ": is not valid UTF-8; left out");
  }
  ASSIGN_OR_RETURN(RoutedEvent event, ConvertResult(mended, generation, now));
  event.notes.insert(event.notes.begin(), std::make_move_iterator(notes.begin()),
                     std::make_move_iterator(notes.end()));
  return event;
}

// The highest generation that a lease may have. Each division numbers its runs separately, so this
// server accepts any generation in a lease of another division.
uint32_t GenerationFor(const ServerContext& context, const v1::CrawlResult& result) {
  const bool own = context.router.division().Has(SlotOfLease(LeaseId(result.lease_id())));
  return own ? static_cast<uint32_t>(context.store.generation()) : kLeaseGenerations;
}

// Unavailable: a later run of this division issued the lease. In a cluster, another server may have
// taken over the division without this server's knowledge. The other server knows the lease.
Status CheckRun(const ServerContext& context, const v1::CrawlResult& result, uint32_t generation) {
  const LeaseId lease(result.lease_id());
  if (!context.config.cluster.configured() || GenerationOfLease(lease) <= generation) return {};
  return MakeStatus(absl::StatusCode::kUnavailable,
                    "lease_id: {} is not of this server: another may be active now",
                    result.lease_id());
}

}  // namespace

Batch ConvertResults(const ServerContext& context, uint64_t sequence,
                     const google::protobuf::RepeatedPtrField<v1::CrawlResult>& results,
                     const std::vector<TextFault>& faults, const Caller& caller) {
  const Instant now = context.clock.Now();
  Batch batch(sequence, results.size());
  batch.SetCaller(&caller);
  for (int i = 0; i < results.size(); ++i) {
    const bool whole = FindTextFault(faults, i) == nullptr;
    const uint32_t generation = GenerationFor(context, results[i]);
    if (const Status run = CheckRun(context, results[i], generation); !run.ok()) {
      batch.Add(i, run);
      continue;
    }
    batch.Add(i, whole ? ConvertResult(results[i], generation, now)
                       : ConvertMended(results[i], faults, i, generation, now));
  }
  return batch;
}

std::vector<CallMethod> IngestMethods(const ServerContext& context) {
  return {
      Streaming(Reports::kPath, context, StartBatchStream<Reports>),
      Streaming(Signals::kPath, context, StartBatchStream<Signals>),
  };
}

}  // namespace freshet
