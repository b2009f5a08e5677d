// Questions that this server asks the servers of other divisions.
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

// The time for another division's server to give its view.
inline constexpr Duration kFleetViewPatience = Duration::Seconds(3);
// The time for it to list some pages once it was reached: a division that changes servers is waited
// for.
inline constexpr Duration kFleetListPatience = Duration::Seconds(30);

// The answer of one division. Value type, thread-compatible.
struct DivisionAnswer {
  uint32_t division = 0;
  StatusOr<grpc::ByteBuffer> answer;
};
using DivisionAnswers = std::vector<DivisionAnswer>;

// Asks the servers of these other divisions on behalf of a client. `done` gets an answer for each,
// in order, and is called once: with the last answer, or after `patience`, when missing ones are
// Unavailable. With `patience` unset it is called once all have answered or are unreachable; a
// server that takes the request and says nothing is waited for. On any thread, maybe before this
// returns. Thread-safe.
void AskDivisions(const ServerContext& context, std::string_view path, ShownByClient client,
                  const std::vector<std::pair<uint32_t, grpc::ByteBuffer>>& requests,
                  std::optional<Duration> patience, std::function<void(DivisionAnswers)> done);
// Asks all other divisions the same. Thread-safe.
void AskOtherDivisions(const ServerContext& context, std::string_view path, ShownByClient client,
                       const grpc::ByteBuffer& request, std::optional<Duration> patience,
                       std::function<void(DivisionAnswers)> done);

// Whether a call is for all divisions of a fleet: others can be asked, and none of their servers
// has sent it.
[[nodiscard]] inline bool SpansFleet(const ServerContext& context, const ShownByClient& client) {
  return context.divisions != nullptr && !client.sent_on;
}

void ToProto(uint32_t division, const Status& why, v1::UnansweredDivision* out);
// The status with the division's name in front.
[[nodiscard]] Status StatusOfDivision(uint32_t division, const Status& status);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_OVER_DIVISIONS_H_
