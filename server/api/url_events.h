// Messages from the server of the crawl frontier to other divisions, about URLs whose pages belong
// to these divisions.
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

// Makes a result from what a client of the crawl-frontier API reports. `status` is the HTTP status;
// 0 = not reported. `reporter` is the client's identity.
[[nodiscard]] ReportCrawl ReportOfFetch(PageKey key, int status, std::string digest, Instant now,
                                        Reporter reporter);

// `event` is an UpsertPage, RemovePage, ReturnLease or BlockHost, or a ReportCrawl that
// ReportOfFetch has made.
void ToProto(const Event& event, v1::UrlEvent* out);
// Makes an event from the message that ToProto has written. InvalidArgument: the event is invalid.
[[nodiscard]] StatusOr<RoutedEvent> FromProto(const v1::UrlEvent& event, Instant now);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_URL_EVENTS_H_
