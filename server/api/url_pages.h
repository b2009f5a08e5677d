// The pages of crawl-frontier URLs in all divisions of a fleet: events and leases by the one server
// that has the frontier.
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

// Calls for leases to other divisions at a time.
inline constexpr size_t kMostLeasings = 1000;
// Submits at a time without a waiting caller.
inline constexpr size_t kMostUnawaited = 1024;

// The client number of events that the server of the crawl frontier sends itself: shards give them
// turns as one client. Numbers of real clients (ClientNumber) are odd.
inline constexpr uint64_t kOfFrontier = 2;

// The pages. Thread-safe.
class UrlPages {
 public:
  // `divisions`: nullptr = none can be asked. All outlive this, and all calls end before this does.
  UrlPages(const ServerConfig& config, Clock& clock, Router& router, Divisions* divisions)
      : config_(config), clock_(clock), router_(router), divisions_(divisions) {}

  // As Router::Submit, for slots of all divisions, and events that ToProto knows. A reply of
  // another division has only its status. Unavailable: no answer within 15 s at most, and the event
  // may have been taken.
  // `client`: the number of the client whose events these are.
  bool Submit(std::vector<RoutedEvent> events, std::function<void(std::vector<Reply>)> done,
              uint64_t client = kOfFrontier) FRESHET_EXCLUDES(mutex_);
  // Sends one event of the server itself: to an own slot as Router::SubmitAlways, whose `done` is
  // not called while the server stops; to another division as Submit.
  void Tell(RoutedEvent event, std::function<void(const Status&)> done) FRESHET_EXCLUDES(mutex_);
  // Whether the page belongs to another division that can be asked.
  [[nodiscard]] bool IsElsewhere(Slot slot) const {
    return divisions_ != nullptr && !router_.division().Has(slot);
  }
  // Sends events whose outcome nobody needs. False = kMostUnawaited others are under way, the
  // events stay as they were, and the caller should wait.
  [[nodiscard]] bool SubmitUnawaited(std::vector<RoutedEvent>* events, uint64_t client)
      FRESHET_EXCLUDES(mutex_);
  // Calls `call` about a second later, on a thread of this; not at all after Stop.
  void Later(std::function<void()> call) FRESHET_EXCLUDES(mutex_);
  // Ends all calls of Later. Not to be called on their thread. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);
  // Gives back leases that reached no client. Leases that cannot be given back run out.
  void GiveBack(const std::vector<LeaseId>& leases) FRESHET_EXCLUDES(mutex_);

  // How many pages to ask each other division for, if `most` are wanted in all: none of a division
  // that has not answered lately. Few pages go to divisions in turn; the rest is this division's.
  [[nodiscard]] std::map<uint32_t, uint32_t> Shares(uint32_t most) FRESHET_EXCLUDES(mutex_);
  // Asks another division for pages, unless kMostLeasings calls are open. The answer may be late,
  // as while no server serves the division: see Rest.
  void Lease(uint32_t division, const v1::LeaseUrlsRequest& request,
             std::function<void(v1::LeaseUrlsResponse)> done);
  // Leaves a division without a timely answer alone for a while.
  void Rest(uint32_t division) FRESHET_EXCLUDES(mutex_);

 private:
  // The events of one Submit with replies to come.
  class UnderWay;
  struct Message {
    uint32_t division = 0;
    v1::TakeUrlsRequest request;
    std::vector<size_t> places;  // positions of its events among those of Submit
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
  // One for each division that was told something.
  std::map<uint32_t, std::unique_ptr<DivisionCall>> streams_ FRESHET_GUARDED_BY(mutex_);
  std::map<uint32_t, Instant> rests_until_ FRESHET_GUARDED_BY(mutex_);
  uint32_t turn_ FRESHET_GUARDED_BY(mutex_) = 0;
  std::vector<std::function<void()>> later_ FRESHET_GUARDED_BY(mutex_);
  bool stopped_ FRESHET_GUARDED_BY(mutex_) = false;
  std::unique_ptr<Ticker> ticker_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_URL_PAGES_H_
