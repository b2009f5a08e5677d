// Models how long pages live. Only a crawl finds out that a page died. Until then the page shows no
// sign of life (a crawl or a credible signal), but a quiet page shows none either. So crawls go to
// pages that do not exist, the more so the fewer changes are silent.
//
// A page of a site dies at the site's rate delta. While it lives, signs come at the rate r of
// signals to be believed. Without one for a time T it is there with the probability
//
//   P = e^(-(delta + r) T) / [e^(-(delta + r) T) + delta/(delta + r) (1 - e^(-(delta + r) T))],
//
// and a crawl is worth P times as much, down to P = 1/e; below, the crawl best waits for the next
// sign. Take a page without signals that changes at a rate Delta much below delta, and let crawls
// after silences of T be best. If a crawl finds the page, its future is worth W = mu e^(-Delta
// T)/delta; without the crawl, mu e^(-Delta T)/(Delta + delta). The crawl costs the price (mu
// Delta/delta^2) (delta T - 1 + e^(-delta T)) at which T is best: P times the difference of the two
// pays for it up to delta T = 1 only. Crawls teach delta: one after such a silence finds the page
// gone with the chance 1 - P. So delta is right if as many are found gone as the sum of 1 - P,
//
//   delta = deaths/sum of (1 - P)/delta,
//
// a fixed point that comes a step nearer with every epoch. The equation holds for any choice and
// times of crawls: more crawls of living pages, because of their signals, do not bias delta.
//
// A page that has been gone for T comes back within a short dt with the chance c dt/T: the longer
// it is gone, the less likely (Lindy's law). c is learned from looks at gone pages.
#ifndef FRESHET_CORE_ESTIMATE_LIFE_H_
#define FRESHET_CORE_ESTIMATE_LIFE_H_

namespace freshet {

// Value type, thread-compatible.
struct LifeModel {
  double death_rate = 1e-4;  // delta, per day, > 0
  double returns = 0.004;    // c, > 0
};

// P. Precondition: death_rate > 0, sign_rate >= 0, both per day; silent >= 0 days.
[[nodiscard]] double AliveChance(double death_rate, double sign_rate, double silent);

// The share of a crawl's value that is left if the page exists with the chance `alive` in [0, 1]:
// `alive` down to 1/e, below that e^2 times its cube, because P is an estimate.
[[nodiscard]] double ValueShare(double alive);

// Counts of what the crawls of a site have found, fading. Value type, thread-compatible.
struct LifeCounts {
  double deaths = 0;
  double exposure = 0;  // sum of (1 - P)/delta, in days
  double returns = 0;
  double looks = 0;  // sum of the expected returns, over c

  // Counts a crawl of a page that existed with the probability `alive` under `model`.
  void AddCrawl(const LifeModel& model, double alive, bool found);
  // Counts a look at a page that had been gone for `gone` days, `waited` of them since the last
  // look. No-op unless both are above 0.
  void AddLook(double gone, double waited, bool returned);
  void Add(const LifeCounts& other);
  // Multiplies every count by `factor` in [0, 1].
  void Fade(double factor);

  // The model of all hosts; without observations, the defaults above.
  [[nodiscard]] LifeModel FitAll() const;
  // The model of one host, drawn to `all` by five deaths and a fifth of a return.
  [[nodiscard]] LifeModel FitHost(const LifeModel& all) const;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_LIFE_H_
