// The policy that sees every change as it happens.
#ifndef FRESHET_TOOLS_SIM_REPLAY_CLAIRVOYANT_H_
#define FRESHET_TOOLS_SIM_REPLAY_CLAIRVOYANT_H_

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "tools/sim/replay.h"
#include "tools/sim/replay_truth.h"

namespace freshet {

// Knows of each change, and of each death, at the instant at which it happens, and TruthOf the
// pages; of the future it knows nothing. Only stale pages are crawled: of those the one of largest
//
//   mu - lambda Delta,
//
// what a page loses while it waits (mu) less what keeping it fresh costs for good: a crawl for each
// of its Delta changes per unit of time at lambda, what a crawl is worth elsewhere. It is above 0
// where a crawl gains more than it costs, mu/Delta > lambda. lambda is the smallest price at which
// the pages that exist and are worth it change no more often than crawls come, 0 where crawls are
// enough for all; it is set anew every ten days. Without a shortage this is the c-mu rule (Cox and
// Smith, "Queues", 1961), with one it serves those whose crawls gain most, mu/Delta.
//
// A mark, not a bound: the rule is optimal where waits are short against 1/Delta, and the changes
// of a page may come in clusters of which the rates say nothing. FreshnessBound is the bound.
// Owner thread only.
class ClairvoyantReplay : public ReplayPolicy {
 public:
  // `world` outlives it.
  ClairvoyantReplay(const World& world, double crawls_per_day);

  void Add(size_t page, Instant now) override;
  void Signal(std::span<const ReplaySignal>, Instant) override {}
  [[nodiscard]] std::optional<size_t> Pick(Instant now) override;
  void Crawled(size_t page, Instant now, bool changed) override;
  void Gone(size_t page, Instant now) override;

  // lambda, in units of importance times days.
  [[nodiscard]] double price() const { return price_; }

 private:
  enum class What : uint8_t { kRates, kChange, kDeath };
  struct Happening {
    Instant at;
    size_t page = 0;
    What what = What::kChange;
    double change_rate = 0;  // of kRates: the new one, a day
  };
  struct Page {
    bool known = false;  // and not gone
    bool stale = false;
    double change_rate = 0;  // a day
    double urgency = 0;      // its key in stale_
  };

  void CatchUp(Instant now);
  void Happen(const Happening& happening);
  void SetStale(size_t page, bool stale);
  [[nodiscard]] double Price() const;

  const World& world_;
  double crawls_per_day_;
  std::vector<Happening> happenings_;  // in order of time
  size_t next_ = 0;
  std::vector<Page> pages_;
  std::set<std::pair<double, size_t>> stale_;  // -urgency, page
  double price_ = 0;
  Instant price_until_;
};

}  // namespace freshet

#endif  // FRESHET_TOOLS_SIM_REPLAY_CLAIRVOYANT_H_
