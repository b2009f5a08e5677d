// Maps the names of signal sources to their indices, and limits their signals. All handlers share
// it.
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

// The sources. Thread-safe. Invariant: a name keeps its index for ever, even when the source is
// retired, because counts in stored pages refer to the index.
class Sources {
 public:
  // The limits of signals, per second; 0 = no limit.
  struct Rates {
    double usual = 0;
    std::map<std::string, double> by_name;  // for sources that have a configured rate
  };
  explicit Sources(Rates rates = {.usual = 0, .by_name = {}})
      : rates_(std::make_shared<const Rates>(std::move(rates))),
        budgets_(rates_->usual, limits::kMaxSources) {}
  // Sets the rates. They hold from the next signals on.
  void SetRates(Rates rates) FRESHET_EXCLUDES(mutex_);

  // Adds a source that is stored.
  void Add(const SourceRecord& source) FRESHET_EXCLUDES(mutex_);
  // Makes the record of a source that the caller wants to store. An unknown name gets a free index.
  // The index is reserved for the name, but Find does not return it before Add. A retired name gets
  // its old index again. The caller must then call Add or Withdraw. ResourceExhausted: there are
  // limits::kMaxSources sources, including retired ones.
  [[nodiscard]] StatusOr<SourceRecord> Propose(const std::string& name) FRESHET_EXCLUDES(mutex_);
  // Withdraws a proposal that could not be stored. Frees the index, unless another call has
  // proposed the same name.
  void Withdraw(const std::string& name) FRESHET_EXCLUDES(mutex_);

  // The index of a source; unset if it is unknown or retired.
  [[nodiscard]] std::optional<uint8_t> Find(std::string_view name) const FRESHET_EXCLUDES(mutex_);
  // Returns true if the name has an index, even if the source is retired.
  [[nodiscard]] bool Knows(std::string_view name) const FRESHET_EXCLUDES(mutex_);
  // The name that has this index; empty = none.
  [[nodiscard]] std::string NameOf(uint8_t index) const FRESHET_EXCLUDES(mutex_);
  // All sources that are not retired, ordered by name.
  [[nodiscard]] std::vector<SourceRecord> All() const FRESHET_EXCLUDES(mutex_);
  // All sources, including retired ones.
  [[nodiscard]] std::vector<SourceRecord> AllKnown() const FRESHET_EXCLUDES(mutex_);

  // Counts signals of a source. Returns how long the caller should accept no more signals of the
  // source; 0 = no pause.
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
    int times = 0;  // open proposals: neither added nor withdrawn
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
