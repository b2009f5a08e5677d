// freshet-bench index: measures how many picks and signals per second the price index and its
// rivals handle, on the same pages in the same run.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/index/price_index.h"
#include "core/model/crossing.h"
#include "core/model/policy.h"
#include "fmt/format.h"
#include "lab/bench/commands.h"
#include "lab/bench/fixed_price_heap.h"
#include "lab/bench/resources.h"
#include "lab/common/brute_index.h"
#include "lab/common/rounded.h"

namespace freshet {
namespace {

struct BenchIndexFlags {
  uint32_t pages = 1'000'000;
  std::string policy = "greedy";
  std::vector<std::string> against;
  double rate_per_page = 1e-3;
  double signals_per_pick = 1;
  double edges_per_pick = 0;
  uint32_t hosts = 0;
  double host_delay = 1;
  double rate_factor = 1;
  double seconds = 5;
  uint64_t seed = 1;
};

using SteadyClock = std::chrono::steady_clock;

// The pages of the world ncis-fig4, in a unit of time in which there are on average
// `signals_per_pick` signals between two picks. The pages have the ages that they would have if
// they had always been crawled at the one price that spends the crawl rate. All properties of a
// page are computed from its number, so the world takes no memory.
class World {
 public:
  World(const BenchIndexFlags& flags, Policy policy)
      : policy_(policy),
        seed_(flags.seed),
        hosts_(flags.hosts),
        unit_(0.6 / (flags.rate_per_page * std::max(flags.signals_per_pick, 0.1))),
        start_(Instant::FromUnixSeconds(1'000'000'000)) {
    price_ = FindPrice(flags.rate_per_page, flags.pages);
  }

  [[nodiscard]] Instant start() const { return start_; }
  [[nodiscard]] double price() const { return price_; }

  [[nodiscard]] PageRates Rates(uint32_t page, double* importance, Random* random) const {
    *random = Random(seed_ * 0x9E3779B97F4A7C15u + page);
    *importance = random->Uniform(0.01, 1);
    PaperRates rates;
    rates.change_rate = random->Uniform(0.01, 1) / unit_;
    rates.recall = random->Beta(0.25, 0.25);
    rates.false_signal_rate = random->Uniform(0.1, 0.6) / unit_;
    return RatesFromPaper(rates);
  }

  [[nodiscard]] IndexEntry Entry(uint32_t page) const {
    double importance = 0;
    Random random(0);
    const PageRates rates = Rates(page, &importance, &random);
    IndexEntry entry;
    entry.policy = policy_;
    entry.rates = MakeIndexRates(importance, rates);
    entry.since = start_;
    // A page whose value never reaches the price gets a large age.
    const double target = std::min(ExponentReaching(ValueOf(entry), price_), 20.0);
    entry.exponent = target * random.Uniform();
    if (hosts_ > 0) entry.host = HostId(static_cast<uint32_t>(random.Below(hosts_)));
    return entry;
  }

  // Draws a page after an age edge or an epoch: its staleness rate is new, and its exponent is the
  // same.
  [[nodiscard]] std::pair<PageId, IndexEntry> DrawEdge(uint32_t pages, Random& random) const {
    const auto page = static_cast<uint32_t>(random.Below(pages));
    IndexEntry entry = Entry(page);
    entry.rates.staleness_rate *= static_cast<float>(random.Uniform(0.5, 2));
    return {PageId(page), entry};
  }

  // Whether the policy uses signals.
  [[nodiscard]] bool HasSignals() const {
    for (uint32_t i = 0; i < 100; ++i) {
      if (ValueOf(Entry(i)).jump > 0) return true;
    }
    return false;
  }

  // Draws a page with probability proportional to its signal rate, and the jump that a signal adds
  // to its exponent.
  [[nodiscard]] std::pair<PageId, double> DrawSignal(uint32_t pages, Random& random) const {
    for (;;) {
      const auto page = static_cast<uint32_t>(random.Below(pages));
      double importance = 0;
      Random own(0);
      const PageRates rates = Rates(page, &importance, &own);
      if (random.Uniform() * 1.6 > rates.signal_rate * unit_) continue;
      return {PageId(page), MakeValueParameters(policy_, importance, rates).jump};
    }
  }

 private:
  // Returns the crawl rate of `pages` if each is crawled when its value reaches the price.
  [[nodiscard]] static double RateAt(double price, std::span<const ValueParameters> pages) {
    double rate = 0;
    for (const ValueParameters& page : pages) {
      const double target = ExponentReaching(page, price);
      if (std::isfinite(target)) rate += page.speed / target;
    }
    return rate;
  }

  // Returns the price at which pages are crawled at the requested mean rate. Bisects with few
  // pages, and then corrects the price with more pages. The price must be exact: if it were off by
  // a percent, the rate would settle only after all pages were crawled once.
  [[nodiscard]] double FindPrice(double rate_per_page, uint32_t pages) const {
    constexpr uint32_t kFew = 2000;
    const uint32_t wanted = std::min(pages, uint32_t{1} << 18);
    std::vector<ValueParameters> sample;
    for (uint32_t i = 0; i < std::max(wanted, kFew); ++i) {
      double importance = 0;
      Random random(0);
      const PageRates rates = Rates(i, &importance, &random);
      sample.push_back(MakeValueParameters(policy_, importance, rates));
    }
    // ln(rate) minus the logarithm of the requested rate.
    const auto excess_at = [&](double price, std::span<const ValueParameters> of) {
      return std::log(RateAt(price, of) / (rate_per_page * static_cast<double>(of.size())));
    };
    const auto few = std::span(sample).first(kFew);
    const auto many = std::span(sample).first(wanted);
    double low = 1e-6 * unit_;
    double high = 100 * unit_;
    for (int step = 0; step < 60; ++step) {
      const double price = std::sqrt(low * high);
      (excess_at(price, few) > 0 ? low : high) = price;
    }
    double price = std::sqrt(low * high);
    double excess = excess_at(price, many);
    double elasticity = 1;  // d ln(rate) / d -ln(price)
    for (int step = 0; step < 4 && std::abs(excess) > 1e-6; ++step) {
      CHECK(elasticity > 0 && std::isfinite(excess), "no price spends so many crawls");
      const double rise = excess / elasticity;
      const double next = excess_at(price * std::exp(rise), many);
      price *= std::exp(rise);
      if (next != excess) elasticity = (excess - next) / rise;
      excess = next;
    }
    return price;
  }

  Policy policy_;
  uint64_t seed_;
  uint32_t hosts_;
  double unit_;
  Instant start_;
  double price_ = 0;
};

// The operations to measure. Pick also records the crawl. Owner thread only.
class Contender {
 public:
  virtual ~Contender() = default;
  [[nodiscard]] virtual const char* name() const = 0;
  virtual void Add(PageId page, const IndexEntry& entry) = 0;
  virtual void Ready(Instant) {}
  // Returns the picked page; PageId(~0) = none.
  virtual PageId Pick(Instant at) = 0;
  virtual void Signal(PageId page, double jump, Instant at) = 0;
  // `entry` has no exponent, because the page keeps its exponent.
  virtual void Edge(PageId page, IndexEntry entry, Instant at) = 0;
  [[nodiscard]] virtual uint64_t evaluations() const { return 0; }
};

constexpr PageId kNoPage(~uint32_t{0});

// PriceIndex or BruteIndex. With `hosts`, no page of a host can be picked for `delay` after a pick.
template <typename Index>
class ArgmaxContender final : public Contender {
 public:
  ArgmaxContender(const char* name, Duration delay, bool hosts)
      : name_(name), delay_(delay), hosts_(hosts) {}
  [[nodiscard]] const char* name() const override { return name_; }
  void Add(PageId page, const IndexEntry& entry) override { index_.Put(page, entry); }
  void Ready(Instant at) override { (void)index_.Best(at); }
  PageId Pick(Instant at) override {
    const auto best = index_.Best(at);
    if (!best) return kNoPage;
    if (hosts_) index_.SetHostFree(index_.Find(best->page)->host, at + delay_);
    index_.Restart(best->page, 0, at);
    return best->page;
  }
  void Signal(PageId page, double jump, Instant at) override {
    index_.Restart(page, index_.ExponentOf(page, at) + jump, at);
  }
  void Edge(PageId page, IndexEntry entry, Instant at) override {
    entry.exponent = index_.ExponentOf(page, at);
    entry.since = at;
    index_.Put(page, entry);
  }
  [[nodiscard]] uint64_t evaluations() const override {
    if constexpr (requires { index_.evaluations(); }) return index_.evaluations();
    return 0;
  }

