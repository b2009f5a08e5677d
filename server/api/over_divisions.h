// Requests from this server to the servers of other divisions.
#ifndef FRESHET_SERVER_API_OVER_DIVISIONS_H_
#define FRESHET_SERVER_API_OVER_DIVISIONS_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/units.h"
#include "freshet/v1/admin.pb.h"
#include "server/api/context.h"
#include "server/api/divisions.h"

namespace freshet {

// How long to wait for another division's server to answer a quick query.
inline constexpr Duration kFleetViewPatience = Duration::Seconds(3);
// The time that the server of another division has for listing some pages. It is long enough for
// another server to take over the division.
inline constexpr Duration kFleetListPatience = Duration::Seconds(30);

// The answer of one division. Value type, thread-compatible.
struct DivisionAnswer {
  uint32_t division = 0;
  StatusOr<grpc::ByteBuffer> answer;
};
using DivisionAnswers = std::vector<DivisionAnswer>;

// `requests` pairs each request with a division. Sends each request to the server of its division,
// on behalf of a client. `done` is called once, on any thread, possibly before this function
// returns. It gets one answer for each request, in the order of the requests. If `patience` is set,
// `done` is called after this time at the latest, and missing answers are Unavailable. If
// `patience` is unset, `done` is called when all divisions have answered or cannot be reached. A
// server that accepts the request but never answers then delays `done` indefinitely. Thread-safe.
void AskDivisions(const ServerContext& context, std::string_view path, ShownByClient client,
                  const std::vector<std::pair<uint32_t, grpc::ByteBuffer>>& requests,
                  std::optional<Duration> patience, std::function<void(DivisionAnswers)> done);
// Sends the same request to all other divisions. Thread-safe.
void AskOtherDivisions(const ServerContext& context, std::string_view path, ShownByClient client,
                       const grpc::ByteBuffer& request, std::optional<Duration> patience,
                       std::function<void(DivisionAnswers)> done);

// Whether a call covers all divisions of a fleet: other divisions can be asked, and no other server
// has forwarded the call.
[[nodiscard]] inline bool SpansFleet(const ServerContext& context, const ShownByClient& client) {
  return context.divisions != nullptr && !client.sent_on;
}

void ToProto(uint32_t division, const Status& why, v1::UnansweredDivision* out);
// The status with the division at the beginning of its message.
[[nodiscard]] Status StatusOfDivision(uint32_t division, const Status& status);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_OVER_DIVISIONS_H_
