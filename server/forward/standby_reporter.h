// Reports a standby to the serving server, so that operators see it there.
#ifndef FRESHET_SERVER_FORWARD_STANDBY_REPORTER_H_
#define FRESHET_SERVER_FORWARD_STANDBY_REPORTER_H_

#include <functional>
#include <memory>
#include <optional>

#include "freshet/v1/admin.pb.h"
#include "freshet/v1/fleet.pb.h"
#include "server/auth/door.h"
#include "server/base/ticker.h"
#include "server/forward/serving_peer.h"

namespace freshet {

struct ServerConfig;

// The reporter. Thread-safe.
class StandbyReporter {
 public:
  // The serving server; nullopt = none, or unknown.
  using Find = std::function<std::optional<ServingPeer>()>;
  using Describe = std::function<v1::FleetStandby()>;
  using Answered = std::function<void(const v1::ReportStandbyResponse&)>;

  // Starts the reports: all functions are called about once a second, on a thread of this. A report
  // without a server is dropped. All references outlive this.
  StandbyReporter(const ServerConfig& config, const Door& door, Find find, Describe describe,
                  Answered answered);
  // Cancels a report under way, and waits for it.
  ~StandbyReporter();
  StandbyReporter(const StandbyReporter&) = delete;
  StandbyReporter& operator=(const StandbyReporter&) = delete;

 private:
  void Tell();
  // Says once why it is not listed.
  void NoteEnd(const grpc::Status& status);

  const Find find_;
  const Describe describe_;
  const Answered answered_;
  // Owner: the ticker's thread.
  PeerConnection connection_;
  grpc::StatusCode refused_ = grpc::StatusCode::OK;  // how the last report ended, if refused
  std::unique_ptr<Ticker> ticker_;                   // uses all of them
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_STANDBY_REPORTER_H_