 private:
  const char* name_;
  Duration delay_;
  bool hosts_;
  Index index_;
};

class HeapContender final : public Contender {
 public:
  explicit HeapContender(double price) : heap_(price) {}
  [[nodiscard]] const char* name() const override { return "heap"; }
  void Add(PageId, const IndexEntry& entry) override { heap_.Add(entry); }
  void Ready(Instant) override { heap_.Build(); }
  PageId Pick(Instant at) override { return heap_.Pick(at); }
  void Signal(PageId page, double jump, Instant) override { heap_.Signal(page, jump); }
  void Edge(PageId, IndexEntry, Instant) override { CHECK(false, "a heap knows no edges"); }

 private:
  FixedPriceHeap heap_;
};

// Counts times in logarithmic buckets, 16 for each factor of two. Quantiles are within 3%, and the
// memory is fixed.
class Times {
 public:
  void Add(double nanoseconds) {
    const double octaves = std::log2(std::max(nanoseconds, 1.0));
    ++counts_[std::min(static_cast<size_t>(kPerOctave * octaves), counts_.size() - 1)];
    ++total_;
    highest_ = std::max(highest_, nanoseconds);
  }
  [[nodiscard]] double Quantile(double q) const {
    auto left = static_cast<int64_t>(q * static_cast<double>(total_));
    for (size_t i = 0; i < counts_.size(); ++i) {
      left -= counts_[i];
      if (left < 0) return std::exp2((static_cast<double>(i) + 0.5) / kPerOctave);
    }
    return highest_;
  }
  [[nodiscard]] double highest() const { return highest_; }

