// Between messages and core structs. Everything that a client sends is validated here, and refused
// with the field at fault, a reason, and whether to try again; what comes out is canonical.
//
// All functions are thread-safe.
#ifndef FRESHET_SERVER_API_CONVERT_H_
#define FRESHET_SERVER_API_CONVERT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/page.h"
#include "core/schedule/event.h"
#include "core/schedule/shard_state.h"
#include "freshet/v1/admin.pb.h"
#include "freshet/v1/ingest.pb.h"
#include "freshet/v1/pages.pb.h"
#include "freshet/v1/types.pb.h"
#include "grpcpp/support/status.h"
#include "server/engine/routed_event.h"
#include "server/engine/sources.h"

namespace freshet {

// Nothing means that all is well.
using Fault = std::optional<v1::ItemError>;

// --- Errors

[[nodiscard]] v1::ItemError MakeFault(v1::ErrorCode code, std::string_view field,
                                      std::string reason);
// A refusal that may go away: try again after `wait`.
[[nodiscard]] v1::ItemError MakeRetryableFault(v1::ErrorCode code, std::string reason,
                                               Duration wait);
// The fault of a core status, whose message starts with "field: " where one field is at fault.
[[nodiscard]] v1::ItemError FaultOf(const Status& status);
// The status of a call as a whole. Foreign to streams, which go on.
[[nodiscard]] grpc::Status GrpcStatusOf(const Status& status);
[[nodiscard]] grpc::Status GrpcStatusOf(const v1::ItemError& fault);

// --- From clients

[[nodiscard]] Fault ConvertKey(std::string_view url, std::string_view crawl_id, PageKey* key,
                               std::string* host);
[[nodiscard]] Fault ConvertPage(const v1::PageSpec& page, bool reset, Instant now,
                                RoutedEvent* event);
[[nodiscard]] Fault ConvertRemove(std::string_view url, std::string_view crawl_id,
                                  RoutedEvent* event);
[[nodiscard]] Fault ConvertRecheck(std::string_view url, std::string_view crawl_id,
                                   RoutedEvent* event);
// `generation` is that of this run: what no run so far can have issued is an unknown lease. What
// the site that was crawled can influence is refused in no case: it is left out or cut, and noted.
[[nodiscard]] Fault ConvertResult(const v1::CrawlResult& result, uint32_t generation, Instant now,
                                  RoutedEvent* event);
// `pages_in_poll` of the event is left at 1; see SetPolls.
[[nodiscard]] Fault ConvertSignal(const v1::ChangeSignal& signal, const Sources& sources,
                                  Instant now, RoutedEvent* event);
[[nodiscard]] Fault ConvertReturn(uint64_t lease_id, RoutedEvent* event);

// The host that a text names: a host as in a canonical URL, or any URL of it.
[[nodiscard]] StatusOr<std::string> ConvertHost(std::string_view text);
[[nodiscard]] Fault ConvertDefaults(const v1::SetPolitenessDefaultsRequest& request,
                                    std::function<void(Settings*)>* change);
[[nodiscard]] Fault ConvertPoliteness(const v1::SetHostPolitenessRequest& request, Instant now,
                                      SetHost* event);
// A lease duration: `unset` if there is none. InvalidArgument outside of 1 second to `max`.
[[nodiscard]] StatusOr<Duration> ConvertLease(bool has, const google::protobuf::Duration& lease,
                                              Duration unset, Duration max);
[[nodiscard]] StatusOr<Duration> FromProto(const google::protobuf::Duration& duration);
[[nodiscard]] StatusOr<Instant> FromProto(const google::protobuf::Timestamp& time);

// What a message says of the poll that its signals come from.
struct PollOrigin {
  std::optional<uint64_t> size;  // of the whole, when the message does not show it
  std::string name;              // different for every poll of this run of the server
};

// Gives the signals of one message the size of their poll: `origin.size` if that is set, else the
// number of distinct pages of the same host that the same source names in it; and, to those that
// did not come alone, a number for their part of the poll: the pages of one host and source.
void SetPolls(const PollOrigin& origin, std::vector<RoutedEvent>* signals);

// --- To clients

void ToProto(Instant time, google::protobuf::Timestamp* out);
void ToProto(Duration duration, google::protobuf::Duration* out);
[[nodiscard]] v1::BurstClass ToProto(BurstClass burst);
void ToProto(const Assignment& assignment, v1::Assignment* out);
// An outcome that needs no word (applied, without notes) is nothing.
[[nodiscard]] std::optional<v1::ItemStatus> ToProto(const Reply& reply, uint32_t index);
void ToProto(const PageRecord& page, const std::optional<LeaseRecord>& lease,
             const Sources& sources, v1::Page* out);
void ToProto(const PageEstimate& estimate, const PageRecord& page, v1::PageEstimates* out);
void ToProto(const CrawlObservation& observation, const Sources& sources, v1::Observation* out);

void ToProto(const PolitenessDefaults& defaults, v1::PolitenessDefaults* out);
// What is there to be said of a host beside what is stored.
struct HostContext {
  uint32_t in_flight = 0;
  int throttles = 0;  // ThrottlesAt
  PolitenessDefaults defaults;
  Instant now;
};
void ToProto(const HostRecord& host, const HostContext& context, v1::HostState* out);

// What the explanation of a page needs beside the page.
struct ExplanationContext {
  std::string policy;
  std::string standstill;  // why nothing at all is assigned; empty: something is
  PolitenessDefaults defaults;
  Instant now;
};
void ToProto(const Explanation& explanation, const PageRecord& page,
             const ExplanationContext& context, const Sources& sources, v1::Explanation* out);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CONVERT_H_
