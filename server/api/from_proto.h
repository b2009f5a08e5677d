// Converts requests to core structs. Validates everything, and refuses with the field at fault and
// a reason: a Status in the form of faults.h. The results are canonical.
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

// Whether a page fetched at `fetched` can have last changed at `modified`: not before 1990, when
// there was no Web, and not after the fetch. A site that says 1970 or 2099 would for ever answer
// that nothing has changed since.
[[nodiscard]] bool CanBeLastModified(Instant modified, Instant fetched);

// The canonical key of a page, and the host that decides its slot.
struct HostedKey {
  PageKey key;
  std::string host;
};
[[nodiscard]] StatusOr<HostedKey> ConvertKey(std::string_view url, std::string_view crawl_id);
// Converts a host: as in a canonical URL, or any URL of it.
[[nodiscard]] StatusOr<std::string> ConvertHost(std::string_view text);
// Converts a lease duration: `unset` if there is none. InvalidArgument outside of 1 second to
// `max`.
[[nodiscard]] StatusOr<Duration> ConvertLease(bool has, const google::protobuf::Duration& lease,
                                              Duration unset, Duration max);

// --- Items

// Where an item belongs: the slot of its lease, or of the host of its URL; nullopt: it has neither,
// or no host can have that name. A return names a lease, and a removal a URL.
[[nodiscard]] std::optional<Slot> SlotOf(std::string_view url);
[[nodiscard]] std::optional<Slot> SlotOf(uint64_t lease_id);
[[nodiscard]] std::optional<Slot> SlotOf(const v1::CrawlResult& result);
[[nodiscard]] std::optional<Slot> SlotOf(const v1::ChangeSignal& signal);
[[nodiscard]] std::optional<Slot> SlotOf(const v1::PageSpec& page);

[[nodiscard]] StatusOr<RoutedEvent> ConvertPage(const v1::PageSpec& page, bool reset, Instant now);
[[nodiscard]] StatusOr<RoutedEvent> ConvertRemove(std::string_view url, std::string_view crawl_id);
[[nodiscard]] StatusOr<RoutedEvent> ConvertRecheck(std::string_view url, std::string_view crawl_id);
// Converts a result. `generation` is this run's: a lease that no run so far can have issued is
// unknown. A value that the crawled site can influence is never refused: it is left out or cut, and
// noted.
[[nodiscard]] StatusOr<RoutedEvent> ConvertResult(const v1::CrawlResult& result,
                                                  uint32_t generation, Instant now);
// Converts a signal; `pages_in_poll` stays 1, see SetPolls. UnknownSource is NotFound, with similar
// names of sources.
[[nodiscard]] Status UnknownSource(const Sources& sources, std::string_view name);
[[nodiscard]] StatusOr<RoutedEvent> ConvertSignal(const v1::ChangeSignal& signal,
                                                  const Sources& sources, Instant now);
[[nodiscard]] StatusOr<RoutedEvent> ConvertReturn(uint64_t lease_id);

// A message's information about the poll of its signals.
struct PollOrigin {
  std::optional<uint64_t> size;  // the items of the whole poll; unset = those of the message
  std::string name;              // unique for every poll of this run of the server
};

// Gives the signals of one message the size of their poll. The size is `origin.size` if set, else
// the number of distinct pages of the same host and source in the message. Signals that did not
// come alone also get a number for their part of the poll: the pages of one host and source. All
// events come from ConvertSignal.
void SetPolls(const PollOrigin& origin, std::vector<RoutedEvent>* signals);

// --- Politeness

[[nodiscard]] StatusOr<SetHost> ConvertPoliteness(const v1::SetHostPolitenessRequest& request,
                                                  Instant now);
// Returns the change that a request makes to the settings, or to those of its crawl id.
[[nodiscard]] StatusOr<std::function<void(CrawlRecord*)>> ConvertCrawl(
    const v1::SetCrawlRequest& request);
[[nodiscard]] StatusOr<std::function<void(Settings*)>> ConvertDefaults(
    const v1::SetPolitenessDefaultsRequest& request);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FROM_PROTO_H_
