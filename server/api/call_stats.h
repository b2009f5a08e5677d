// Counts gRPC calls and their durations, by method and status code. Methods are those of the table
// in server/auth/methods.h and codes are gRPC's, so clients cannot add rows.
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

// Ended calls of one method and code. Value type, thread-compatible.
struct EndedCalls {
  std::string method;  // "freshet.v1.PagesService/GetPage", or `other`
  CallKind kind = CallKind::kUnary;
  std::string_view code;           // "OK", "NOT_FOUND"
  std::vector<uint64_t> by_bound;  // by CallStats::Bounds; the last: longer than all
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

// All counts. Value type, thread-compatible.
struct CallFigures {
  std::vector<EndedCalls> ended;     // rows with calls
  std::vector<MethodCalls> methods;  // rows with calls, by name
};

// The counters. Thread-safe, without locks: a call costs some additions.
class CallStats {
 public:
  // The place in the table; one past its end for all other methods.
  using Method = size_t;

  CallStats();

  // Finds "/freshet.v1.PagesService/GetPage".
  [[nodiscard]] Method Find(std::string_view path) const;
  // Finds "freshet.v1", "GetPage": methods of a package's services have distinct names.
  [[nodiscard]] Method Find(std::string_view package, std::string_view name) const;

  void Begin(Method method, CallKind kind);
  void End(Method method, grpc::StatusCode code, Duration took);
  void CountReceived(Method method) { ++methods_[method].received; }
  void CountSent(Method method) { ++methods_[method].sent; }

  [[nodiscard]] CallFigures figures() const;
  // The upper bounds of durations in seconds, rising. Streams are open for hours.
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

// Counts one call, from its beginning to End, or to its destruction without one. Thread-compatible.
class CallWatch {
 public:
  // Both outlive this.
  CallWatch(CallStats& stats, Clock& clock, CallStats::Method method, CallKind kind);
  ~CallWatch() { End(grpc::StatusCode::CANCELLED); }
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  // Sets the code of the call; the first one counts.
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
