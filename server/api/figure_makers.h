// Functions that make rows of the table of figures. Only for server/api/figures_*.cc.
//
// All functions are thread-safe.
#ifndef FRESHET_SERVER_API_FIGURE_MAKERS_H_
#define FRESHET_SERVER_API_FIGURE_MAKERS_H_

#include <initializer_list>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "server/api/figure.h"
#include "server/base/live.h"
#include "server/base/unix_seconds.h"

namespace freshet {

using S = const ServerStatus&;
using C = ShardCounters;
using D = DispatchStats;

// --- Getters

// Makes a value. Durations are in seconds, instants in seconds since 1970.
template <typename T>
Value ToValue(const T& value) {
  if constexpr (std::is_same_v<T, Duration>) {
    return value.seconds();
  } else if constexpr (std::is_same_v<T, Rate>) {
    return value.per_second();
  } else if constexpr (std::is_same_v<T, Instant>) {
    return UnixSeconds(value);
  } else if constexpr (kIsLive<T>) {
    return value.get();
  } else {
    return value;
  }
}

// Makes a getter for a field of the status, or of one of its parts.
template <typename T, typename P>
Getter Of(T P::*field) {
  return [field](S s) {
    const auto parts = std::tie(
        s, s.dispatch, s.store, s.streams, s.handled, s.connections, s.http, s.door, s.door.auth,
        s.frontier, s.frontier.totals, s.frontier.counts, s.frontier.store, s.indexnow, s.recovery,
        s.cluster, s.cluster.log, s.cluster.calls, s.audit, s.queues, s.process);
    return ToValue(std::get<const P&>(parts).*field);
  };
}

// Makes getters for the sum, the maximum and the minimum of a field over all shards.
template <typename T, typename P>
Getter Sum(T P::*field) {
  return [field](S s) { return ToValue(SumOf(s, field)); };
}
template <typename T, typename P>
Getter Most(T P::*field) {
  return [field](S s) { return ToValue(MostOf(s, field)); };
}
template <typename T, typename P>
Getter Least(T P::*field) {
  return [field](S s) { return ToValue(LeastOf(s, field)); };
}

// --- Rows. Names have the form of Prometheus: "freshet_results_total{outcome}".

inline FigureValue By(std::string label, Getter get, Shown shown = {}) {
  return {std::move(label), std::move(get), std::move(shown)};
}

// The value of a figure, or one value for each value of its label.
struct Values {
  template <typename G, typename = std::enable_if_t<std::is_invocable_r_v<Value, G, S>>>
  Values(G get) : all{By("", std::move(get))} {}  // NOLINT(google-explicit-constructor): for rows
  Values(std::initializer_list<FigureValue> values) : all(values) {}
  std::vector<FigureValue> all;
};

[[nodiscard]] Figure MakeFigure(FigureType type, const std::string& name, Values values,
                                const Shown& shown, std::string text);
inline Figure Gauge(const std::string& name, Values values, std::string text) {
  return MakeFigure(FigureType::kGauge, name, std::move(values), {}, std::move(text));
}
inline Figure Gauge(const std::string& name, Values values, const Shown& shown, std::string text) {
  return MakeFigure(FigureType::kGauge, name, std::move(values), shown, std::move(text));
}
inline Figure Counter(const std::string& name, Values values, std::string text) {
  return MakeFigure(FigureType::kCounter, name, std::move(values), {}, std::move(text));
}
inline Figure Counter(const std::string& name, Values values, const Shown& shown,
                      std::string text) {
  return MakeFigure(FigureType::kCounter, name, std::move(values), shown, std::move(text));
}
inline Figure Histogram(const std::string& name, Values values, std::string text) {
  return MakeFigure(FigureType::kHistogram, name, std::move(values), {}, std::move(text));
}
// A figure that is not in the metrics.
inline Figure Fact(Values value, const Shown& shown) {
  return Gauge("", std::move(value), shown, "");
}
inline Figure Tally(Values value, const Shown& shown) {
  return Counter("", std::move(value), shown, "");
}

// --- Parts of the table

[[nodiscard]] std::vector<Figure> StartingFigures();
[[nodiscard]] std::vector<Figure> ServingFigures();
[[nodiscard]] std::vector<Figure> ProcessFigures();
[[nodiscard]] std::vector<Figure> ConnectionsFigures();
[[nodiscard]] std::vector<Figure> DoorFigures();
[[nodiscard]] std::vector<Figure> CallsFigures();
[[nodiscard]] std::vector<Figure> CrawlFrontierFigures();
[[nodiscard]] std::vector<Figure> HandingOutFigures();
[[nodiscard]] std::vector<Figure> CrawlIdsFigures();
[[nodiscard]] std::vector<Figure> LeasesFigures();
[[nodiscard]] std::vector<Figure> ReceivedFigures();
[[nodiscard]] std::vector<Figure> LatenessFigures();
[[nodiscard]] std::vector<Figure> PagesFigures();
[[nodiscard]] std::vector<Figure> LearnedFigures();
[[nodiscard]] std::vector<Figure> CommitsFigures();
[[nodiscard]] std::vector<Figure> ConditionFigures();
[[nodiscard]] std::vector<Figure> ClusterFigures();
[[nodiscard]] std::vector<Figure> FleetFigures();

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FIGURE_MAKERS_H_
