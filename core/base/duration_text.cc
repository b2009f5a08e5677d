#include "core/base/duration_text.h"

#include <cstdint>

#include "fmt/format.h"

namespace freshet {

std::string SecondsText(Duration duration) {
  constexpr uint64_t kMicros = 1'000'000;
  const bool negative = duration < Duration();
  const auto bits = static_cast<uint64_t>(duration.micros());
  const uint64_t micros = negative ? 0 - bits : bits;
  std::string text = fmt::format("{}{}", negative ? "-" : "", micros / kMicros);
  if (micros % kMicros != 0) {
    text += fmt::format(".{:06}", micros % kMicros);
    text.erase(text.find_last_not_of('0') + 1);
  }
  return text + " s";
}

}  // namespace freshet
