// Counts gRPC calls and their durations, by method and status code. Methods come from the table in
// server/auth/methods.h and codes from gRPC, so clients cannot add rows.
#ifndef FRESHET_SERVER_API_CALL_STATS_H_
#define FRESHET_SERVER_API_CALL_STATS_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "grpcpp/support/status.h"
#include "server/base/system_clock.h"

namespace freshet {

enum class CallKind : uint8_t { kUnary, kStream };

// The ended calls of one method and code. Value type, thread-compatible.
struct EndedCalls {
  std::string method;  // "freshet.v1.PagesService/GetPage", or `other`
  CallKind kind = CallKind::kUnary;
  std::string_view code;           // "OK", "NOT_FOUND"
  std::vector<uint64_t> by_bound;  // counts by CallStats::Bounds; the last one is for longer calls
  double seconds = 0;              // sum over all calls
};

// Calls of one method. Value type, thread-compatible.
struct MethodCalls {
  std::string method;
  CallKind kind = CallKind::kUnary;
  uint64_t open = 0;
  uint64_t received = 0;  // messages of streams; not counted for unary calls
  uint64_t sent = 0;
};

// All counts. Rows without calls are left out. Value type, thread-compatible.
struct CallFigures {
  std::vector<EndedCalls> ended;     // by method
  std::vector<MethodCalls> methods;  // by method
};

// The counters. Thread-safe, without locks: counting a call takes only a few additions.
class CallStats {
 public:
  // The position of a method in the table; one past the end = any method that is not in the table.
  using Method = size_t;

  CallStats();

  // Finds a path such as "/freshet.v1.PagesService/GetPage".
  [[nodiscard]] Method Find(std::string_view path) const;
  // Finds a method by its package and name, for example "freshet.v1" and "GetPage". No two methods
  // of a package have the same name.
  [[nodiscard]] Method Find(std::string_view package, std::string_view name) const;

  void Begin(Method method, CallKind kind);
  void End(Method method, grpc::StatusCode code, Duration took);
  void CountReceived(Method method) { ++methods_[method].received; }
  void CountSent(Method method) { ++methods_[method].sent; }

  [[nodiscard]] CallFigures figures() const;
  // The upper bounds of durations in seconds, in ascending order. The bounds for streams are longer
  // than those for unary calls.
  [[nodiscard]] static const std::vector<double>& Bounds(CallKind kind);

 private:
  static constexpr size_t kCodes = 17;  // grpc::StatusCode
  static constexpr size_t kBounds = 11;
  struct Ended {
    std::array<std::atomic<uint64_t>, kBounds + 1> by_bound{};
    std::atomic<uint64_t> micros{0};
  };
  struct OfMethod {
    std::string name;
    std::atomic<CallKind> kind{CallKind::kUnary};
    std::atomic<uint64_t> begun{0};
    std::atomic<uint64_t> ended{0};
    std::atomic<uint64_t> received{0};
    std::atomic<uint64_t> sent{0};
    std::array<Ended, kCodes> by_code;
  };

  std::vector<OfMethod> methods_;
  absl::flat_hash_map<std::string_view, Method> by_path_;
  absl::flat_hash_map<std::pair<std::string_view, std::string_view>, Method> by_name_;
};

// Counts one call, from construction to End. Without End, the destructor counts the call as
// CANCELLED. Thread-compatible.
class CallWatch {
 public:
  // `stats` and `clock` outlive this object.
  CallWatch(CallStats& stats, Clock& clock, CallStats::Method method, CallKind kind);
  ~CallWatch() { End(grpc::StatusCode::CANCELLED); }
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  // Ends the call with this code. Only the first End counts.
  void End(grpc::StatusCode code);
  void CountReceived() { stats_.CountReceived(method_); }
  void CountSent() { stats_.CountSent(method_); }

 private:
  CallStats& stats_;
  Clock& clock_;
  const CallStats::Method method_;
  const Instant begun_;
  std::atomic<bool> ended_{false};
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CALL_STATS_H_
