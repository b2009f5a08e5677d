#include "server/frontier/flight_ends.h"

#include "core/base/check.h"
#include "server/frontier/queue_table.h"

namespace freshet {

void FlightEnds::Start(FrontierQueue& queue, const std::string& url, const FrontierFlight& flight) {
  const auto [it, added] = queue.flights.try_emplace(url, flight);
  CHECK(added, "{} is in flight", url);
  queue.flight_places += static_cast<uint32_t>(PlacesOfFlight(url.size()));
  ends_[{flight.lease.until, flight.serial}] = {.queue = &queue, .url = &it->first};
  if (flight.taker != 0) takers_.Take(flight.taker);
}

void FlightEnds::End(FrontierQueue& queue, std::string_view url) {
  const auto it = queue.flights.find(url);
  const FrontierFlight& flight = it->second;
  ends_.erase({flight.lease.until, flight.serial});
  if (flight.taker != 0) takers_.Give(flight.taker);
  queue.flight_places -= static_cast<uint32_t>(PlacesOfFlight(url.size()));
  queue.flights.erase(it);
}

void FlightEnds::CountResult(uint64_t taker, bool answered) {
  if (taker == 0) return;
  answered ? takers_.Answered(taker) : takers_.Expired(taker);
}

uint64_t FlightEnds::first() const {
  return ends_.empty() ? std::numeric_limits<uint64_t>::max() : ends_.begin()->first.first;
}

std::optional<FlightEnds::Flight> FlightEnds::First(uint64_t now) const {
  if (ends_.empty() || first() > now) return std::nullopt;
  return ends_.begin()->second;
}

}  // namespace freshet
