// Limits entries that clients can cause at will. A few entries a minute of each kind are written,
// and the rest are counted.
#ifndef FRESHET_SERVER_LOGS_REPEATS_H_
#define FRESHET_SERVER_LOGS_REPEATS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/units.h"

namespace freshet {

// Remembers at most kMaxKinds kinds; further kinds are counted together as one. Thread-compatible.
template <typename Entry>
class Repeats {
 public:
  static constexpr Duration kWindow = Duration::Seconds(60);
  static constexpr uint64_t kPerWindow = 20;
  static constexpr size_t kMaxKinds = 1000;

  // True = write the entry. False = it was counted, and Take will return it.
  [[nodiscard]] bool Admit(const std::string& kind, const Entry& entry, Instant now) {
    auto it = kinds_.find(kind);
    if (it == kinds_.end()) {
      const bool room = kinds_.size() < kMaxKinds;
      it = kinds_.try_emplace(room ? kind : std::string(), Kind{.begun = now}).first;
    }
    Kind& known = it->second;
    if (known.said < kPerWindow) {
      ++known.said;
      return true;
    }
    ++known.left_out;
    known.last = entry;
    return false;
  }

  // Whether Admit counts this kind separately.
  [[nodiscard]] bool Remembers(const std::string& kind) const {
    return kinds_.size() < kMaxKinds || kinds_.contains(kind);
  }

  // Forgets each kind whose minute has ended, or every kind if `all` is set. If the kind left out
  // entries, returns the last one and their number.
  [[nodiscard]] std::vector<std::pair<Entry, uint64_t>> Take(Instant now, bool all) {
    std::vector<std::pair<Entry, uint64_t>> taken;
    for (auto it = kinds_.begin(); it != kinds_.end();) {
      Kind& kind = it->second;
      if (!all && now < kind.begun + kWindow) {
        ++it;
        continue;
      }
      if (kind.left_out > 0) taken.emplace_back(std::move(kind.last), kind.left_out);
      it = kinds_.erase(it);
    }
    return taken;
  }

  [[nodiscard]] bool empty() const { return kinds_.empty(); }

 private:
  struct Kind {
    Instant begun;
    uint64_t said = 0;
    uint64_t left_out = 0;
    Entry last = {};
  };
  std::map<std::string, Kind> kinds_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_LOGS_REPEATS_H_