 private:
  static constexpr int kPerOctave = 16;
  std::array<int64_t, 36 * kPerOctave> counts_{};
  int64_t total_ = 0;
  double highest_ = 0;
};

// A pick that takes at least this many seconds is an outlier.
constexpr double kSlowPick = 1e-5;
// If the processor time of a thread is shorter than the wall time by at least this much, the thread
// had to wait.
constexpr double kDisturbance = 5e-6;

// Returns how often per second the machine interrupts a thread for kSlowPick or more, measured with
// a thread that only reads the clock. Picks do not cause this part of the outliers.
double InterruptionsPerSecond() {
  constexpr double kSeconds = 0.25;
  const auto start = SteadyClock::now();
  auto last = start;
  auto checked = start;
  double processor = ThreadCpuSeconds();
  int interruptions = 0;
  while (std::chrono::duration<double>(last - start).count() < kSeconds) {
    const auto now = SteadyClock::now();
    if (std::chrono::duration<double>(now - last).count() >= kSlowPick) {
      const double own = ThreadCpuSeconds();
      const double wall = std::chrono::duration<double>(now - checked).count();
      if (wall <= own - processor + kDisturbance) ++interruptions;
      checked = now;
      processor = own;
    }
    last = now;
  }
  return interruptions / kSeconds;
}

// Returns how much time reading the clock adds between two readings: the smallest mean of several
// rounds.
double ClockSeconds() {
  constexpr int kReadings = 4096;
  double least = 1;
  for (int round = 0; round < 16; ++round) {
    const auto start = SteadyClock::now();
    auto last = start;
    for (int i = 0; i < kReadings; ++i) last = SteadyClock::now();
    const double took = std::chrono::duration<double>(last - start).count();
    least = std::min(least, took / kReadings);
  }
  return least;
}

// The result of a run. On a busy machine, a batch of picks might wait for the processor. For such a
// batch, only its processor time is counted, and the times of its picks are left out.
struct Measurement {
  uint64_t picks = 0;
  uint64_t signals = 0;
  uint64_t edges = 0;
  uint64_t batches = 0;
  uint64_t disturbed = 0;
  uint64_t slow_picks = 0;
  double pick_seconds = 0;
  double signal_seconds = 0;
  double edge_seconds = 0;
  Times times;  // times of single picks
};

// Drives one structure through virtual time.
class Drive {
 public:
  Drive(const BenchIndexFlags& flags, const World& world, Contender& contender)
      : flags_(flags), world_(world), contender_(contender), random_(flags.seed + 77) {
    const double rate = flags.rate_per_page * flags.pages;
    step_seconds_ = 1 / rate;
    signals_ = world_.HasSignals() ? flags.signals_per_pick : 0;
  }

