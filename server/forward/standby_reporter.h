// Reports a standby to the serving server, which shows it to operators.
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
  // Returns the serving server; nullopt = none, or not known.
  using Find = std::function<std::optional<ServingPeer>()>;
  using Describe = std::function<v1::FleetStandby()>;
  using Answered = std::function<void(const v1::ReportStandbyResponse&)>;

  // Starts to report about once a second. All functions are called on the reporter's thread. While
  // no server serves, no report is sent. All referenced objects must outlive this object.
  StandbyReporter(const ServerConfig& config, const Door& door, Find find, Describe describe,
                  Answered answered);
  // Cancels a report under way, and waits until it has ended.
  ~StandbyReporter();
  StandbyReporter(const StandbyReporter&) = delete;
  StandbyReporter& operator=(const StandbyReporter&) = delete;

 private:
  void Tell();
  // Logs, once for each reason, why the serving server refuses the report.
  void NoteEnd(const grpc::Status& status);

  const Find find_;
  const Describe describe_;
  const Answered answered_;
  // Ticker's thread only, except PeerConnection::Stop.
  PeerConnection connection_;
  // Code of the last report if it was refused; OK = it was not.
  grpc::StatusCode refused_ = grpc::StatusCode::OK;
  std::unique_ptr<Ticker> ticker_;  // last: uses all members above
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_STANDBY_REPORTER_H_
