// What clients send, as core structs. Everything is validated here, and refused with the field at
// fault and a reason: a Status as faults.h has it. What comes out is canonical.
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

// Whether a page that was fetched at some time can have been modified last at another: not before
// 1990, when there was no Web, and not after the fetch. A site that says 1970 or 2099 would answer
// for ever that nothing has changed since.
[[nodiscard]] bool CanBeLastModified(Instant modified, Instant fetched);

// A page as it is called here, and the host whose slot it is in.
struct HostedKey {
  PageKey key;
  std::string host;
};
[[nodiscard]] StatusOr<HostedKey> ConvertKey(std::string_view url, std::string_view crawl_id);
// The host that a text names: a host as in a canonical URL, or any URL of it.
[[nodiscard]] StatusOr<std::string> ConvertHost(std::string_view text);
// A lease duration: `unset` if there is none. InvalidArgument outside of 1 second to `max`.
[[nodiscard]] StatusOr<Duration> ConvertLease(bool has, const google::protobuf::Duration& lease,
                                              Duration unset, Duration max);

// --- Items

[[nodiscard]] StatusOr<RoutedEvent> ConvertPage(const v1::PageSpec& page, bool reset, Instant now);
[[nodiscard]] StatusOr<RoutedEvent> ConvertRemove(std::string_view url, std::string_view crawl_id);
[[nodiscard]] StatusOr<RoutedEvent> ConvertRecheck(std::string_view url, std::string_view crawl_id);
// `generation` is that of this run: what no run so far can have issued is an unknown lease. What
// the site that was crawled can influence is refused in no case: it is left out or cut, and noted.
[[nodiscard]] StatusOr<RoutedEvent> ConvertResult(const v1::CrawlResult& result,
                                                  uint32_t generation, Instant now);
// `pages_in_poll` of the event is left at 1; see SetPolls.
// NotFound, with what else may have been meant by the name of a source.
[[nodiscard]] Status UnknownSource(const Sources& sources, std::string_view name);
[[nodiscard]] StatusOr<RoutedEvent> ConvertSignal(const v1::ChangeSignal& signal,
                                                  const Sources& sources, Instant now);
[[nodiscard]] StatusOr<RoutedEvent> ConvertReturn(uint64_t lease_id);

// What a message says of the poll that its signals come from.
struct PollOrigin {
  std::optional<uint64_t> size;  // of the whole, when the message does not show it
  std::string name;              // different for every poll of this run of the server
};

// Gives the signals of one message the size of their poll: `origin.size` if that is set, else the
// number of distinct pages of the same host that the same source names in it; and, to those that
// did not come alone, a number for their part of the poll: the pages of one host and source. The
// events are all of ConvertSignal.
void SetPolls(const PollOrigin& origin, std::vector<RoutedEvent>* signals);

// --- Politeness

[[nodiscard]] StatusOr<SetHost> ConvertPoliteness(const v1::SetHostPolitenessRequest& request,
                                                  Instant now);
// What a request does to the settings.
// What the request does to what is set for its crawl id.
[[nodiscard]] StatusOr<std::function<void(CrawlRecord*)>> ConvertCrawl(
    const v1::SetCrawlRequest& request);
[[nodiscard]] StatusOr<std::function<void(Settings*)>> ConvertDefaults(
    const v1::SetPolitenessDefaultsRequest& request);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FROM_PROTO_H_
