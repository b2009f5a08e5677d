#include "lab/sim/fleet.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <queue>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "core/base/random.h"
#include "core/fleet/grant_holder.h"
#include "core/fleet/price_meter.h"
#include "core/fleet/rate_leader.h"
#include "core/schedule/crawl_policy.h"
#include "core/schedule/pacer.h"
#include "core/schedule/pick.h"
#include "lab/sim/fleet_shards.h"

namespace freshet {
namespace {

constexpr double kDay = 86400;
// The price is smoothed over kPriceRounds. A node samples the demand of its pages again after
// kDemandRounds.
constexpr int64_t kPriceRounds = 8;
constexpr uint64_t kDemandRounds = 36;
constexpr size_t kSampledPages = 48;
// The number of rounds from the loss of a leader to the next leader.
constexpr int64_t kElectionRounds = 3;
// Workers accept every page.
constexpr uint64_t kPlentyOfCredit = 1'000'000;

// Counts by how many the crawls exceed what a rate allows in any window. If t_i is the instant of
// the i-th crawl, this is the largest (j - i + 1) - R (t_j - t_i).
class ExcessMeter {
 public:
  explicit ExcessMeter(Rate rate) : rate_(rate.per_second()) {}
  void Count(double now) {
    const double ahead = count_ - rate_ * now;
    lowest_ = std::min(lowest_, ahead);
    largest_ = std::max(largest_, ahead + 1 - lowest_);
    ++count_;
  }
  [[nodiscard]] double largest() const { return largest_; }

 private:
  double rate_;
  double count_ = 0;
  double lowest_ = HUGE_VAL;
  double largest_ = 0;
};

struct Node {
  Node(NodeId node, const FleetRateOptions& options, Duration clock_off, Instant now)
      : id(node),
        holder(node, options),
        meter(options.round * kPriceRounds),
        pacer(Rate(), now, Duration()),
        off(clock_off) {}

  [[nodiscard]] Instant Clock(Instant now) const { return now + off; }

  NodeId id;
  GrantHolder holder;
  PriceMeter meter;
  Pacer pacer;
  Duration off;  // error of its clock
  std::vector<size_t> partitions;
  bool connected = true;
  uint64_t wakes = 0;  // number of the last wake; earlier ones are ignored
  uint64_t reports = 0;
  uint64_t crawls = 0;  // since the last report
  Instant reported;
  std::optional<PriceDemand> demand;  // demand at the price in the next field
  double demand_price = 0;
  uint64_t demand_report = 0;
};

struct ReportDue {
  size_t node;
};
struct RoundDue {};
struct WakeDue {
  size_t node;
  uint64_t number;
};
struct NodeDies {};
struct NodeJoins {};
struct LeaderLost {};
struct LeaderElected {};
struct PartitionsMove {
  std::vector<size_t> partitions;
};
using What = std::variant<ReportDue, RoundDue, WakeDue, RateReport, RateGrant, NodeDies, NodeJoins,
                          LeaderLost, LeaderElected, PartitionsMove>;

struct Due {
  Instant at;
  uint64_t number;  // breaks ties in time; the lowest number is first
  What what;
  bool operator>(const Due& other) const {
    return at != other.at ? at > other.at : number > other.number;
  }
};

class FleetRun {
 public:
  FleetRun(const FleetOptions& options, FleetShards& shards, Rate rate)
      : options_(options),
        rate_options_(RateOptionsOf(options)),
        shards_(shards),
        rate_(rate),
        random_(options.seed ^ 0xF1EE7),
        now_(FleetShards::Begin()),
        end_(now_ + Duration::FromSeconds(options.days * kDay)),
        counts_from_(now_ + Duration::FromSeconds(options.days * kDay / 10)),
        excess_(rate) {}

