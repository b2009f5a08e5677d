// Tests every request message, from a client's bytes through ParseMessage and the conversions to a
// shard's events. The first byte selects the message. No input may end the process. A refusal names
// a field of the API or none, and accepted input is within the limits.
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/id_limits.h"
#include "core/schedule/leases.h"
#include "freshet/v1/admin.pb.h"
#include "freshet/v1/ingest.pb.h"
#include "freshet/v1/pages.pb.h"
#include "freshet/v1/scheduler.pb.h"
#include "google/protobuf/arena.h"
#include "google/protobuf/descriptor.h"
#include "server/api/batch.h"
#include "server/api/faults.h"
#include "server/api/from_proto.h"
#include "server/api/wire.h"
#include "server/base/limits.h"
#include "server/engine/sources.h"
#include "server/logging.h"

namespace freshet {
namespace {

using google::protobuf::Descriptor;

const Instant kNow = Instant::FromUnixSeconds(1'700'000'000);

void AddFieldNames(const Descriptor& type, std::set<std::string>* names) {
  for (int i = 0; i < type.field_count(); ++i) {
    names->insert(type.field(i)->name());
    if (type.field(i)->message_type() != nullptr && !type.field(i)->is_map()) {
      AddFieldNames(*type.field(i)->message_type(), names);
    }
  }
}

void CheckStatus(const Status& status, const std::set<std::string>& fields) {
  if (status.ok()) return;
  const v1::ItemError fault = FaultOf(status);
  CHECK(fault.code() != v1::ERROR_CODE_UNSPECIFIED && fault.code() != v1::ERROR_CODE_INTERNAL, "{}",
        fault.ShortDebugString());
  CHECK(!fault.reason().empty() || !fault.field().empty());
  CHECK(fault.field().empty() || fields.contains(fault.field()), "{}", fault.field());
}

void CheckEvent(const StatusOr<RoutedEvent>& event, const std::set<std::string>& fields) {
  CheckStatus(event.status(), fields);
  if (event.ok()) CHECK(event->slot.value() < limits::kSlots);
}

// The sources that the server knows.
const Sources& KnownSources() {
  static const Sources* const kSources = [] {
    auto* sources = new Sources;
    for (const std::string name : {"cdn", "sitemap"}) {
      const StatusOr<SourceRecord> record = sources->Propose(name);
      CHECK(record.ok());
      sources->Add(*record);
    }
    return sources;
  }();
  return *kSources;
}

void Convert(const v1::UpsertPagesRequest& request, const std::set<std::string>& fields) {
  for (const v1::PageSpec& page : request.pages()) {
    CheckEvent(ConvertPage(page, request.reset_unset_settings(), kNow), fields);
  }
}

void ConvertResults(const google::protobuf::RepeatedPtrField<v1::CrawlResult>& results,
                    const std::set<std::string>& fields) {
  for (const v1::CrawlResult& result : results) {
    CheckEvent(ConvertResult(result, 7, kNow), fields);
  }
}

void Convert(const v1::ReportCrawlsRequest& request, const std::set<std::string>& fields) {
  ConvertResults(request.results(), fields);
}

void Convert(const v1::SignalChangesRequest& request, const std::set<std::string>& fields) {
  std::vector<RoutedEvent> events;
  for (const v1::ChangeSignal& signal : request.signals()) {
    StatusOr<RoutedEvent> event = ConvertSignal(signal, KnownSources(), kNow);
    CheckEvent(event, fields);
    if (event.ok()) events.push_back(*std::move(event));
  }
  PollOrigin origin{.size = std::nullopt, .name = "poll"};
  if (request.poll_size() > 0) origin.size = request.poll_size();
  SetPolls(origin, &events);
}

void Convert(const v1::CrawlRequest& request, const std::set<std::string>& fields) {
  ConvertResults(request.results().results(), fields);
  for (const uint64_t lease : request.returned_leases().lease_ids()) {
    CheckEvent(ConvertReturn(lease), fields);
  }
  const v1::WorkerHello& hello = request.hello();
  (void)ConvertLease(hello.has_lease_duration(), hello.lease_duration(), Duration::Seconds(300),
                     Duration::Hours(24));
}

void Convert(const v1::NextRequest& request, const std::set<std::string>& /*fields*/) {
  if (request.has_max_wait()) (void)FromProto(request.max_wait());
  (void)ConvertLease(request.has_lease_duration(), request.lease_duration(), Duration::Seconds(300),
                     Duration::Hours(24));
}

void Convert(const v1::RemovePagesRequest& request, const std::set<std::string>& fields) {
  for (const std::string& url : request.urls()) {
    CheckEvent(ConvertRemove(url, request.crawl_id()), fields);
  }
}

void Convert(const v1::RecheckPagesRequest& request, const std::set<std::string>& fields) {
  for (const std::string& url : request.urls()) {
    CheckEvent(ConvertRecheck(url, request.crawl_id()), fields);
  }
}

void Convert(const v1::GetPageRequest& request, const std::set<std::string>& fields) {
  CheckStatus(ConvertKey(request.url(), request.crawl_id()).status(), fields);
}

void Convert(const v1::GetHostRequest& request, const std::set<std::string>& /*fields*/) {
  (void)ConvertHost(request.host());
}

void Convert(const v1::SetHostPolitenessRequest& request, const std::set<std::string>& fields) {
  CheckStatus(ConvertPoliteness(request, kNow).status(), fields);
}

// Some messages have no conversion.
template <typename Request>
void Convert(const Request& /*request*/, const std::set<std::string>& /*fields*/) {}

template <typename Request>
void TakeIn(std::string_view bytes) {
  static const std::set<std::string>* const kFields = [] {
    auto* fields = new std::set<std::string>;
    AddFieldNames(*Request::descriptor(), fields);
    fields->insert("url");  // name of an item of `urls`
    return fields;
  }();
  google::protobuf::Arena arena;
  auto& request = *google::protobuf::Arena::CreateMessage<Request>(&arena);
  MessageFaults faults;
  const Status status = ParseMessage(bytes, &request, &faults);
  // The memory that protobuf takes is bounded for any bytes.
  CHECK(arena.SpaceUsed() < (size_t{4} << 20) + 4 * bytes.size(), "{} bytes of {}",
        arena.SpaceUsed(), bytes.size());
  if (!status.ok()) {
    CHECK(faults.texts.empty());
    CHECK(absl::IsInvalidArgument(status), "{}", status.ToString());
    CheckStatus(status, *kFields);
    return;
  }
  int item = -1;
  for (const TextFault& fault : faults.texts) {
    CHECK(fault.item >= item && fault.item < limits::kMaxItemsPerMessage);
    CHECK(kFields->contains(fault.field), "{}", fault.field);
    const TextFault* found = FindTextFault(faults.texts, fault.item);
    CHECK(fault.item < 0 || (found != nullptr && found->item == fault.item));
    item = fault.item;
  }
  // An accepted message stays the same when it is serialised and parsed.
  Request again;
  CHECK(again.ParseFromString(request.SerializeAsString()));
  Convert(request, *kFields);
}

using Taker = void (*)(std::string_view);
constexpr Taker kTakers[] = {
    TakeIn<v1::UpsertPagesRequest>,
    TakeIn<v1::ReportCrawlsRequest>,
    TakeIn<v1::SignalChangesRequest>,
    TakeIn<v1::CrawlRequest>,
    TakeIn<v1::NextRequest>,
    TakeIn<v1::RemovePagesRequest>,
    TakeIn<v1::RecheckPagesRequest>,
    TakeIn<v1::GetPageRequest>,
    TakeIn<v1::ListPagesRequest>,
    TakeIn<v1::ExportPagesRequest>,
    TakeIn<v1::GetHostRequest>,
    TakeIn<v1::SetHostPolitenessRequest>,
    TakeIn<v1::SetCrawlRateRequest>,
    TakeIn<v1::SetPolicyRequest>,
    TakeIn<v1::CompactStoreRequest>,
    TakeIn<v1::PauseRequest>,
    TakeIn<v1::CreateCheckpointRequest>,
    TakeIn<v1::GetTrustReportRequest>,
    TakeIn<v1::RegisterSourceRequest>,
};

}  // namespace
}  // namespace freshet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool kQuiet = [] {
    freshet::StartLogging("off");
    return true;
  }();
  (void)kQuiet;
  if (size == 0) return 0;
  const freshet::Taker take = freshet::kTakers[data[0] % std::size(freshet::kTakers)];
  take({reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}
