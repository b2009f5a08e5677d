// The turn of a call at gRPC's threads.
#ifndef FRESHET_SERVER_PORTS_CALL_TURN_H_
#define FRESHET_SERVER_PORTS_CALL_TURN_H_

#include <functional>
#include <utility>

namespace freshet {

// A call waits in the queue of gRPC's threads until one of them comes to its first message, and
// calls of other clients wait behind it. Thread-compatible.
class CallTurn {
 public:
  CallTurn() = default;
  CallTurn(const CallTurn&) = delete;
  CallTurn& operator=(const CallTurn&) = delete;
  virtual ~CallTurn() = default;

  // Has `come` called once, by NoteTurn. To be called before gRPC has the call.
  void AwaitTurn(std::function<void()> come) { come_ = std::move(come); }

 protected:
  // A thread of gRPC has come to the message. To be called while gRPC has the call.
  void NoteTurn() {
    if (const auto come = std::exchange(come_, nullptr)) come();
  }

 private:
  std::function<void()> come_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PORTS_CALL_TURN_H_
