#include "core/estimate/signal_windows.h"

#include <algorithm>

#include "core/base/fingerprint.h"
#include "core/base/limits.h"

namespace freshet {

PlacedSignal SignalWindows::Place(std::string_view host, uint8_t source, uint64_t poll,
                                  uint32_t pages, Instant now, Staged& staged) const {
  const BurstClass told = BurstClassOf(std::max<uint32_t>(pages, 1));
  if (told != BurstClass::kFew) return {SourceClass(source, told), poll};
  const char name = static_cast<char>(source);
  const uint64_t key = HashOfTexts(host, std::string_view(&name, 1));
  const auto [at, is_new] = staged.windows_.try_emplace(key);
  Window& window = at->second;
  if (const auto known = windows_.find(key); is_new && known != windows_.end()) {
    window = known->second;
  }
  staged.last_ = now;
  if (window.signals == 0 || now - window.begin >= length_) window = {.begin = now};
  ++window.signals;
  // Fewer than three signals make no burst, so the given poll is kept.
  const uint64_t burst = key ^ static_cast<uint64_t>(window.begin.micros());
  return {SourceClass(source, BurstClassOf(window.signals)), window.signals < 3 ? poll : burst};
}

void SignalWindows::Install(const Staged& staged) {
  if (staged.windows_.empty()) return;
  if (windows_.size() >= limits::kMaxSignalWindows) {
    absl::erase_if(windows_,
                   [&](const auto& entry) { return staged.last_ - entry.second.begin >= length_; });
    if (windows_.size() >= limits::kMaxSignalWindows) windows_.clear();
  }
  for (const auto& [key, window] : staged.windows_) windows_[key] = window;
}

}  // namespace freshet
