// The flights (URLs in flight) of all queues: when their leases end, and which clients hold them.
#ifndef FRESHET_SERVER_FRONTIER_FLIGHT_ENDS_H_
#define FRESHET_SERVER_FRONTIER_FLIGHT_ENDS_H_

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/container/btree_map.h"
#include "server/frontier/taker_shares.h"

namespace freshet {

struct FrontierFlight;
struct FrontierQueue;

// The flights by the end of their leases. Flights of removed queues stay until End is called for
// them. Thread-compatible.
class FlightEnds {
 public:
  struct Flight {
    FrontierQueue* queue;
    const std::string* url;  // in the queue's flights
  };

  explicit FlightEnds(uint64_t uncovered_flights) : takers_(uncovered_flights) {}

  // Adds a flight. Precondition: the URL is not in flight.
  void Start(FrontierQueue& queue, const std::string& url, const FrontierFlight& flight);
  // Removes a flight. Precondition: the URL is in flight.
  void End(FrontierQueue& queue, std::string_view url);
  // Counts the end of a flight for the client that held it (TakerShares); `taker` 0 = nothing is
  // counted. `answered`: the flight ended with a result.
  void CountResult(uint64_t taker, bool answered);

  [[nodiscard]] const TakerShares& takers() const { return takers_; }
  // The end of the lease that ends first; the largest number = nothing is in flight.
  [[nodiscard]] uint64_t first() const;
  // The flight whose lease ends first, if it has ended by `now`.
  [[nodiscard]] std::optional<Flight> First(uint64_t now) const;

 private:
  absl::btree_map<std::pair<uint64_t, uint64_t>, Flight> ends_;  // by end and serial
  TakerShares takers_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FRONTIER_FLIGHT_ENDS_H_
