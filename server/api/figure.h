// The table of all figures of a server. A row has the name, the description and the source of a
// figure. It says where the figure is shown, and how figures of several shards and servers are
// merged. The metrics, /status.json, the console, its plots, GetStatistics and docs/metrics.md are
// made from the table.
#ifndef FRESHET_SERVER_API_FIGURE_H_
#define FRESHET_SERVER_API_FIGURE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "freshet/v1/admin.pb.h"
#include "nlohmann/json.hpp"
#include "server/api/status.h"

namespace freshet {

enum class FigureType : uint8_t { kGauge, kCounter, kHistogram };

// How GetStatistics merges the figures of several servers of a fleet.
enum class Merge : uint8_t {
  kUsual,  // numbers are added; for other values, the first one that is set is kept
  kMost,
  kApart,  // fleet_sums.cc merges the figure together with others
};

// The places that show a figure, besides the metrics; empty = none. For a figure with labels, the
// name is a prefix for all its values: "results" means results.changed and so on in the JSON, and
// "ingest.results_" means ingest.results_changed. Value type, thread-compatible.
struct Shown {
  std::string json = "";   // the name in /status.json and the console: "index.picks"
  std::string field = "";  // the field of GetStatisticsResponse: "ingest.signals_stale"
  std::string plot = "";   // the series of the history; a counter is plotted as its rise per second
  Merge merge = Merge::kUsual;
};

// The value of a figure: a number, a text, or a list. With labels it is an object whose members are
// the values of the first label; each holds a number, or an object for the next label. A histogram
// is {"bounds", "counts", "sum"}. It has one more count than bounds, for values above the last
// bound. Null = not known; kAbsent = this server does not have the figure.
using Value = nlohmann::json;
using Getter = std::function<Value(const ServerStatus&)>;
inline const Value kAbsent = Value(Value::value_t::discarded);

struct FigureValue {
  // The value of the first label; empty = `get` makes the labels, or there are none.
  std::string label;
  Getter get;
  Shown shown = {};
};

// One row of the table. Value type, thread-compatible.
struct Figure {
  std::string name;  // the name of the metric; empty = no metric
  FigureType type = FigureType::kGauge;
  std::vector<std::string> labels;
  std::string text;  // the description in Markdown
  std::vector<FigureValue> values;
};

// A section of docs/metrics.md. Value type, thread-compatible.
struct FigureSection {
  std::string heading;
  std::vector<Figure> figures;
  bool from_start = false;  // also shown while the server starts
  bool cluster = false;     // only for servers of a cluster, with the cluster's name as a label
};

// All sections in the order of the document. Thread-safe.
[[nodiscard]] const std::vector<FigureSection>& AllFigures();
// Makes the JSON of /status.json and the console. `starting` = the server does not serve yet.
[[nodiscard]] Value FiguresJson(const ServerStatus& status, bool starting = false);
void ToProto(const ServerStatus& status, v1::GetStatisticsResponse* out);
// Adds one field of another server's message to the sum.
void MergeField(const google::protobuf::FieldDescriptor* field, Merge merge,
                const google::protobuf::Message& other, google::protobuf::Message* sum);
// Adds all figures of another server to the sum, except those with Merge::kApart.
void MergeFigures(const v1::GetStatisticsResponse& other, v1::GetStatisticsResponse* sum);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FIGURE_H_
