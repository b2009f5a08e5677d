// The names of signal sources and their indices, for all handlers.
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

// The sources. Thread-safe. Invariant: an index stays with its name for ever, even when the source
// is retired, because counts in stored pages refer to it.
class Sources {
 public:
  // Signals a second of each source; 0 = no limit.
  struct Rates {
    double usual = 0;
    std::map<std::string, double> by_name;  // of sources with a rate of their own
  };
  explicit Sources(Rates rates = {.usual = 0, .by_name = {}})
      : rates_(std::make_shared<const Rates>(std::move(rates))),
        budgets_(rates_->usual, limits::kMaxSources) {}
  // Sets the rates, from the next signals on.
  void SetRates(Rates rates) FRESHET_EXCLUDES(mutex_);

  // Takes over a stored source.
  void Add(const SourceRecord& source) FRESHET_EXCLUDES(mutex_);
  // Makes the record for a name that is to be stored. An unknown name gets a free index, which is
  // kept for it, but is not found before Add; a retired name gets its old index back. Either Add or
  // Withdraw must follow. ResourceExhausted: limits::kMaxSources are known, including retired ones.
  [[nodiscard]] StatusOr<SourceRecord> Propose(const std::string& name) FRESHET_EXCLUDES(mutex_);
  // Withdraws a proposed source that could not be stored: its index is free again, unless another
  // call has proposed the same name.
  void Withdraw(const std::string& name) FRESHET_EXCLUDES(mutex_);

  // The index of a source; unset if it is retired.
  [[nodiscard]] std::optional<uint8_t> Find(std::string_view name) const FRESHET_EXCLUDES(mutex_);
  // Whether the name has an index, retired or not.
  [[nodiscard]] bool Knows(std::string_view name) const FRESHET_EXCLUDES(mutex_);
  // The name of an index; empty if it was never given.
  [[nodiscard]] std::string NameOf(uint8_t index) const FRESHET_EXCLUDES(mutex_);
  // All sources that are not retired, by name.
  [[nodiscard]] std::vector<SourceRecord> All() const FRESHET_EXCLUDES(mutex_);
  // All sources, including retired ones.
  [[nodiscard]] std::vector<SourceRecord> AllKnown() const FRESHET_EXCLUDES(mutex_);

  // Counts signals of a source. Returns how long to take no more signals of it; 0 = no pause.
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
    int times = 0;  // proposals neither added nor withdrawn
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
