// A fleet in virtual time for the tests of core/fleet. The clocks of nodes are off, messages are
// lost, delayed, repeated and reordered, and leaders change.
#ifndef FRESHET_TESTS_CORE_FLEET_LOSSY_FLEET_H_
#define FRESHET_TESTS_CORE_FLEET_LOSSY_FLEET_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/random.h"
#include "core/fleet/fleet_rate.h"
#include "core/fleet/grant_holder.h"
#include "core/fleet/rate_leader.h"

namespace freshet {

struct LossyNetwork {
  double loss = 0;    // probability that a message is lost
  double repeat = 0;  // probability that a message arrives twice
  Duration most_delay = Duration::Millis(20);
  double long_delay = 0;  // probability of a delay of up to one and a half lifetimes
};

// The pages of a node. In the long run, their price is (demand/rate)^elasticity. After a change of
// the rate, the price approaches the new value within `relaxation_seconds`.
struct TestPages {
  double demand = 1;
  double elasticity = 1;
  double relaxation_seconds = 0;  // 0 = at once
  double noise = 0;               // in the logarithm of the reported price
  // The reported demand as a multiple of the true demand; 0 = none is reported.
  double tells_demand = 1;
  double capacity = 1e9;  // of the node's workers, in crawls a second
  double most = 1e9;      // limit of the node's hosts
  uint64_t pages = 1000;
};

class LossyFleet {
 public:
  struct Member {
    Member(NodeId id, const FleetRateOptions& options, TestPages has, double clock_off)
        : holder(id, options), pages(has), off(clock_off), log_price(std::log(has.demand)) {}
    GrantHolder holder;
    TestPages pages;
    uint32_t place = 0;
    double off;  // error of the node's clock, in seconds
    double log_price;
    uint64_t reports = 0;
    bool alive = true;      // obeys its grants
    bool connected = true;  // sends and gets messages
    double used = 0;
  };

  LossyFleet(const FleetRateOptions& options, LossyNetwork network, uint64_t seed)
      : options_(options), network_(network), random_(seed) {}

  Member& Join(TestPages pages) {
    const NodeId id(++last_node_);
    return *members_.emplace(id, std::make_unique<Member>(id, options_, pages, ClockOff()))
                .first->second;
  }
  // A new node takes the place of another. From now on, the previous node picks nothing and sends
  // nothing.
  Member& TakePlace(uint32_t place, TestPages pages) {
    for (auto& [id, member] : members_) {
      if (member->place == place) member->alive = member->connected = false;
    }
    Member& member = Join(pages);
    member.place = place;
    return member;
  }
  // Starts a new leader. The previous leader sends nothing more, but its messages are still in
  // flight.
  void NewLeader(Rate rate) {
    leader_off_ = ClockOff();
    leader_ = std::make_unique<RateLeader>(options_, ++term_, rate, At(leader_off_));
  }
  [[nodiscard]] RateLeader& leader() { return *leader_; }
  [[nodiscard]] bool led() const { return leader_ != nullptr; }
  void LoseLeader() { leader_.reset(); }
  [[nodiscard]] std::map<NodeId, std::unique_ptr<Member>>& members() { return members_; }
  [[nodiscard]] Random& random() { return random_; }
  [[nodiscard]] double seconds() const { return seconds_; }

  // Advances time by `seconds`. Once in each round, all nodes report and the leader sends grants.
  // Each step checks the sum of the obeyed rates.
  void Step(double seconds) {
    seconds_ += seconds;
    Deliver();
    const double round = options_.round.seconds();
    const auto rounds = static_cast<int64_t>(seconds_ / round);
    if (rounds != rounds_) {
      rounds_ = rounds;
      for (auto& [id, member] : members_) Report(id, *member);
      Deliver();
      if (leader_ != nullptr) {
        for (const RateGrant& grant : leader_->Round(At(leader_off_))) {
          Send([this, grant] { Arrive(grant); });
        }
      }
    }
    Live(seconds);
  }

