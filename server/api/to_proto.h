// Converts core structs to messages.
//
// All functions are thread-safe.
#ifndef FRESHET_SERVER_API_TO_PROTO_H_
#define FRESHET_SERVER_API_TO_PROTO_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/units.h"
#include "core/model/crawl.h"
#include "core/model/lease.h"
#include "core/model/signal.h"
#include "core/schedule/event.h"
#include "freshet/v1/admin.pb.h"
#include "freshet/v1/pages.pb.h"
#include "freshet/v1/types.pb.h"

namespace freshet {

struct CrawlCounters;
struct CrawlObservation;
struct Explanation;
struct HostStatus;
struct PageEstimate;
struct PageRecord;
struct PolitenessDefaults;
class Sources;

// All conversions of instants and durations. A predicted time can be further away than a message
// can express, for example for a page that changes once in 300,000 years. An instant before the
// year 1 or after 9999 becomes the first or last microsecond of those years. A duration of more
// than 315,576,000,000 s, positive or negative, becomes that bound. Beyond these bounds, protobuf
// cannot write values as JSON.
void ToProto(Instant time, google::protobuf::Timestamp* out);
void ToProto(Duration duration, google::protobuf::Duration* out);
[[nodiscard]] v1::BurstClass ToProto(BurstClass burst);
void ToProto(const Assignment& assignment, v1::Assignment* out);
// Unset = the item was applied without notes, so the acknowledgement need not mention it.
[[nodiscard]] std::optional<v1::ItemStatus> ToProto(const Reply& reply, uint32_t index);
void ToProto(const PageRecord& page, const std::optional<LeaseRecord>& lease,
             const Sources& sources, v1::Page* out);
void ToProto(const PageEstimate& estimate, const PageRecord& page, v1::PageEstimates* out);
void ToProto(const CrawlObservation& observation, const Sources& sources, v1::Observation* out);

void ToProto(const PolitenessDefaults& defaults, v1::PolitenessDefaults* out);
// Facts about a host that are not in its record.
struct HostContext {
  bool tells_pages = true;
  int throttles = 0;  // see ThrottlesAt
  Instant now;
};
void ToProto(const HostStatus& host, const HostContext& context, v1::HostState* out);

[[nodiscard]] v1::FrontierMode ToProto(FrontierMode mode);
// `mode` is the mode in force.
void ToProto(const CrawlRecord& crawl, FrontierMode mode, const CrawlCounters& counters,
             v1::Crawl* out);

// Facts that the explanation of a page needs besides the page.
struct ExplanationContext {
  std::string policy;
  std::string standstill;  // why no page is assigned at all; empty = pages are assigned
  Instant now;
};
void ToProto(const Explanation& explanation, const PageRecord& page,
             const ExplanationContext& context, const Sources& sources, v1::Explanation* out);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_TO_PROTO_H_
