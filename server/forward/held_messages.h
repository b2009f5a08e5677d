// The bytes of messages that a server holds until the one that serves has taken them. They are a
// table that all clients share (core/base/shares.h): a client past its share is read no further.
// What comes of reads that had begun before counts apart, so that it takes no place from others: so
// many bytes again are held of it, of all clients together.
#ifndef FRESHET_SERVER_FORWARD_HELD_MESSAGES_H_
#define FRESHET_SERVER_FORWARD_HELD_MESSAGES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/base/units.h"
#include "server/forward/forwarded_call.h"

namespace freshet {

// Thread-compatible.
class HeldMessages {
 public:
  using CallPtr = std::shared_ptr<ForwardedCall>;

  // A call that holds no more than so many bytes takes the room of nobody: gRPC takes in as many
  // of a stream that is not read.
  static constexpr size_t kLittle = 64 << 10;

  // Whether the next message of the call may be read; if not, a later TakeReady returns the call.
  [[nodiscard]] bool MayRead(const CallPtr& call, uint64_t most);
  // A message of so many bytes has come, the only one that is held of the call. False, and it is
  // not held: its client holds more than its share, and there is no room beside it.
  [[nodiscard]] bool Hold(const CallPtr& call, size_t bytes, uint64_t most, Instant now);
  // It was passed on. Idempotent.
  void Release(const CallPtr& call);
  // The call is over. Idempotent.
  void Forget(const CallPtr& call);
  // Those that may be read now.
  [[nodiscard]] std::vector<CallPtr> TakeReady(uint64_t most);
  // Those that have held more than kLittle since then or longer, while other clients need the room.
  [[nodiscard]] std::vector<CallPtr> Stuck(Instant since) const;

 private:
  struct Message {
    size_t bytes = 0;
    bool beside = false;  // of the share of its client
    Instant since;
  };
  struct Client {
    uint64_t bytes = 0;   // of its share
    uint64_t beside = 0;  // and beyond
    bool admin = false;
    std::set<CallPtr> parked;  // MayRead said no
    [[nodiscard]] bool waits() const { return beside > 0 || !parked.empty(); }
  };

  // Whether a message of so many bytes fits into the share of the client.
  [[nodiscard]] bool Fits(const Client& client, size_t bytes, uint64_t most) const;
  Client& ClientOf(const ForwardedCall& call);
  void Settle(const std::string& name);

  std::map<CallPtr, Message> messages_;
  std::map<std::string, Client> clients_;  // that hold something, or wait
  std::set<std::string> waiting_;          // of these: Client::waits
  uint64_t bytes_ = 0;
  uint64_t beside_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_FORWARD_HELD_MESSAGES_H_
