// Reports when one of gRPC's threads reaches a call.
#ifndef FRESHET_SERVER_PORTS_CALL_TURN_H_
#define FRESHET_SERVER_PORTS_CALL_TURN_H_

#include <functional>
#include <utility>

namespace freshet {

// A call waits in the queue of gRPC's threads until one of them processes its first message. Calls
// of other clients wait behind it in the queue. Thread-compatible.
class CallTurn {
 public:
  CallTurn() = default;
  CallTurn(const CallTurn&) = delete;
  CallTurn& operator=(const CallTurn&) = delete;
  virtual ~CallTurn() = default;

  // Sets the function that NoteTurn calls once. Must be called before the call is passed to gRPC.
  void AwaitTurn(std::function<void()> come) { come_ = std::move(come); }

 protected:
  // Notes that a thread of gRPC has reached the first message. Must be called before gRPC is done
  // with the call.
  void NoteTurn() {
    if (const auto come = std::exchange(come_, nullptr)) come();
  }

 private:
  std::function<void()> come_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_CALL_TURN_H_
