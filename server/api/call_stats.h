// How calls of gRPC went: how many, how long they took, by method and status code. The methods are
// those of the table in server/auth/methods.h and the codes gRPC's, so nothing that a client sends
// makes a row more.
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

// Calls that ended alike. Value type, thread-compatible.
struct EndedCalls {
  std::string method;  // "freshet.v1.PagesService/GetPage", or `other`
  CallKind kind = CallKind::kUnary;
  std::string_view code;           // "OK", "NOT_FOUND"
  std::vector<uint64_t> by_bound;  // of CallStats::Bounds; the last: longer than all of them
  double seconds = 0;              // of all together
};

// Calls of one method. Value type, thread-compatible.
struct MethodCalls {
  std::string method;
  CallKind kind = CallKind::kUnary;
  uint64_t open = 0;
  uint64_t received = 0;  // messages of streams; of unary calls they are not counted
  uint64_t sent = 0;
};

// Value type, thread-compatible.
struct CallFigures {
  std::vector<EndedCalls> ended;     // that there were any of
  std::vector<MethodCalls> methods;  // likewise, by name
};

// Thread-safe, without locks: a call costs some additions.
class CallStats {
 public:
  // In the order of the table, one past it for all others.
  using Method = size_t;

  CallStats();

  // "/freshet.v1.PagesService/GetPage".
  [[nodiscard]] Method Find(std::string_view path) const;
  // "freshet.v1", "GetPage": no two services of a package have methods of one name.
  [[nodiscard]] Method Find(std::string_view package, std::string_view name) const;

  void Begin(Method method, CallKind kind);
  void End(Method method, grpc::StatusCode code, Duration took);
  void CountReceived(Method method) { ++methods_[method].received; }
  void CountSent(Method method) { ++methods_[method].sent; }

  [[nodiscard]] CallFigures figures() const;
  // How long calls take, in seconds, rising. Streams are open for hours.
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

// One call, from here to End, or to its end without one. Thread-compatible.
class CallWatch {
 public:
  // Both outlive it.
  CallWatch(CallStats& stats, Clock& clock, CallStats::Method method, CallKind kind);
  ~CallWatch() { End(grpc::StatusCode::CANCELLED); }
  CallWatch(const CallWatch&) = delete;
  CallWatch& operator=(const CallWatch&) = delete;

  // What the call ends with is decided. The first one counts.
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
