// Keeps what clients can cause at will from filling the log: a line a minute of each kind, which
// says how many were left out.
#ifndef FRESHET_SERVER_BASE_LOG_LIMIT_H_
#define FRESHET_SERVER_BASE_LOG_LIMIT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/base/units.h"
#include "fmt/format.h"

namespace freshet {

// Of one kind of line. Thread-compatible.
class LogLimit {
 public:
  static constexpr Duration kInterval = Duration::Seconds(60);

  // Nothing: leave the line out. Else what to append to it: how many were left out since the one
  // before, or nothing if there were none.
  [[nodiscard]] std::optional<std::string> Admit(Instant now) {
    if (said_ && now < *said_ + kInterval) {
      ++left_out_;
      return std::nullopt;
    }
    said_ = now;
    const uint64_t left_out = std::exchange(left_out_, 0);
    if (left_out == 0) return std::string();
    return fmt::format(" ({} more like this were left out)", left_out);
  }

 private:
  std::optional<Instant> said_;
  uint64_t left_out_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_BASE_LOG_LIMIT_H_
