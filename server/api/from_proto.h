// Converts requests to core structs, and validates all values. A refusal is a Status that names the
// field at fault and the reason, in the form of faults.h. The results are canonical.
//
// All functions are thread-safe.
#ifndef FRESHET_SERVER_API_FROM_PROTO_H_
#define FRESHET_SERVER_API_FROM_PROTO_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/page_key.h"
#include "core/schedule/event.h"
#include "freshet/v1/admin.pb.h"
#include "freshet/v1/ingest.pb.h"
#include "freshet/v1/pages.pb.h"
#include "freshet/v1/types.pb.h"
#include "server/engine/routed_event.h"
#include "server/engine/sources.h"

namespace freshet {

struct CrawlRecord;

[[nodiscard]] StatusOr<Duration> FromProto(const google::protobuf::Duration& duration);
[[nodiscard]] StatusOr<Instant> FromProto(const google::protobuf::Timestamp& time);

// Whether a page that was fetched at `fetched` can have last changed at `modified`: not before
// 1990, when there was no Web, and not after the fetch. Some sites claim 1970 or 2099. If such a
// site is asked whether the page has changed since that date, it always answers no.
[[nodiscard]] bool CanBeLastModified(Instant modified, Instant fetched);

// The canonical key of a page, and the host that decides its slot.
struct HostedKey {
  PageKey key;
  std::string host;
};
[[nodiscard]] StatusOr<HostedKey> ConvertKey(std::string_view url, std::string_view crawl_id);
// Converts a host name, or takes the host of a URL.
[[nodiscard]] StatusOr<std::string> ConvertHost(std::string_view text);
// Converts a lease duration; returns `unset` if the request has none. InvalidArgument: the duration
// is not from 1 second to `max`.
[[nodiscard]] StatusOr<Duration> ConvertLease(bool has, const google::protobuf::Duration& lease,
                                              Duration unset, Duration max);

// --- Items

// The slot of an item: the slot of its lease, or of the host of its URL. nullopt = the item has
// neither, or the URL is invalid. A removal has only a URL, and a return has only a lease.
[[nodiscard]] std::optional<Slot> SlotOf(std::string_view url);
[[nodiscard]] std::optional<Slot> SlotOf(uint64_t lease_id);
[[nodiscard]] std::optional<Slot> SlotOf(const v1::CrawlResult& result);
[[nodiscard]] std::optional<Slot> SlotOf(const v1::ChangeSignal& signal);
[[nodiscard]] std::optional<Slot> SlotOf(const v1::PageSpec& page);

[[nodiscard]] StatusOr<RoutedEvent> ConvertPage(const v1::PageSpec& page, bool reset, Instant now);
[[nodiscard]] StatusOr<RoutedEvent> ConvertRemove(std::string_view url, std::string_view crawl_id);
[[nodiscard]] StatusOr<RoutedEvent> ConvertRecheck(std::string_view url, std::string_view crawl_id);
// Converts a result. `generation` is the number of this run of the server. A lease is unknown if no
// run up to this one can have issued it. A value that the crawled site can influence never causes a
// refusal: the value is left out or cut, and a note is added.
[[nodiscard]] StatusOr<RoutedEvent> ConvertResult(const v1::CrawlResult& result,
                                                  uint32_t generation, Instant now);
// UnknownSource makes the NotFound error for an unknown source, and suggests similar names.
// ConvertSignal converts a signal; `pages_in_poll` of the result is 1 until SetPolls sets it.
[[nodiscard]] Status UnknownSource(const Sources& sources, std::string_view name);
[[nodiscard]] StatusOr<RoutedEvent> ConvertSignal(const v1::ChangeSignal& signal,
                                                  const Sources& sources, Instant now);
[[nodiscard]] StatusOr<RoutedEvent> ConvertReturn(uint64_t lease_id);

// The poll from which the signals of a message come.
struct PollOrigin {
  std::optional<uint64_t> size;  // items in the whole poll; unset = as many as in the message
  std::string name;              // unique in this run of the server
};

// Sets the size of the poll in the signals of one message. The size is `origin.size` if set,
// otherwise the number of distinct pages of the same host and source in the message. If the poll
// has several pages, the signals of one host and source also get the same poll number
// (SignalChange::poll). Precondition: all events come from ConvertSignal.
void SetPolls(const PollOrigin& origin, std::vector<RoutedEvent>* signals);

// --- Politeness

[[nodiscard]] StatusOr<SetHost> ConvertPoliteness(const v1::SetHostPolitenessRequest& request,
                                                  Instant now);
// These return a function that applies a request's change to the settings of a crawl id, or to the
// defaults.
[[nodiscard]] StatusOr<std::function<void(CrawlRecord*)>> ConvertCrawl(
    const v1::SetCrawlRequest& request);
[[nodiscard]] StatusOr<std::function<void(Settings*)>> ConvertDefaults(
    const v1::SetPolitenessDefaultsRequest& request);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FROM_PROTO_H_
