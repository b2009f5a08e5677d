#include "core/estimate/signal_windows.h"

#include <algorithm>

#include "core/base/fingerprint.h"
#include "core/base/limits.h"

namespace freshet {

PlacedSignal SignalWindows::Place(std::string_view host, uint8_t source, uint64_t poll,
                                  uint32_t pages, Instant now) {
  const BurstClass told = BurstClassOf(std::max<uint32_t>(pages, 1));
  if (told != BurstClass::kFew) return {SourceClass(source, told), poll};
  if (windows_.size() >= limits::kMaxSignalWindows) {
    absl::erase_if(windows_,
                   [&](const auto& entry) { return now - entry.second.begin >= length_; });
    if (windows_.size() >= limits::kMaxSignalWindows) windows_.clear();
  }
  const char name = static_cast<char>(source);
  const uint64_t key = HashOfTexts(host, std::string_view(&name, 1));
  Window& window = windows_[key];
  if (window.signals == 0 || now - window.begin >= length_) window = {.begin = now};
  ++window.signals;
  // A burst of this size is none, whatever it is known by.
  const uint64_t burst = key ^ static_cast<uint64_t>(window.begin.micros());
  return {SourceClass(source, BurstClassOf(window.signals)), window.signals < 3 ? poll : burst};
}

}  // namespace freshet
