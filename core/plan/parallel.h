// Lets a long pass over pages use several cores. The core library creates no threads, so the caller
// provides the executor.
#ifndef FRESHET_CORE_PLAN_PARALLEL_H_
#define FRESHET_CORE_PLAN_PARALLEL_H_

#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

namespace freshet {

// The default executor: runs one chunk after the other on the calling thread.
inline void SerialFor(size_t chunks, const std::function<void(size_t chunk)>& body) {
  for (size_t chunk = 0; chunk < chunks; ++chunk) body(chunk);
}

// An executor. It calls body(0) ... body(chunks - 1), each once, in any order and possibly
// concurrently, and returns when all are done. Bodies of different chunks use no common memory.
// Results never depend on the executor, because partial sums are kept by chunk and added in order.
//
// A pass can be cancelled. Once keep_going() returns false, no more bodies are called, and
// keep_going() must keep returning false. The sums of a cancelled pass have no meaning. Plans check
// given_up() wherever a number from a pass decides their next step, and MakePlan returns Cancelled.
//
// Value type. Thread-safe if its functions are.
class ParallelFor {
 public:
  using Body = std::function<void(size_t chunk)>;
  using Run = std::function<void(size_t chunks, const Body& body)>;

  template <typename Function>
  requires std::is_invocable_v<Function, size_t, const Body&> ParallelFor(
      Function run, std::function<bool()> keep_going = nullptr)  // NOLINT: also a lambda
      : run_(std::move(run)), keep_going_(std::move(keep_going)) {}

  void operator()(size_t chunks, const Body& body) const {
    if (!keep_going_) return run_(chunks, body);
    run_(chunks, [&](size_t chunk) {
      if (keep_going_()) body(chunk);
    });
  }
  [[nodiscard]] bool given_up() const { return keep_going_ && !keep_going_(); }

 private:
  Run run_;
  std::function<bool()> keep_going_;  // unset = always true
};

}  // namespace freshet

#endif  // FRESHET_CORE_PLAN_PARALLEL_H_
