// All layers use absl::Status as their only status type. Errors of RocksDB, gRPC and HTTP are
// translated where they enter or leave. The headers of core and storage do not name foreign error
// types.
#ifndef FRESHET_CORE_BASE_STATUS_H_
#define FRESHET_CORE_BASE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fmt/format.h"

namespace freshet {

using absl::Status;
using absl::StatusOr;

// Builds a status of the given code from a format string, e.g.
// MakeStatus(absl::StatusCode::kInvalidArgument, "importance: {} is negative", value).
template <typename... Args>
[[nodiscard]] Status MakeStatus(absl::StatusCode code, fmt::format_string<Args...> format,
                                Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}

template <typename... Args>
[[nodiscard]] Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, format, std::forward<Args>(args)...);
}

template <typename... Args>
[[nodiscard]] Status NotFound(fmt::format_string<Args...> format, Args&&... args) {
  return MakeStatus(absl::StatusCode::kNotFound, format, std::forward<Args>(args)...);
}

}  // namespace freshet

// Returns the status of `expression` from the enclosing function unless it is OK.
#define RETURN_IF_ERROR(expression)                                                           \
  do {                                                                                        \
    if (absl::Status status_macro_ = (expression); !status_macro_.ok()) return status_macro_; \
  } while (false)

#define FRESHET_CONCAT_INNER(a, b) a##b
#define FRESHET_CONCAT(a, b) FRESHET_CONCAT_INNER(a, b)

// ASSIGN_OR_RETURN(auto x, F()): declares or assigns x from a StatusOr, or returns its error
// status.
#define ASSIGN_OR_RETURN(target, expression) \
  ASSIGN_OR_RETURN_IMPL(FRESHET_CONCAT(statusor_, __LINE__), target, expression)
// NOLINTBEGIN(bugprone-macro-parentheses): `target` may be a declaration.
#define ASSIGN_OR_RETURN_IMPL(temporary, target, expression) \
  auto temporary = (expression);                             \
  if (!temporary.ok()) return std::move(temporary).status(); \
  target = *std::move(temporary)
// NOLINTEND(bugprone-macro-parentheses)

#endif  // FRESHET_CORE_BASE_STATUS_H_
