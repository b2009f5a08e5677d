// What a standby says of itself to the server that serves, so that operators see it there.
#ifndef FRESHET_SERVER_FORWARD_STANDBY_REPORTER_H_
#define FRESHET_SERVER_FORWARD_STANDBY_REPORTER_H_

#include <grpcpp/grpcpp.h>

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

// Thread-safe.
class StandbyReporter {
 public:
  // Who serves; nullopt: nobody does, or it is not known.
  using Find = std::function<std::optional<ServingPeer>()>;
  using Describe = std::function<v1::FleetStandby()>;
  using Answered = std::function<void(const v1::ReportStandbyResponse&)>;

  // Begins: all are called about once a second, on a thread of this, and nobody hears what cannot
  // be told. All that is referred to outlives this.
  StandbyReporter(const ServerConfig& config, const Door& door, Find find, Describe describe,
                  Answered answered);
  // Waits for a report under way, which it cancels.
  ~StandbyReporter();
  StandbyReporter(const StandbyReporter&) = delete;
  StandbyReporter& operator=(const StandbyReporter&) = delete;

 private:
  class Report;
  void Tell();
  // Says once why it is not listed.
  void NoteEnd(const Report& report);

  const ServerConfig& config_;
  const Door& door_;
  const Find find_;
  const Describe describe_;
  const Answered answered_;
  // Owner: the ticker's thread.
  std::optional<ServingPeer> peer_;  // to which the channel leads
  std::shared_ptr<grpc::Channel> channel_;
  std::shared_ptr<Report> report_;                   // the last one
  grpc::StatusCode refused_ = grpc::StatusCode::OK;  // how that ended, if it was refused
  std::unique_ptr<Ticker> ticker_;                   // uses all of them
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_STANDBY_REPORTER_H_