  // A digest of the first picks since the start. It is the same for every exact structure.
  [[nodiscard]] uint64_t digest() const { return digest_; }
  void set_rate_factor(double factor) { factor_ = factor; }

  // Makes up to `max_picks` picks, with signals in between, for `seconds`.
  Measurement Run(double seconds, uint64_t max_picks) {
    Measurement result;
    const auto start = SteadyClock::now();
    uint64_t picks = 0;
    while (picks < max_picks && SecondsSince(start) < seconds) {
      const int batch = static_cast<int>(std::min<uint64_t>(kBatch, max_picks - picks));
      RunBatch(batch, result);
      picks += static_cast<uint64_t>(batch);
    }
    return result;
  }

 private:
  static constexpr int kBatch = 64;
  static constexpr uint64_t kDigestedPicks = 64;

  // Draws the signals and other events for `picks` picks.
  void DrawEvents(int picks) {
    drawn_.clear();
    for (owed_ += signals_ * picks; owed_ >= 1; --owed_) {
      drawn_.push_back(world_.DrawSignal(flags_.pages, random_));
    }
    edges_.clear();
    for (edges_owed_ += flags_.edges_per_pick * picks; edges_owed_ >= 1; --edges_owed_) {
      edges_.push_back(world_.DrawEdge(flags_.pages, random_));
    }
  }

  void RunBatch(int picks, Measurement& result) {
    DrawEvents(picks);
    size_t next_signal = 0;
    size_t next_edge = 0;
    double pick_seconds = 0;
    double signal_seconds = 0;
    double edge_seconds = 0;
    const double processor = ThreadCpuSeconds();
    const auto start = SteadyClock::now();
    auto before = start;
    for (int i = 0; i < picks; ++i) {
      now_seconds_ += step_seconds_ / factor_;
      const Instant now = world_.start() + Duration::FromSeconds(now_seconds_);
      const auto due = [&](size_t events) {
        return events * static_cast<size_t>(i) / static_cast<size_t>(picks);
      };
      // Adds the time since the last call.
      const auto lap = [this, &before](double& seconds) {
        const auto after = SteadyClock::now();
        seconds += std::chrono::duration<double>(after - before).count() - clock_seconds_;
        before = after;
      };
      if (next_signal < due(drawn_.size())) {
        for (; next_signal < due(drawn_.size()); ++next_signal) {
          contender_.Signal(drawn_[next_signal].first, drawn_[next_signal].second, now);
        }
        lap(signal_seconds);
      }
      if (next_edge < due(edges_.size())) {
        for (; next_edge < due(edges_.size()); ++next_edge) {
          contender_.Edge(edges_[next_edge].first, edges_[next_edge].second, now);
        }
        lap(edge_seconds);
      }
      const PageId page = contender_.Pick(now);
      const auto after = SteadyClock::now();
      taken_[static_cast<size_t>(i)] =
          std::chrono::duration<double>(after - before).count() - clock_seconds_;
      pick_seconds += taken_[static_cast<size_t>(i)];
      before = after;
      if (digested_ < kDigestedPicks) digest_ = (digest_ ^ page.value()) * 0x100000001b3;
      ++digested_;
    }
    const double wall = SecondsSince(start);
    const double own = ThreadCpuSeconds() - processor;
    const bool disturbed = wall > own + kDisturbance;
    const double share = disturbed ? own / wall : 1;
    // The times of a disturbed batch are left out, because it is unknown which pick had to wait.
    // They are kept if the picks themselves took so long that the wait hardly matters.
    if (!disturbed || own > kSlowPick * picks) {
      for (int i = 0; i < picks; ++i) {
        const double took = taken_[static_cast<size_t>(i)] * share;
        result.times.Add(took * 1e9);
        result.slow_picks += took >= kSlowPick ? 1 : 0;
      }
    }
    ++result.batches;
    result.disturbed += disturbed ? 1 : 0;
    result.picks += static_cast<uint64_t>(picks);
    result.signals += next_signal;
    result.edges += next_edge;
    result.pick_seconds += pick_seconds * share;
    result.signal_seconds += signal_seconds * share;
    result.edge_seconds += edge_seconds * share;
  }

