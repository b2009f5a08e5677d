// Keeps clients from filling the log: writes at most one line of each kind a minute, with the
// number of lines that were left out.
#ifndef FRESHET_SERVER_BASE_LOG_LIMIT_H_
#define FRESHET_SERVER_BASE_LOG_LIMIT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "core/base/units.h"
#include "fmt/format.h"

namespace freshet {

// The limit of one kind of line. Thread-compatible.
class LogLimit {
 public:
  static constexpr Duration kInterval = Duration::Seconds(60);

  // Returns nullopt if the line is to be left out. Otherwise returns the text to append to the
  // line: how many lines were left out since the last one, or an empty string.
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