  // Returns the rate that the node may use now.
  [[nodiscard]] double RateOf(const Member& member) const {
    return member.alive ? member.holder.rate(At(member.off)).per_second() : 0;
  }
  [[nodiscard]] double Sum() const {
    double sum = 0;
    for (const auto& [id, member] : members_) sum += RateOf(*member);
    return sum;
  }
  // Returns the largest divided by the smallest long-run price, among nodes whose rate is above 0
  // and not capped.
  [[nodiscard]] double PriceSpread() const {
    double low = HUGE_VAL;
    double high = 0;
    for (const auto& [id, member] : members_) {
      if (!member->alive || member->pages.pages == 0) continue;
      const double price = std::exp(member->log_price);
      low = std::min(low, price);
      high = std::max(high, price);
    }
    return high / low;
  }

 private:
  double ClockOff() {
    const double half = options_.clock_bound.seconds() / 2;
    return random_.Uniform(-half, half);
  }
  [[nodiscard]] Instant At(double off) const {
    return Instant::FromUnixSeconds(1'700'000'000) + Duration::FromSeconds(seconds_ + off);
  }

  void Send(const std::function<void()>& arrive) {
    int copies = random_.Uniform() < network_.loss ? 0 : 1;
    if (random_.Uniform() < network_.repeat) ++copies;
    for (int i = 0; i < copies; ++i) {
      double delay = random_.Uniform(0, network_.most_delay.seconds());
      if (random_.Uniform() < network_.long_delay) {
        delay += random_.Uniform(0, 1.5 * options_.lifetime.seconds());
      }
      messages_.emplace(seconds_ + delay, arrive);
    }
  }
  void Deliver() {
    while (!messages_.empty() && messages_.begin()->first <= seconds_) {
      const auto arrive = messages_.begin()->second;
      messages_.erase(messages_.begin());
      arrive();
    }
  }
  void Arrive(const RateGrant& grant) {
    const auto it = members_.find(grant.node);
    if (it == members_.end() || !it->second->connected) return;
    (void)it->second->holder.Take(grant, At(it->second->off));
  }

  void Report(NodeId id, Member& member) {
    RateReport report;
    report.node = id;
    report.place = member.place;
    report.number = ++member.reports;
    report.sent = At(member.off);
    report.held = member.holder.held();
    report.price = std::exp(member.log_price + member.pages.noise * (random_.Uniform(-1, 1)));
    if (member.pages.tells_demand > 0) {
      const TestPages& pages = member.pages;
      const double rate = pages.demand * std::pow(report.price, -1 / pages.elasticity);
      report.demand = {Rate::PerSecond(std::clamp(rate * pages.tells_demand, 1e-9, 1e6)),
                       -pages.elasticity};
    }
    report.used = Rate::PerSecond(member.used);
    const double spare = std::max(0.0, member.pages.capacity - member.used);
    report.credit = static_cast<uint64_t>(std::min(1e6, spare * options_.round.seconds()));
    report.pages = member.pages.pages;
    if (!member.connected || !member.alive) return;
    Send([this, report] {
      if (leader_ != nullptr) (void)leader_->Hear(report, At(leader_off_));
    });
  }

  void Live(double seconds) {
    for (auto& [id, member] : members_) {
      const TestPages& pages = member->pages;
      member->used = std::min({RateOf(*member), pages.capacity, pages.most});
      if (pages.pages == 0) member->used = 0;
      const double rate = std::max(member->used, pages.demand * 1e-3);
      const double settled = pages.elasticity * std::log(pages.demand / rate);
      const double share =
          pages.relaxation_seconds > 0 ? -std::expm1(-seconds / pages.relaxation_seconds) : 1;
      member->log_price += share * (settled - member->log_price);
    }
  }

  FleetRateOptions options_;
  LossyNetwork network_;
  Random random_;
  std::map<NodeId, std::unique_ptr<Member>> members_;
  std::multimap<double, std::function<void()>> messages_;
  std::unique_ptr<RateLeader> leader_;
  uint64_t term_ = 0;
  uint64_t last_node_ = 0;
  double leader_off_ = 0;
  double seconds_ = 0;
  int64_t rounds_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_CORE_FLEET_LOSSY_FLEET_H_
