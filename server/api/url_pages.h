// Access to the pages of crawl-frontier URLs in all divisions of a fleet. Only the server with the
// frontier uses this: it sends events to these pages, and leases them.
#ifndef FRESHET_SERVER_API_URL_PAGES_H_
#define FRESHET_SERVER_API_URL_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "freshet/v1/fleet.pb.h"
#include "server/api/divisions.h"
#include "server/base/slots.h"
#include "server/base/system_clock.h"
#include "server/base/ticker.h"
#include "server/engine/router.h"
#include "sync/mutex.h"

namespace freshet {

struct ServerConfig;

inline constexpr std::string_view kTakeUrlsPath = "/freshet.v1.FleetService/TakeUrls";
inline constexpr std::string_view kLeaseUrlsPath = "/freshet.v1.FleetService/LeaseUrls";

// The maximum number of open calls that ask other divisions for leases.
inline constexpr size_t kMostLeasings = 1000;
// The maximum number of calls of SubmitUnawaited that are in progress.
inline constexpr size_t kMostUnawaited = 1024;

// The client number of events that the server of the crawl frontier sends on its own behalf. Shards
// treat them as events of a single client. Numbers of real clients (ClientNumber) are odd.
inline constexpr uint64_t kOfFrontier = 2;

// The pages. Thread-safe.
class UrlPages {
 public:
  // `divisions`: nullptr = other divisions cannot be asked. All arguments outlive this. All calls
  // must end before this is destroyed.
  UrlPages(const ServerConfig& config, Clock& clock, Router& router, Divisions* divisions)
      : config_(config), clock_(clock), router_(router), divisions_(divisions) {}

  // Works like Router::Submit, but for slots of all divisions, and only for events that ToProto can
  // write. A reply from another division has only a status. Unavailable: the division did not
  // answer within 15 s, but may have applied the event. `client` is the number of the client from
  // which the events come.
  bool Submit(std::vector<RoutedEvent> events, std::function<void(std::vector<Reply>)> done,
              uint64_t client = kOfFrontier) FRESHET_EXCLUDES(mutex_);
  // Sends one event that the server itself makes. If the slot belongs to this division, this works
  // like Router::SubmitAlways, so `done` is never called if the server is stopping. Otherwise it
  // works like Submit.
  void Tell(RoutedEvent event, std::function<void(const Status&)> done) FRESHET_EXCLUDES(mutex_);
  // Whether the page belongs to another division that can be asked.
  [[nodiscard]] bool IsElsewhere(Slot slot) const {
    return divisions_ != nullptr && !router_.division().Has(slot);
  }
  // Sends events whose outcome nobody needs. Returns false if kMostUnawaited others are in
  // progress. The events then stay unchanged, and the caller should wait.
  [[nodiscard]] bool SubmitUnawaited(std::vector<RoutedEvent>* events, uint64_t client)
      FRESHET_EXCLUDES(mutex_);
  // Calls `call` about a second later, on this object's thread; never after Stop.
  void Later(std::function<void()> call) FRESHET_EXCLUDES(mutex_);
  // Drops the calls that Later has not made yet. Must not be called on the thread that makes these
  // calls. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);
  // Returns leases whose pages reached no client. Leases that cannot be returned expire.
  void GiveBack(const std::vector<LeaseId>& leases) FRESHET_EXCLUDES(mutex_);

  // Returns how many pages to ask of each other division if `most` are wanted in all. The caller
  // should ask this division for the rest. A division that has not answered recently is left out.
  // If there are more divisions than pages wanted, the divisions take turns.
  [[nodiscard]] std::map<uint32_t, uint32_t> Shares(uint32_t most) FRESHET_EXCLUDES(mutex_);
  // Asks another division for pages. If kMostLeasings calls are open, calls `done` at once, without
  // pages. Otherwise `done` can come late, for example while no server serves the division. A
  // caller that stops waiting should call Rest.
  void Lease(uint32_t division, const v1::LeaseUrlsRequest& request,
             std::function<void(v1::LeaseUrlsResponse)> done);
  // Stops asking a division for pages for a while, because it has not answered in time.
  void Rest(uint32_t division) FRESHET_EXCLUDES(mutex_);

 private:
  // The events of one Submit that still need replies.
  class UnderWay;
  struct Message {
    uint32_t division = 0;
    v1::TakeUrlsRequest request;
    std::vector<size_t> places;  // positions of the events among those of Submit
    size_t bytes = 0;
  };

  [[nodiscard]] bool IsFull(const Message& message, size_t next_bytes) const;
  void Send(Message message, const std::shared_ptr<UnderWay>& under_way);
  [[nodiscard]] DivisionCall& StreamTo(uint32_t division) FRESHET_EXCLUDES(mutex_);

  const ServerConfig& config_;
  Clock& clock_;
  Router& router_;
  Divisions* const divisions_;
  Slots leasings_{kMostLeasings};
  Slots unawaited_{kMostUnawaited};
  Mutex mutex_;
  // One stream for each division to which events were sent.
  std::map<uint32_t, std::unique_ptr<DivisionCall>> streams_ FRESHET_GUARDED_BY(mutex_);
  std::map<uint32_t, Instant> rests_until_ FRESHET_GUARDED_BY(mutex_);
  uint32_t turn_ FRESHET_GUARDED_BY(mutex_) = 0;
  std::vector<std::function<void()>> later_ FRESHET_GUARDED_BY(mutex_);
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Ticker> ticker_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_URL_PAGES_H_
