// Figures of the server's cluster, and of the crawl rate of a fleet.
#include <string>
#include <vector>

#include "server/api/figure_makers.h"

namespace freshet {
namespace {

// Only a standby has this value.
Value AtEnd(S s) {
  return s.recovery.at_end == Instant::None() ? Value() : Value(UnixSeconds(s.recovery.at_end));
}

Value Leader(S s) {
  const RateSharingStatus& rate = s.cluster.rate;
  if (!rate.shared) return kAbsent;
  return rate.leader ? Value(*rate.leader) : Value();
}

// kAbsent if the server shares no crawl rate.
template <typename T>
Getter Shared(T RateSharingStatus::*field) {
  return [field](S s) { return s.cluster.rate.shared ? ToValue(s.cluster.rate.*field) : kAbsent; };
}

}  // namespace

std::vector<Figure> ClusterFigures() {
  return {
      Gauge("freshet_cluster_turn", Of(&ClusterStatus::sure), {"cluster.turn"},
            "1 while the server knows that it is the active server"),
      Gauge("freshet_cluster_at_end_timestamp_seconds", AtEnd,
            "only on standbys: Unix time when the standby last had the cluster's whole log"),
      Gauge("freshet_cluster_waiting_partitions", Of(&ChangeLogStats::waiting),
            {"cluster.waiting_partitions"},
            "partitions of the log on which a transaction has waited for Kafka for more than five "
            "seconds. Meanwhile the server acknowledges no items of these partitions"),
      Counter("freshet_cluster_transactions_total{outcome}",
              {By("committed", Of(&ChangeLogStats::transactions), {"cluster.transactions"}),
               By("aborted", Of(&ChangeLogStats::aborted))},
              "Kafka transactions of this server: `committed`, `aborted`"),
      Counter(
          "freshet_cluster_transaction_seconds_total",
          [](S s) { return 1e-6 * static_cast<double>(s.cluster.log.transaction_micros); },
          "total duration of committed transactions"),
      Counter(
          "freshet_cluster_rows_total{op}",
          {By("appended", Of(&ChangeLogStats::rows), {"cluster.rows_appended"}),
           By("read", Of(&ChangeLogStats::rows_read), {"cluster.rows_read"})},
          "rows of the cluster's log that this server `appended`, or `read` from other servers"),
      Counter("freshet_cluster_appended_bytes_total", Of(&ChangeLogStats::bytes),
              "bytes appended to the log"),
      Gauge("freshet_cluster_open_forwarded_calls", Of(&ClusterStatus::Forwarded::open),
            "calls forwarded to another server"),
      Counter("freshet_cluster_calls_total{outcome}",
              {By("forwarded", Of(&ClusterStatus::Forwarded::forwarded)),
               By("dropped", Of(&ClusterStatus::Forwarded::dropped)),
               By("refused", Of(&ClusterStatus::Forwarded::refused))},
              "calls and pings that another server must answer: `forwarded`, `dropped` because the "
              "active server changed, or `refused` because no server was active or too many "
              "messages waited"),
      Counter("freshet_cluster_items_total{outcome}",
              {By("sent", Of(&ClusterStatus::items_sent_on)),
               By("unanswered", Of(&ClusterStatus::items_sent_unanswered))},
              "items for other [divisions](fleet.md#sharing-pages-out): `sent`, or `unanswered` "
              "after 15 s (pings: 3 s)"),
      Counter("freshet_cluster_assignments_elsewhere_total",
              Of(&ClusterStatus::assignments_elsewhere),
              "pages of other divisions that workers got through this server"),
      Fact(Of(&ClusterStatus::name), {"cluster.name"}),
  };
}

std::vector<Figure> FleetFigures() {
  return {
      Gauge("freshet_fleet_crawl_rate", Shared(&RateSharingStatus::total),
            {"cluster.fleet_rate.crawl_rate"}, "crawl rate of all divisions"),
      Gauge("freshet_fleet_granted_crawl_rate", Shared(&RateSharingStatus::granted),
            {"cluster.fleet_rate.granted"},
            "this division's part of the crawl rate; 0 if it has none"),
      Gauge("freshet_fleet_ungranted_seconds", Shared(&RateSharingStatus::ungranted),
            "how long this division has had no valid part of the crawl rate"),
      Gauge("freshet_fleet_price", Shared(&RateSharingStatus::price), {"cluster.fleet_rate.price"},
            "price (marginal value) of this division, smoothed; 0 if unknown"),
      Gauge("freshet_fleet_leads", Shared(&RateSharingStatus::leads), {"cluster.fleet_rate.leads"},
            "1 on the leader, which divides the crawl rate"),
      Gauge(
          "freshet_fleet_price_gap",
          [](S s) { return s.cluster.rate.leads ? Value(s.cluster.rate.price_gap) : kAbsent; },
          "only on the leader: largest difference between a division's price and the common price, "
          "as a share of the common price"),
      Gauge(
          "freshet_fleet_learned_divisions",
          [](S s) { return s.cluster.rate.shared ? Value(s.cluster.learned_from) : kAbsent; },
          {"cluster.learned_divisions"}, "other divisions whose statistics the last epoch used"),
      Counter("freshet_fleet_rate_reports_total{outcome}",
              {By("granted", Shared(&RateSharingStatus::grants)),
               By("unheard", Shared(&RateSharingStatus::unheard))},
              "this division's reports to the leader: `granted`, or `unheard` because the server "
              "reached no leader"),
      Fact(Leader, {"cluster.fleet_rate.leader"}),
  };
}

}  // namespace freshet
