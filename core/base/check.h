// Assertions for programmer errors. They never test input from outside (a request, a file, the
// clock): invalid input is reported as an absl::Status.
//
// CHECK is active in every build: a shard that continued with a broken invariant would write wrong
// state to disk. DCHECK is for conditions that are too expensive to test on a hot path. Release
// builds drop it.
#ifndef FRESHET_CORE_BASE_CHECK_H_
#define FRESHET_CORE_BASE_CHECK_H_

#include <string>

#include "fmt/format.h"

namespace freshet::internal {

// Writes `file:line: CHECK failed: condition message` to standard error and aborts.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition,
                              const std::string& message);

inline std::string CheckMessage() { return {}; }
template <typename... Args>
std::string CheckMessage(fmt::format_string<Args...> format, Args&&... args) {
  return fmt::format(format, std::forward<Args>(args)...);
}

}  // namespace freshet::internal

// CHECK(condition) or CHECK(condition, "format {}", value).
#define CHECK(condition, ...)                                                           \
  do {                                                                                  \
    if (!(condition)) [[unlikely]]                                                      \
      ::freshet::internal::CheckFailed(__FILE__, __LINE__, #condition,                  \
                                       ::freshet::internal::CheckMessage(__VA_ARGS__)); \
  } while (false)

#ifdef NDEBUG
#define DCHECK(condition, ...) \
  do {                         \
    if (false) {               \
      (void)(condition);       \
    }                          \
  } while (false)
#else
#define DCHECK(condition, ...) CHECK(condition __VA_OPT__(, ) __VA_ARGS__)
#endif

#endif  // FRESHET_CORE_BASE_CHECK_H_
