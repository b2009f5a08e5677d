// Tests answers to clients after any requests. A shard applies the converted messages of clients,
// time passes, and pages are leased and reported. Everything that the shard tells about its pages
// and hosts is then converted to messages, bytes and the console's JSON. No input may end the
// process, and everything must have a JSON form.
//
// The input is a list of steps: a byte for the operation, two bytes of length, and that many bytes
// of data.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/schedule/crawl_book.h"
#include "core/schedule/explanation.h"
#include "core/schedule/host_book.h"
#include "freshet/v1/admin.pb.h"
#include "freshet/v1/ingest.pb.h"
#include "freshet/v1/pages.pb.h"
#include "lab/common/memory_shard.h"
#include "server/api/from_proto.h"
#include "server/api/to_proto.h"
#include "server/api/wire.h"
#include "server/engine/sources.h"
#include "server/logging.h"
#include "server/ops/console_calls.h"

namespace freshet {
namespace {

using google::protobuf::Message;

constexpr size_t kMostSteps = 24;
constexpr size_t kMostItems = 32;  // items of each message that are applied
constexpr size_t kMostShown = 16;  // maximum number of pages shown for each input
constexpr Duration kMostTime = Duration::Days(200 * 365);

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

// Fails if the message cannot be written as bytes and JSON.
void Show(const Message& message) {
  CHECK(SerialiseMessage(message).Length() == message.ByteSizeLong());
  const StatusOr<std::string> json = JsonOf(message);
  CHECK(json.ok(), "{}: {}", json.status().ToString(), message.ShortDebugString());
}

// A server with one shard, as clients see it. Owner thread only.
class Shown {
 public:
  Shown() : shard_(ShardOptions{}) {}

  void Do(uint8_t what, std::string_view bytes) {
    switch (what % 9) {
      case 0:
        return Take<v1::UpsertPagesRequest>(bytes, [this](const auto& request) {
          for (const auto& page : request.pages()) {
            Step(ConvertPage(page, request.reset_unset_settings(), now_));
          }
        });
      case 1:
        return Take<v1::ReportCrawlsRequest>(bytes, [this](const auto& request) {
          for (const auto& result : request.results()) Step(ConvertResult(result, 1, now_));
        });
      case 2:
        return Take<v1::SignalChangesRequest>(bytes, [this](const auto& request) {
          for (const auto& signal : request.signals()) {
            Step(ConvertSignal(signal, KnownSources(), now_));
          }
        });
      case 3:
        return Take<v1::RecheckPagesRequest>(bytes, [this](const auto& request) {
          for (const auto& url : request.urls()) Step(ConvertRecheck(url, request.crawl_id()));
        });
      case 4:
        return Take<v1::SetHostPolitenessRequest>(bytes, [this](const auto& request) {
          const StatusOr<SetHost> event = ConvertPoliteness(request, now_);
          if (event.ok()) ShowReply(shard_.Apply(Event(*event), now_));
        });
      case 5:
        return Take<v1::SetCrawlRequest>(bytes,
                                         [this](const auto& request) { SetCrawlOf(request); });
      case 6:
        return GoOn(bytes);
      case 7:
        return Crawl(bytes);
      case 8:
        return shard_.RunEpoch(now_);
      default:
        return;
    }
  }

  // Converts the content of GetPage, ListPages, ListHosts and the trust report.
  void ShowAll() {
    size_t shown = 0;
    for (const auto& [number, page] : shard_.pages()) {
      if (++shown > kMostShown) break;
      ShowPage(page);
    }
    std::vector<HostStatus> hosts;
    (void)shard_.state().hosts().List({}, 0, kMostShown, now_, &hosts);
    for (const HostStatus& host : hosts) {
      v1::HostState out;
      ToProto(host, {.throttles = 1, .now = now_}, &out);
      Show(out);
    }
    for (const CrawlStatus& crawl : shard_.state().crawls().Statuses()) {
      v1::Crawl out;
      ToProto(crawls_[crawl.crawl_id], FrontierMode{}, crawl.counters, &out);
      Show(out);
    }
  }

 private:
  template <typename Request, typename Then>
  void Take(std::string_view bytes, Then then) {
    Request request;
    MessageFaults faults;
    if (ParseMessage(bytes, &request, &faults).ok()) then(request);
  }

  void Step(const StatusOr<RoutedEvent>& event) {
    if (!event.ok() || ++items_ > kMostItems) return;
    ShowReply(shard_.Apply(event->event, now_));
  }

  void ShowReply(const Reply& reply) {
    if (const std::optional<v1::ItemStatus> status = ToProto(reply, 0)) Show(*status);
    if (!reply.assignment) return;
    v1::Assignment out;
    ToProto(*reply.assignment, &out);
    Show(out);
  }

  void SetCrawlOf(const v1::SetCrawlRequest& request) {
    const auto change = ConvertCrawl(request);
    if (!change.ok() || request.crawl_id().empty()) return;
    CrawlRecord& record = crawls_[request.crawl_id()];
    record.crawl_id = request.crawl_id();
    (*change)(&record);
    SetCrawl event;
    event.terms.record = record;
    ShowReply(shard_.Apply(Event(event), now_));
  }

  // Advances the time by the microseconds in `bytes`.
  void GoOn(std::string_view bytes) {
    uint64_t micros = 0;
    std::memcpy(&micros, bytes.data(), std::min(bytes.size(), sizeof micros));
    const auto most = static_cast<uint64_t>((end_ - now_).micros());
    now_ = now_ + Duration::Micros(static_cast<int64_t>(micros % (most + 1)));
    shard_.RunTimers(now_);
  }

  // Leases a page. A byte selects the result that is reported, if any.
  void Crawl(std::string_view bytes) {
    const std::optional<Assignment> assignment = shard_.Next(now_, Duration::Seconds(60), "w");
    if (!assignment) return;
    v1::Assignment out;
    ToProto(*assignment, &out);
    Show(out);
    if (bytes.empty() || (bytes[0] & 8) != 0) return;
    ReportCrawl report{
        .key = assignment->key, .lease = assignment->lease, .fetched = now_ + Duration::Seconds(1)};
    report.outcome = static_cast<CrawlOutcome>(bytes[0] & 3);
    now_ = now_ + Duration::Seconds(1);
    ShowReply(shard_.Apply(Event(report), now_));
  }

  void ShowPage(const PageRecord& page) {
    const Explanation explanation = shard_.state().Explain(page, now_);
    v1::GetPageResponse response;
    ToProto(page, explanation.lease, KnownSources(), response.mutable_page());
    ToProto(explanation, page, {.policy = "default", .now = now_}, KnownSources(),
            response.mutable_explanation());
    Show(response);
  }

  Instant now_ = Instant::FromUnixSeconds(1'700'000'000);
  const Instant end_ = now_ + kMostTime;
  size_t items_ = 0;
  MemoryShard shard_;
  absl::flat_hash_map<std::string, CrawlRecord> crawls_;
};

}  // namespace
}  // namespace freshet

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const bool kQuiet = [] {
    freshet::StartLogging("off");
    return true;
  }();
  (void)kQuiet;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  freshet::Shown shown;
  for (size_t step = 0; step < freshet::kMostSteps && rest.size() >= 3; ++step) {
    const auto what = static_cast<uint8_t>(rest[0]);
    const size_t length = static_cast<uint8_t>(rest[1]) | static_cast<uint8_t>(rest[2]) << 8;
    rest.remove_prefix(3);
    shown.Do(what, rest.substr(0, length));
    rest.remove_prefix(std::min(length, rest.size()));
  }
  shown.ShowAll();
  return 0;
}
