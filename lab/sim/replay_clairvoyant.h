// A policy that sees every change when it happens.
#ifndef FRESHET_LAB_SIM_REPLAY_CLAIRVOYANT_H_
#define FRESHET_LAB_SIM_REPLAY_CLAIRVOYANT_H_

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "lab/sim/replay.h"
#include "lab/sim/replay_truth.h"

namespace freshet {

// Knows each change and each death when it happens, and TruthOf the pages, but nothing of the
// future. Crawls only stale pages, and always the one with the largest
//
//   mu - lambda Delta.
//
// mu is the loss per unit of time while the page waits. lambda Delta is the cost of keeping the
// page fresh from then on: a crawl for each of its Delta changes per unit of time, at lambda, the
// worth of a crawl elsewhere. The difference is above 0 if a crawl gains more than it costs,
// mu/Delta > lambda. lambda is the smallest price at which the existing pages with mu/Delta >
// lambda change no more often than crawls come. It is 0 if there are enough crawls for all pages,
// and it is computed again every ten days. Without a shortage of crawls this is the c-mu rule (Cox
// and Smith, "Queues", 1961). With a shortage, the rule serves the pages whose crawls gain most,
// mu/Delta.
//
// The policy is a yardstick, not a bound: the rule is optimal if waits are short against 1/Delta,
// but changes can come in clusters that the rates do not show. FreshnessBound is the bound.
// Owner thread only.
class ClairvoyantReplay : public ReplayPolicy {
 public:
  // `world` outlives the policy.
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
    double change_rate = 0;  // for kRates: the new rate, a day
  };
  struct Page {
    bool known = false;  // known and not gone
    bool stale = false;
    double change_rate = 0;  // a day
    double urgency = 0;      // the page's key in stale_
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

#endif  // FRESHET_LAB_SIM_REPLAY_CLAIRVOYANT_H_
