// Streams whose items are checked against what the caller may do, and paid for from its rate.
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

// Thread-safe.
class CallerStream : public MessageStream {
 public:
  // `path` is that of the MethodRule.
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
  Instant ends() const final { return auth_.ends(); }
  Duration Owes() const final { return auth_.Owes(); }

 protected:
  // That the client comes from. Thread-safe.
  [[nodiscard]] const IpAddress& network() const { return auth_.network(); }
  // The caller as identities are now. Thread-safe.
  [[nodiscard]] StatusOr<Caller> LookAtCaller() const { return auth_.Look(); }
  // The caller as identities are now, until the next call. Called in OnMessage.
  [[nodiscard]] StatusOr<const Caller*> GetCaller() { return auth_.Get(); }
  // Has the caller pay for items, for one at least for each limits::kMaxPlainRequestBytes that the
  // message has, and reads no further for as long as it is over its rate, or a
  // source of the items is by `source`. Called in OnMessage.
  void Charge(const Caller& caller, uint64_t items, Duration source = {}) {
    items = std::max<uint64_t>(items, message_bytes() / limits::kMaxPlainRequestBytes);
    const Duration pause = caller.Pay(items, context_.clock.Now());
    if (pause > Duration()) ++context_.counters.slowed_by_client;
    if (source > Duration()) ++context_.counters.slowed_by_source;
    if (const Duration longest = std::max(pause, source); longest > Duration()) {
      PauseReading(longest);
    }
  }

  // Has the caller pay for a message that is refused as a whole: an item, or what its bytes cost.
  // Called in OnMessage.
  void ChargeForRefused() {
    if (const StatusOr<const Caller*> caller = GetCaller(); caller.ok()) Charge(**caller, 1);
  }

  const ServerContext& context_;

 private:
  void Cancel() final { call_.TryCancel(); }

  grpc::CallbackServerContext& call_;
  CallAuth auth_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CALLER_STREAM_H_
