// The names of signal sources and their indices, as every handler needs them.
#ifndef FRESHET_SERVER_ENGINE_SOURCES_H_
#define FRESHET_SERVER_ENGINE_SOURCES_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/id_limits.h"
#include "core/base/status.h"
#include "core/base/units.h"
#include "core/model/source.h"
#include "server/base/named_budgets.h"
#include "sync/mutex.h"

namespace freshet {

// Thread-safe. Invariant: an index, once given, stays with its name, also when the source is
// retired: counts in stored pages name it.
class Sources {
 public:
  // Signals a second of each source; 0: any number.
  struct Rates {
    double usual = 0;
    std::map<std::string, double> by_name;  // of those that have another
  };
  explicit Sources(Rates rates = {.usual = 0, .by_name = {}})
      : rates_(std::make_shared<const Rates>(std::move(rates))),
        budgets_(rates_->usual, limits::kMaxSources) {}
  // From the next signals on.
  void SetRates(Rates rates) FRESHET_EXCLUDES(mutex_);

  // Takes over a source as it is stored.
  void Add(const SourceRecord& source) FRESHET_EXCLUDES(mutex_);
  // The record for a name that is to be stored. An unknown name gets a free index, which is kept
  // for it, but is not found before Add; one that was retired gets its own back. Either Add or
  // Withdraw follows each. ResourceExhausted when limits::kMaxSources are known, retired ones
  // included.
  [[nodiscard]] StatusOr<SourceRecord> Propose(const std::string& name) FRESHET_EXCLUDES(mutex_);
  // What was proposed could not be stored: its index is free again, unless somebody else has
  // proposed the same.
  void Withdraw(const std::string& name) FRESHET_EXCLUDES(mutex_);

  // Nothing for one that is retired.
  [[nodiscard]] std::optional<uint8_t> Find(std::string_view name) const FRESHET_EXCLUDES(mutex_);
  // Whether it has an index, retired or not.
  [[nodiscard]] bool Knows(std::string_view name) const FRESHET_EXCLUDES(mutex_);
  // Empty for an index that was never given.
  [[nodiscard]] std::string NameOf(uint8_t index) const FRESHET_EXCLUDES(mutex_);
  // Those that are not retired, by name.
  [[nodiscard]] std::vector<SourceRecord> All() const FRESHET_EXCLUDES(mutex_);
  // Those that are, too.
  [[nodiscard]] std::vector<SourceRecord> AllKnown() const FRESHET_EXCLUDES(mutex_);

  // So many signals of a source have come: counts them. Returns how long no more of it should be
  // taken in, zero for no time.
  [[nodiscard]] Duration TakeSignals(uint8_t index, uint64_t signals, Instant now)
      FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] uint64_t signals(uint8_t index) const {
    return signals_.at(index).load(std::memory_order_relaxed);
  }

 private:
  struct Known {
    uint8_t index = 0;
    bool retired = false;
  };
  struct Proposed {
    uint8_t index = 0;
    int times = 0;  // that are neither added nor withdrawn
  };

  mutable Mutex mutex_;
  std::map<std::string, Known, std::less<>> by_name_ FRESHET_GUARDED_BY(mutex_);
  std::map<std::string, Proposed> proposed_ FRESHET_GUARDED_BY(mutex_);
  std::array<std::atomic<uint64_t>, limits::kMaxSources> signals_{};
  std::shared_ptr<const Rates> rates_ FRESHET_GUARDED_BY(mutex_);
  std::atomic<bool> limited_{rates_->usual > 0 || !rates_->by_name.empty()};
  NamedBudgets budgets_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_SOURCES_H_