  void Play(FleetResult* result, const std::function<void(double)>& progress) {
    result_ = result;
    Start();
    while (!due_.empty() && due_.top().at < end_) {
      const Due next = due_.top();
      due_.pop();
      now_ = next.at;
      if (next.number % 1024 == 0)
        progress((now_ - FleetShards::Begin()).seconds() / kDay / options_.days);
      std::visit([this](const auto& what) { Happen(what); }, next.what);
    }
    shards_.RunTo(end_);
    result->largest_excess = excess_.largest();
    result->largest_sum_of_grants = largest_sum_ / rate_.per_second();
    result->mean_price_gap = gaps_ / static_cast<double>(std::max<uint64_t>(1, rounds_));
    result->used_rate = used_ / static_cast<double>(std::max<uint64_t>(1, rounds_));
  }

 private:
  void Start() {
    for (size_t i = 0; i < options_.nodes; ++i) AddNode();
    result_->least_nodes = result_->most_nodes = nodes_.size();
    uint64_t largest = 0;
    for (size_t i = 0; i < shards_.partitions(); ++i) {
      nodes_[i % options_.nodes]->partitions.push_back(i);
    }
    for (const auto& node : nodes_) largest = std::max(largest, PagesOf(*node));
    result_->largest_node =
        static_cast<double>(largest * options_.nodes) / static_cast<double>(options_.world.pages);
    Happen(LeaderElected{});
    Schedule(rate_options_.round, RoundDue{});
    // Draws an instant that is neither in the first tenth nor in the last.
    const auto some_time = [this] {
      return Duration::FromSeconds(options_.days * kDay * random_.Uniform(0.1, 0.9));
    };
    for (size_t i = 0; i < options_.deaths; ++i) Schedule(some_time(), NodeDies{});
    for (size_t i = 0; i < options_.joins; ++i) Schedule(some_time(), NodeJoins{});
    for (size_t i = 0; i < options_.leader_changes; ++i) Schedule(some_time(), LeaderLost{});
  }

  void Schedule(Duration later, What what) {
    due_.push({now_ + later, ++numbers_, std::move(what)});
  }

  Duration DrawClock() {
    const double half = rate_options_.clock_bound.seconds() / 2;
    return Duration::FromSeconds(random_.Uniform(-half, half));
  }

  size_t AddNode() {
    const size_t index = nodes_.size();
    nodes_.push_back(std::make_unique<Node>(NodeId(index + 1), rate_options_, DrawClock(), now_));
    nodes_.back()->reported = now_;
    const double phase = random_.Uniform(0, rate_options_.round.seconds());
    Schedule(Duration::FromSeconds(phase), ReportDue{index});
    return index;
  }

  void Send(What message) {
    if (random_.Uniform() < options_.loss) return;
    double delay = random_.Uniform(0, 0.2 * rate_options_.round.seconds());
    if (random_.Uniform() < options_.late) {
      delay += random_.Uniform(0, rate_options_.lifetime.seconds());
    }
    Schedule(Duration::FromSeconds(delay), std::move(message));
  }

  [[nodiscard]] uint64_t PagesOf(const Node& node) const {
    uint64_t pages = 0;
    for (const size_t partition : node.partitions) pages += shards_.PagesOf(partition);
    return pages;
  }

  // --- Nodes

  void Happen(const ReportDue& due) {
    Node& node = *nodes_[due.node];
    if (!node.connected) return;
    Schedule(rate_options_.round, due);
    shards_.RunTo(now_);
    double best = 0;
    for (const size_t partition : node.partitions) {
      shards_.RunTimers(partition, now_);
      best = std::max(best, shards_.Best(partition, now_));
    }
    if (!node.partitions.empty()) node.meter.Add(best, now_);
    RateReport report;
    report.node = node.id;
    report.number = ++node.reports;
    report.sent = node.Clock(now_);
    report.held = node.holder.held();
    if (!options_.by_pages) {
      report.price = node.meter.price();
      report.demand = DemandOf(node);
    }
    const double seconds = (now_ - node.reported).seconds();
    if (seconds > 0) report.used = Rate::PerSecond(static_cast<double>(node.crawls) / seconds);
    node.crawls = 0;
    node.reported = now_;
    report.credit = kPlentyOfCredit;
    report.pages = PagesOf(node);
    Send(report);
  }

