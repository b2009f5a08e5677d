// How long pages live. One that died is known to be gone only when a crawl finds out; until then it
// shows no sign of life, a crawl or a signal to be believed, and neither does one that is quiet. So
// crawls go to pages that do not exist, the more the fewer changes nobody tells of.
//
// A page of a site dies at the site's rate delta. While it lives, signs come at the rate r of
// signals to be believed. Without one for a time T it is there with the probability
//
//   P = e^(-(delta + r) T) / [e^(-(delta + r) T) + delta/(delta + r) (1 - e^(-(delta + r) T))],
//
// and a crawl is worth P times as much, down to P = 1/e; below, it is best left until there is a
// sign again. Of a page that nobody signals and that changes at a rate Delta much below delta, what
// follows a crawl which finds it is worth W = mu e^(-Delta T)/delta where crawls after silences of
// T are best, and what follows without one mu e^(-Delta T)/(Delta + delta). The crawl costs the
// price (mu Delta/delta^2) (delta T - 1 + e^(-delta T)) at which T is best: P times the difference
// of the two pays for it up to delta T = 1 only. Crawls teach delta: one after such a silence finds
// the page gone with 1 - P, so that delta is right where as many were found as the sum of 1 - P
// says,
//
//   delta = deaths/sum of (1 - P)/delta,
//
// a fixed point that is taken a step nearer with every epoch. It holds whichever pages are crawled,
// and whenever: that pages which live are crawled more, as they are signalled, does not bias it.
//
// Pages that are gone: one that has been gone for T comes back within a short dt with the chance
// c dt/T; the longer it is gone, the less likely (Lindy's law). c is learned from the looks at
// them.
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

// What is left of the value of a crawl of a page that is there with the chance `alive` in [0, 1]:
// `alive` down to 1/e, and its cube below, times e^2, as P is an estimate.
[[nodiscard]] double ValueShare(double alive);

// What the crawls of a site have found, fading. Value type, thread-compatible.
struct LifeCounts {
  double deaths = 0;
  double exposure = 0;  // sum of (1 - P)/delta, in days
  double returns = 0;
  double looks = 0;  // sum of the returns that were expected, over c

  // A crawl of a page that was there with the probability `alive` under `model`.
  void AddCrawl(const LifeModel& model, double alive, bool found);
  // A look at a page that had been gone for `gone` days, `waited` of them since it was looked for
  // last. No-op unless both are above zero.
  void AddLook(double gone, double waited, bool returned);
  void Add(const LifeCounts& other);
  // Multiplies every count by `factor` in [0, 1].
  void Fade(double factor);

  // Of all hosts; where nothing was seen, the defaults above.
  [[nodiscard]] LifeModel FitAll() const;
  // Of one of them, drawn to all by five deaths and a fifth of a return.
  [[nodiscard]] LifeModel FitHost(const LifeModel& all) const;
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_LIFE_H_
