// Models how long pages live. Only a crawl can find that a page is dead. A sign of life is a crawl
// that finds the page, or a credible signal. A dead page shows none, but neither does a quiet page.
// Without this model, crawls go to pages that no longer exist, especially if few changes are
// silent.
//
// A page of a site dies at the site's rate delta. While it lives, signs of life come at the rate r
// of credible signals. After a time T without a sign, the page exists with the probability
//
//   P = e^(-(delta + r) T) / [e^(-(delta + r) T) + delta/(delta + r) (1 - e^(-(delta + r) T))],
//
// and a crawl is worth P times as much, down to P = 1/e. Below that, the crawl should wait for the
// next sign, for the following reason. Take a page without signals whose change rate Delta is much
// lower than delta, and suppose that crawls after silences of T are best. If a crawl finds the
// page, the page's future is worth W = mu e^(-Delta T)/delta. Without the crawl it is worth mu
// e^(-Delta T)/(Delta + delta). The crawl costs the price at which T is best, which is
// (mu Delta/delta^2) (delta T - 1 + e^(-delta T)). P times the difference of the two values is at
// least this price only up to delta T = 1.
//
// Crawls teach delta. A crawl after a silence finds the page gone with the probability 1 - P. delta
// is therefore right if the number of pages found gone is the sum of 1 - P,
//
//   delta = deaths/sum of (1 - P)/delta.
//
// This is a fixed-point equation, and every epoch takes one step towards its solution. The equation
// holds for any choice and times of crawls: if living pages are crawled more often because of their
// signals, delta is not biased.
//
// A page that has been gone for T comes back within a short dt with the probability c dt/T: the
// longer it is gone, the less likely (Lindy's law). c is learned from looks at gone pages.
#ifndef FRESHET_CORE_ESTIMATE_LIFE_H_
#define FRESHET_CORE_ESTIMATE_LIFE_H_

namespace freshet {

// Value type, thread-compatible.
struct LifeModel {
  double death_rate = 1e-4;  // delta, per day, > 0
  double returns = 0.004;    // c, > 0
};

// P. Precondition: death_rate > 0 and sign_rate >= 0, both per day; silent >= 0 days.
[[nodiscard]] double AliveChance(double death_rate, double sign_rate, double silent);

// The factor of a crawl's value if the page exists with the probability `alive` in [0, 1]. It is
// `alive` down to 1/e. Below that it is e^2 alive^3, not 0, because P is only an estimate.
[[nodiscard]] double ValueShare(double alive);

// Fading counts of what the crawls of a site found. Value type, thread-compatible.
struct LifeCounts {
  double deaths = 0;
  double exposure = 0;  // sum of (1 - P)/delta, in days
  double returns = 0;
  double looks = 0;  // the number of expected returns, divided by c

  // Counts a crawl of a page that existed with the probability `alive` under `model`.
  void AddCrawl(const LifeModel& model, double alive, bool found);
  // Counts a look at a page that had been gone for `gone` days, `waited` of them since the previous
  // look. No-op unless both are above 0.
  void AddLook(double gone, double waited, bool returned);
  void Add(const LifeCounts& other);
  // Multiplies every count by `factor` in [0, 1].
  void Fade(double factor);

  // The model of all hosts. Without observations it is the defaults above.
  [[nodiscard]] LifeModel FitAll() const;
  // The model of one host, with `all` as a prior worth five deaths and a fifth of a return.
  [[nodiscard]] LifeModel FitHost(const LifeModel& all) const;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_LIFE_H_