  // Returns the demand. From time to time, it is computed from a sample of pages; in between, it
  // moves along its slope.
  std::optional<PriceDemand> DemandOf(Node& node) {
    const double price = node.meter.price();
    if (node.demand_report == 0 || node.reports >= node.demand_report + kDemandRounds) {
      std::vector<PricedPage> sample;
      const size_t most = kSampledPages / std::max<size_t>(1, node.partitions.size()) + 1;
      for (const size_t partition : node.partitions) shards_.Sample(partition, most, &sample);
      node.demand = DemandAt(sample, PagesOf(node), price);
      node.demand_price = price;
      node.demand_report = node.reports;
    }
    if (!node.demand || !(price > 0)) return node.demand;
    return DemandMoved(*node.demand, node.demand_price, price);
  }

  void Happen(const RateGrant& grant) {
    const size_t index = grant.node.value() - 1;
    Node& node = *nodes_[index];
    if (!node.connected || !node.holder.Take(grant, node.Clock(now_)).ok()) return;
    Obey(index);
  }

  // Makes the node's pacer follow the node's current grant.
  void Obey(size_t index) {
    Node& node = *nodes_[index];
    const Rate rate = node.holder.rate(node.Clock(now_));
    sum_ += rate.per_second() - node.pacer.rate().per_second();
    largest_sum_ = std::max(largest_sum_, sum_);
    node.pacer.SetRate(rate, now_);
    SleepUntilNext(index);
  }

  void SleepUntilNext(size_t index) {
    Node& node = *nodes_[index];
    ++node.wakes;
    if (node.pacer.rate() == Rate()) return;
    const Instant next = std::min(node.pacer.next(), node.holder.until() - node.off);
    Schedule(next - now_, WakeDue{index, node.wakes});
  }

  void Happen(const WakeDue& wake) {
    Node& node = *nodes_[wake.node];
    if (wake.number != node.wakes) return;
    if (node.holder.rate(node.Clock(now_)) == Rate()) return Obey(wake.node);
    (void)node.pacer.SkipMissed(now_);
    if (node.pacer.next() <= now_) {
      (void)node.pacer.Use();
      CrawlBest(node);
    }
    SleepUntilNext(wake.node);
  }

  void CrawlBest(Node& node) {
    shards_.RunTo(now_);
    std::optional<size_t> best;
    double value = 0;
    for (const size_t partition : node.partitions) {
      const double its = shards_.Best(partition, now_);
      if (its <= value) continue;
      value = its;
      best = partition;
    }
    if (!best || !shards_.Crawl(*best, now_)) return;
    ++node.crawls;
    excess_.Count((now_ - FleetShards::Begin()).seconds());
  }

  // --- The leader

  void Happen(const RateReport& report) {
    if (leader_ != nullptr) (void)leader_->Hear(report, now_ + leader_off_);
  }

  void Happen(const RoundDue& round) {
    Schedule(rate_options_.round, round);
    if (leader_ != nullptr) {
      for (const RateGrant& grant : leader_->Round(now_ + leader_off_)) Send(grant);
    }
    if (now_ >= counts_from_) LookAtPrices();
  }

  void Happen(const LeaderElected&) {
    leader_off_ = DrawClock();
    leader_ = std::make_unique<RateLeader>(rate_options_, ++term_, rate_, now_ + leader_off_);
  }

  void Happen(const LeaderLost&) {
    leader_.reset();
    Schedule(rate_options_.round * kElectionRounds, LeaderElected{});
  }

  void LookAtPrices() {
    double sum = 0;
    double mean = 0;
    const auto each = [this](const auto& look) {
      for (const auto& node : nodes_) {
        const double rate = node->pacer.rate().per_second();
        if (node->connected && rate > 0 && node->meter.price() > 0) {
          look(rate, std::log(node->meter.price()));
        }
      }
    };
    each([&](double rate, double log_price) {
      sum += rate;
      mean += rate * log_price;
    });
    if (sum <= 0) return;
    mean /= sum;
    double gap = 0;
    each([&](double rate, double log_price) {
      const double its = std::abs(std::expm1(log_price - mean));
      gap += rate * its / sum;
      result_->largest_price_gap = std::max(result_->largest_price_gap, its);
    });
    gaps_ += gap;
    used_ += sum_ / rate_.per_second();
    ++rounds_;
  }

  // --- Nodes that come and go

