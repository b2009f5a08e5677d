// Pages of URLs of the crawl-frontier API, whichever division of a fleet has them: what the
// frontier, which one server has, says of them, and leases of them.
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
// Submits at a time that nobody waits for.
inline constexpr size_t kMostUnawaited = 1024;

// Events that the crawl-frontier API makes of its URLs have their turns at the shards as if one
// client sent them. Numbers of clients (ClientNumber) are odd.
inline constexpr uint64_t kOfFrontier = 2;

// Thread-safe.
class UrlPages {
 public:
  // `divisions`: nullptr where there are none that can be asked. All outlive this, and no call is
  // open any more when this ends.
  UrlPages(const ServerConfig& config, Clock& clock, Router& router, Divisions* divisions)
      : config_(config), clock_(clock), router_(router), divisions_(divisions) {}

  // As Router::Submit, of slots of all divisions, and of events that ToProto knows. Of another
  // division a reply has its status alone; what that has not answered, for 15 s at most, is
  // Unavailable, and may have been taken in.
  bool Submit(std::vector<RoutedEvent> events, std::function<void(std::vector<Reply>)> done)
      FRESHET_EXCLUDES(mutex_);
  // One event that the server needs done itself: of an own slot as Router::SubmitAlways, whose
  // `done` is not called while the server stops; of another division as Submit.
  void Tell(RoutedEvent event, std::function<void(const Status&)> done) FRESHET_EXCLUDES(mutex_);
  // Whether the page is of another division, which can be asked.
  [[nodiscard]] bool IsElsewhere(Slot slot) const {
    return divisions_ != nullptr && !router_.division().Has(slot);
  }
  // Events whose outcome nobody is told. False, and they are as they were: kMostUnawaited others
  // are under way, and somebody should wait.
  [[nodiscard]] bool SubmitUnawaited(std::vector<RoutedEvent>* events) FRESHET_EXCLUDES(mutex_);
  // Calls it about a second later, on a thread of this; not at all after Stop.
  void Later(std::function<void()> call) FRESHET_EXCLUDES(mutex_);
  // No call of Later is under way or comes yet. Not on the thread of one. Idempotent.
  void Stop() FRESHET_EXCLUDES(mutex_);
  // Of leases that reached nobody. What cannot be told runs out.
  void GiveBack(const std::vector<LeaseId>& leases) FRESHET_EXCLUDES(mutex_);

  // How many pages of each other division to ask for, where `most` are wanted in all: none of one
  // that has not answered lately. Takes turns where they do not suffice for all; the rest is this
  // division's.
  [[nodiscard]] std::map<uint32_t, uint32_t> Shares(uint32_t most) FRESHET_EXCLUDES(mutex_);
  // Asks another division for pages; for none where kMostLeasings others are asked. It may be late,
  // as while nobody serves that: see Rest.
  void Lease(uint32_t division, const v1::LeaseUrlsRequest& request,
             std::function<void(v1::LeaseUrlsResponse)> done);
  // It has not answered in time: it is left alone for a while.
  void Rest(uint32_t division) FRESHET_EXCLUDES(mutex_);

 private:
  // Events of one Submit whose replies are to come.
  class UnderWay;
  struct Message {
    uint32_t division = 0;
    v1::TakeUrlsRequest request;
    std::vector<size_t> places;  // of its events, among those of the Submit
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
