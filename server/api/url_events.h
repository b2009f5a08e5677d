// Messages from the server of the crawl frontier to other divisions, about URLs with pages there.
#ifndef FRESHET_SERVER_API_URL_EVENTS_H_
#define FRESHET_SERVER_API_URL_EVENTS_H_

#include <string>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/schedule/event.h"
#include "freshet/v1/fleet.pb.h"
#include "server/engine/routed_event.h"

namespace freshet {

// All functions are thread-safe.

// Makes the result of a fetch from what the crawl-frontier API tells. `status`: of HTTP, 0 = not
// told.
[[nodiscard]] ReportCrawl ReportOfFetch(PageKey key, int status, std::string digest, Instant now,
                                        Reporter reporter);

// `event` is an UpsertPage, RemovePage or ReturnLease, a BlockHost, or a ReportCrawl as
// ReportOfFetch makes it.
void ToProto(const Event& event, v1::UrlEvent* out);
// Makes the same event for its receiver. InvalidArgument: the event is invalid.
[[nodiscard]] StatusOr<RoutedEvent> FromProto(const v1::UrlEvent& event, Instant now);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_URL_EVENTS_H_
