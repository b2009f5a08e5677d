// The table of all figures of a server: names, descriptions, sources, how figures of several shards
// and servers are merged, and where they are shown. The metrics, /status.json, the console, its
// plots, GetStatistics and docs/metrics.md are made from it.
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
  kUsual,  // numbers are added; other values: the first that is set
  kMost,
  kApart,  // merged with other figures in fleet_sums.cc
};

// The places of a figure besides the metrics; empty = none. A figure with labels names the place of
// all its values: "results" means results.changed and so on in the JSON, and "ingest.results_"
// means ingest.results_changed. Value type, thread-compatible.
struct Shown {
  std::string json = "";   // the name in /status.json and the console: "index.picks"
  std::string field = "";  // the field of GetStatisticsResponse: "ingest.signals_stale"
  std::string plot = "";   // series of the history; a counter is plotted by its rise per second
  Merge merge = Merge::kUsual;
};

// The value of a figure: a number, a text or a list. Values of labels are members of an object,
// which holds numbers or further labels. Histograms are {"bounds", "counts", "sum"}, with one more
// count than bounds, for larger values. Null = not known; kAbsent = this server has no such figure.
using Value = nlohmann::json;
using Getter = std::function<Value(const ServerStatus&)>;
inline const Value kAbsent = Value(Value::value_t::discarded);

struct FigureValue {
  std::string label;  // value of the first label; empty = `get` says it, or there is none
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
  bool cluster = false;     // only for servers of a cluster, with its name as a label
};

// All sections in the order of the document. Thread-safe.
[[nodiscard]] const std::vector<FigureSection>& AllFigures();
// Makes the JSON of /status.json and the console; `starting`: for a server that does not serve yet.
[[nodiscard]] Value FiguresJson(const ServerStatus& status, bool starting = false);
void ToProto(const ServerStatus& status, v1::GetStatisticsResponse* out);
// Adds one field of another server's message to the sum.
void MergeField(const google::protobuf::FieldDescriptor* field, Merge merge,
                const google::protobuf::Message& other, google::protobuf::Message* sum);
// Adds all figures of another server, except those with Merge::kApart.
void MergeFigures(const v1::GetStatisticsResponse& other, v1::GetStatisticsResponse* sum);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FIGURE_H_
