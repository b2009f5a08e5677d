// Streams whose items are checked against the caller's limits and charged to the caller's budget.
#ifndef FRESHET_SERVER_API_CALLER_STREAM_H_
#define FRESHET_SERVER_API_CALLER_STREAM_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/api/caller.h"
#include "server/api/context.h"
#include "server/api/stream.h"
#include "server/base/limits.h"
#include "server/base/system_clock.h"
#include "server/config.h"

namespace freshet {

// A stream of one caller. Thread-safe.
class CallerStream : public MessageStream {
 public:
  // `path` names a MethodRule.
  CallerStream(const ServerContext& context, std::string_view path,
               grpc::CallbackServerContext& call,
               int unacked = limits::kMaxUnackedMessagesPerStream)
      : MessageStream(unacked),
        context_(context),
        call_(call),
        auth_(context.authoriser, context.clock, path, call) {
    Watch(context.calls, context.clock, context.calls.Find(path));
    SetPatience(context.config.list_write_timeout);
  }

  Status CheckCaller() const override { return auth_.Check(); }
  const std::string& client() const final { return auth_.client(); }
  bool admin() const final { return auth_.admin(); }
  bool stranger() const final { return auth_.stranger(); }
  Instant ends() const final { return auth_.ends(); }
  Duration Owes() const final { return auth_.Owes(); }

 protected:
  // The network of the client. Thread-safe.
  [[nodiscard]] const IpAddress& network() const { return auth_.network(); }
  // The caller according to the present identities. Thread-safe.
  [[nodiscard]] StatusOr<Caller> LookAtCaller() const { return auth_.Look(); }
  // The caller according to the present identities; valid until the next call. Called in OnMessage.
  [[nodiscard]] StatusOr<const Caller*> GetCaller() { return auth_.Get(); }
  // Charges the caller for the items of a message, and for at least one item per
  // limits::kMaxPlainRequestBytes of the message. Stops reading until the caller's budget allows
  // more, and for at least `source`, the time that the sources of the items must wait. Called in
  // OnMessage.
  void Charge(const Caller& caller, uint64_t items, Duration source = {}) {
    items = std::max<uint64_t>(items, message_bytes() / limits::kMaxPlainRequestBytes);
    const Duration pause = caller.Pay(items, context_.clock.Now());
    if (pause > Duration()) ++context_.counters.slowed_by_client;
    if (source > Duration()) ++context_.counters.slowed_by_source;
    if (const Duration longest = std::max(pause, source); longest > Duration()) {
      PauseReading(longest);
    }
  }

  // Charges the caller for a message that is refused as a whole: for one item, or more if the
  // message is large. Called in OnMessage.
  void ChargeForRefused() {
    if (const StatusOr<const Caller*> caller = GetCaller(); caller.ok()) Charge(**caller, 1);
  }

  const ServerContext& context_;

 private:
  void Cancel() final { call_.TryCancel(); }
  Peer peer() const final { return auth_.peer(); }

  grpc::CallbackServerContext& call_;
  CallAuth auth_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CALLER_STREAM_H_
