// What the server with the crawl frontier tells others of URLs whose pages are theirs, as messages.
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

// What a fetch has found, as far as the crawl-frontier API says that. `status`: of HTTP, 0: not
// told.
[[nodiscard]] ReportCrawl ReportOfFetch(PageKey key, int status, std::string digest, Instant now);

// `event` is an UpsertPage, RemovePage or ReturnLease, a BlockHost, or a ReportCrawl as
// ReportOfFetch makes it.
void ToProto(const Event& event, v1::UrlEvent* out);
// The same event where it is to be taken in. InvalidArgument: it is none.
[[nodiscard]] StatusOr<RoutedEvent> FromProto(const v1::UrlEvent& event, Instant now);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_URL_EVENTS_H_