  const BenchIndexFlags& flags_;
  const World& world_;
  Contender& contender_;
  const double clock_seconds_ = ClockSeconds();
  Random random_;
  std::vector<std::pair<PageId, double>> drawn_;
  std::array<double, kBatch> taken_{};  // seconds of each pick in the batch
  std::vector<std::pair<PageId, IndexEntry>> edges_;
  double step_seconds_ = 0;
  double signals_ = 0;
  double edges_owed_ = 0;
  double owed_ = 0;
  uint64_t digested_ = 0;
  uint64_t digest_ = 0xcbf29ce484222325;
  double factor_ = 1;
  double now_seconds_ = 0;
};

void Report(const BenchIndexFlags& flags, const Contender& contender, const Measurement& m,
            double build, double bytes, double evaluations, uint64_t digest) {
  const auto rate = [](uint64_t n, double seconds) {
    return seconds > 0 ? static_cast<double>(n) / seconds : 0.0;
  };
  const auto picks = static_cast<double>(m.picks);
  PrintLine(
      {{"pages", flags.pages},
       {"policy", flags.policy},
       {"structure", contender.name()},
       {"picks_per_second", Rounded(rate(m.picks, m.pick_seconds), 0)},
       {"p50_ns", Rounded(m.times.Quantile(0.5), 0)},
       {"p999_ns", Rounded(m.times.Quantile(0.999), 0)},
       {"max_ns", Rounded(m.times.highest(), 0)},
       {"slow_picks", Rounded(static_cast<double>(m.slow_picks) / picks, 6)},
       {"machine_slow_picks", Rounded(InterruptionsPerSecond() * m.pick_seconds / picks, 6)},
       {"evaluations_per_pick", Rounded(evaluations / picks, 2)},
       {"signals_per_second", Rounded(rate(m.signals, m.signal_seconds), 0)},
       {"edges_per_second", Rounded(rate(m.edges, m.edge_seconds), 0)},
       {"bytes_per_page", Rounded(bytes, 1)},
       {"build_seconds", Rounded(build, 3)},
       {"picks", m.picks},
       {"signals", m.signals},
       {"disturbed", Rounded(static_cast<double>(m.disturbed) / static_cast<double>(m.batches), 3)},
       {"hosts", flags.hosts},
       {"rate_factor", flags.rate_factor},
       {"seed", flags.seed},
       {"digest", fmt::format("{:016x}", digest)}});
}

void Measure(const BenchIndexFlags& flags, const World& world, Contender& contender) {
  // Entries are made in slices, so that their time and memory are not measured.
  std::vector<IndexEntry> slice(4096);
  const double resident = ResidentBytes();
  double build = 0;
  for (uint32_t first = 0; first < flags.pages; first += static_cast<uint32_t>(slice.size())) {
    slice.clear();
    const uint32_t end = std::min<uint64_t>(flags.pages, uint64_t{first} + slice.capacity());
    for (uint32_t i = first; i < end; ++i) slice.push_back(world.Entry(i));
    const auto start = SteadyClock::now();
    for (uint32_t i = first; i < end; ++i) contender.Add(PageId(i), slice[i - first]);
    build += SecondsSince(start);
  }
  const auto start = SteadyClock::now();
  contender.Ready(world.start());
  build += SecondsSince(start);
  Drive drive(flags, world, contender);
  (void)drive.Run(flags.seconds, 2 * uint64_t{flags.pages});
  const double bytes = (ResidentBytes() - resident) / flags.pages;
  if (flags.rate_factor != 1) drive.set_rate_factor(flags.rate_factor);
  const auto evaluations = static_cast<double>(contender.evaluations());
  const Measurement m = drive.Run(flags.seconds, 20'000'000);
  Report(flags, contender, m, build, bytes,
         static_cast<double>(contender.evaluations()) - evaluations, drive.digest());
}

Status RunIndexBench(BenchIndexFlags flags) {
  // The default policy of the server is greedy_ncis in operational time, in which the rates of
  // pages change at age edges (core/schedule/age_bin_wheel.h).
  const bool operational = flags.policy == "default";
  if (operational && flags.edges_per_pick == 0) flags.edges_per_pick = 1;
  ASSIGN_OR_RETURN(const Policy policy, ParsePolicy(operational ? "greedy_ncis" : flags.policy));
  if (!(flags.rate_per_page > 0) || !(flags.seconds > 0) || !(flags.rate_factor > 0) ||
      !(flags.signals_per_pick >= 0) || !(flags.edges_per_pick >= 0) || !(flags.host_delay >= 0)) {
    return InvalidArgument("rates and times must be positive");
  }
  if (flags.edges_per_pick > 0 && std::count(flags.against.begin(), flags.against.end(), "heap")) {
    return InvalidArgument("the heap cannot change rates: --against heap goes without edges");
  }
  const World world(flags, policy);
  const Duration delay = Duration::FromSeconds(flags.host_delay);
  {
    ArgmaxContender<PriceIndex> index("index", delay, flags.hosts > 0);
    Measure(flags, world, index);
  }
  for (const std::string& rival : flags.against) {
    if (rival == "brute") {
      ArgmaxContender<BruteIndex> brute("brute", delay, flags.hosts > 0);
      Measure(flags, world, brute);
    } else {
      HeapContender heap(world.price());
      Measure(flags, world, heap);
    }
  }
  return {};
}

}  // namespace

void AddIndexBench(CLI::App& app, CommandAction& action) {
  CLI::App* command =
      app.add_subcommand("index", "Measure how fast the index picks pages and applies signals");
  auto flags = std::make_shared<BenchIndexFlags>();
  command->add_option("--pages", flags->pages, "Number of pages")
      ->capture_default_str()
      ->check(CLI::Range(1u, 1'000'000'000u));
  command
      ->add_option("--policy", flags->policy,
                   "Crawl policy (only those that rank pages), such as default or greedy")
      ->capture_default_str();
  command->add_option("--against", flags->against, "Alternatives to the index to measure too")
      ->delimiter(',')
      ->check(CLI::IsMember({"brute", "heap"}));
  command->add_option("--rate-per-page", flags->rate_per_page, "Crawls per page and second")
      ->capture_default_str();
  command->add_option("--signals-per-pick", flags->signals_per_pick, "Signals between two picks")
      ->capture_default_str();
  command->add_option("--edges-per-pick", flags->edges_per_pick,
                      "How many pages change their staleness rate between two picks (default: 1 "
                      "with --policy default, else 0)");
  command
      ->add_option(
          "--hosts", flags->hosts,
          "Number of hosts, each blocked after a pick of one of its pages; 0 for no politeness")
      ->capture_default_str();
  command
      ->add_option("--host-delay", flags->host_delay,
                   "Seconds for which a host is blocked after a pick")
      ->capture_default_str();
  command
      ->add_option("--rate-factor", flags->rate_factor,
                   "Factor by which the crawl rate changes during the measurement")
      ->capture_default_str();
  command
      ->add_option("--seconds", flags->seconds,
                   "Seconds of warm-up, and again as many of measurement")
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Seed of pages and signals")->capture_default_str();
  command->callback([&action, flags] { action = [flags] { return RunIndexBench(*flags); }; });
}

}  // namespace freshet