  void CountNodes() {
    const auto there = static_cast<size_t>(std::count_if(
        nodes_.begin(), nodes_.end(), [](const auto& node) { return node->connected; }));
    result_->most_nodes = std::max(result_->most_nodes, there);
    result_->least_nodes = std::min(result_->least_nodes, there);
  }

  // Cuts a node off. It keeps its grant, and it keeps its pages until other nodes have them.
  void Happen(const NodeDies&) {
    std::vector<size_t> there;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i]->connected) there.push_back(i);
    }
    if (there.size() < 2) return;
    Node& node = *nodes_[there[random_.Below(there.size())]];
    node.connected = false;
    CountNodes();
    Schedule(rate_options_.silence, PartitionsMove{node.partitions});
  }

  // Moves each partition to the node with the fewest pages.
  void Happen(const PartitionsMove& move) {
    for (const size_t partition : move.partitions) {
      for (const auto& node : nodes_) std::erase(node->partitions, partition);
      Node* least = nullptr;
      for (const auto& node : nodes_) {
        if (!node->connected) continue;
        if (least == nullptr || PagesOf(*node) < PagesOf(*least)) least = node.get();
      }
      Give(partition, *least);
    }
  }

  void Give(size_t partition, Node& node) {
    node.partitions.push_back(partition);
    node.demand_report = 0;
  }

  // Gives the new node partitions of the largest nodes that can spare one, until it has its share
  // of the pages.
  void Happen(const NodeJoins&) {
    Node& joins = *nodes_[AddNode()];
    CountNodes();
    const uint64_t mean = options_.world.pages / result_->most_nodes;
    while (PagesOf(joins) < mean) {
      Node* largest = nullptr;
      for (const auto& node : nodes_) {
        if (!node->connected || node->partitions.size() < 2 || node.get() == &joins) continue;
        if (largest == nullptr || PagesOf(*node) > PagesOf(*largest)) largest = node.get();
      }
      if (largest == nullptr) return;
      const auto smallest = std::min_element(
          largest->partitions.begin(), largest->partitions.end(),
          [this](size_t a, size_t b) { return shards_.PagesOf(a) < shards_.PagesOf(b); });
      Give(*smallest, joins);
      largest->partitions.erase(smallest);
      largest->demand_report = 0;
    }
  }

  const FleetOptions& options_;
  const FleetRateOptions rate_options_;
  FleetShards& shards_;
  const Rate rate_;
  Random random_;
  Instant now_;
  const Instant end_;
  const Instant counts_from_;
  FleetResult* result_ = nullptr;
  std::priority_queue<Due, std::vector<Due>, std::greater<>> due_;
  uint64_t numbers_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::unique_ptr<RateLeader> leader_;
  Duration leader_off_;
  uint64_t term_ = 0;
  double sum_ = 0;  // sum of the rates that nodes follow
  double largest_sum_ = 0;
  ExcessMeter excess_;
  double gaps_ = 0;
  double used_ = 0;
  uint64_t rounds_ = 0;
};

void PlayOneIndex(FleetShards& shards, Rate rate, double days,
                  const std::function<void(double)>& progress) {
  const Instant end = FleetShards::Begin() + Duration::FromSeconds(days * kDay);
  Pacer pacer(rate, FleetShards::Begin(), Duration());
  Instant timers = FleetShards::Begin();
  for (uint64_t tick = 0; pacer.next() < end; ++tick) {
    const Instant now = pacer.Use();
    shards.RunTo(now);
    if (now >= timers) {
      shards.RunTimers(0, now);
      timers = now + Duration::Seconds(600);
    }
    (void)shards.Crawl(0, now);
    if (tick % 1024 == 0) progress((now - FleetShards::Begin()).seconds() / kDay / days);
  }
  shards.RunTo(end);
}

template <typename Number>
Status CheckWithin(const char* flag, Number value, std::type_identity_t<Number> least,
                   std::type_identity_t<Number> most) {
  if (value >= least && value <= most) return {};
  return InvalidArgument("{}: '{}' is not a number from {} to {}", flag, value, least, most);
}

Status ValidateCounts(const FleetOptions& options) {
  RETURN_IF_ERROR(CheckWithin("--nodes", options.nodes, 1, 1000));
  RETURN_IF_ERROR(CheckWithin("--pages", options.world.pages, options.nodes, 10'000'000));
  RETURN_IF_ERROR(CheckWithin("--hosts", options.world.hosts, 1, options.world.pages));
  if (options.partitions != 0) {
    RETURN_IF_ERROR(CheckWithin("--partitions", options.partitions, options.nodes, limits::kSlots));
  }
  RETURN_IF_ERROR(CheckWithin("--deaths", options.deaths, 0, 10'000));
  RETURN_IF_ERROR(CheckWithin("--joins", options.joins, 0, 1000));
  return CheckWithin("--leader-changes", options.leader_changes, 0, 10'000);
}

Status ValidateNumbers(const FleetOptions& options) {
  RETURN_IF_ERROR(CheckWithin("--skew", options.world.skew, 0, 3));
  RETURN_IF_ERROR(
      CheckWithin("--crawls-per-page-per-day", options.crawls_per_page_per_day, 1e-3, 1e3));
  RETURN_IF_ERROR(CheckWithin("--days", options.days, 0.1, 10'000));
  RETURN_IF_ERROR(CheckWithin("--epoch-days", options.epoch_days, 0.01, 10'000));
  RETURN_IF_ERROR(CheckWithin("--round-seconds", options.round_seconds, 0.1, 8000));
  RETURN_IF_ERROR(CheckWithin("--gain", options.gain, 0.01, 100));
  RETURN_IF_ERROR(CheckWithin("--loss", options.loss, 0, 1));
  return CheckWithin("--late", options.late, 0, 1);
}

}  // namespace

FleetRateOptions RateOptionsOf(const FleetOptions& options) {
  const FleetRateOptions served;
  const double scale = options.round_seconds / served.round.seconds();
  const auto scaled = [scale](Duration duration) {
    return Duration::FromSeconds(duration.seconds() * scale);
  };
  FleetRateOptions rate = served;
  rate.round = scaled(served.round);
  rate.lifetime = scaled(served.lifetime);
  rate.clock_bound = scaled(served.clock_bound);
  rate.silence = scaled(served.silence);
  rate.gain = options.gain;
  // Unlike the other times, `memory` is not scaled with the length of a round, because it follows
  // from how long pages wait for a crawl.
  rate.memory = std::max(rate.round, Duration::FromSeconds(kDay / options.crawls_per_page_per_day));
  return rate;
}

StatusOr<FleetResult> PlayFleet(const FleetOptions& options,
                                const std::function<void(double share)>& progress) {
  RETURN_IF_ERROR(ValidateCounts(options));
  RETURN_IF_ERROR(ValidateNumbers(options));
  FleetShardsOptions shards;
  ASSIGN_OR_RETURN(shards.shard.policy, ResolvePolicy(options.policy));
  if (shards.shard.policy.plan) {
    return InvalidArgument(
        "--policy {}: plans the rates of all pages; only policies that rank pages can be simulated "
        "here",
        options.policy);
  }
  shards.learn = options.learn;
  shards.epoch = Duration::FromSeconds(options.epoch_days * kDay);
  shards.seed = options.seed;
  const FleetWorld world(options.world);
  const Rate rate =
      Rate::PerDay(options.crawls_per_page_per_day * static_cast<double>(options.world.pages));
  const Instant end = FleetShards::Begin() + Duration::FromSeconds(options.days * kDay);
  FleetResult result;
  result.pages = options.world.pages;
  result.rate = rate;
  {
    FleetShards one(world, shards);
    PlayOneIndex(one, rate, options.days, [&](double share) { progress(share / 2); });
    result.one_index = one.Freshness(end);
    result.one_index_crawls = one.crawls();
  }
  shards.partitions = options.partitions > 0 ? options.partitions : 2 * options.nodes;
  result.partitions = shards.partitions;
  FleetShards many(world, shards);
  FleetRun(options, many, rate).Play(&result, [&](double share) { progress(0.5 + share / 2); });
  result.fleet = many.Freshness(end);
  result.fleet_crawls = many.crawls();
  return result;
}

}  // namespace freshet
