#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "core/base/check.h"
#include "google/protobuf/util/time_util.h"
#include "server/api/figure.h"
#include "server/api/figure_makers.h"

namespace freshet {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::util::TimeUtil;

int64_t MicrosOf(const Value& seconds) { return std::llround(seconds.get<double>() * 1e6); }

// A field in a part of GetStatisticsResponse, such as "ingest.results_changed".
struct Place {
  const FieldDescriptor* part = nullptr;
  const FieldDescriptor* field = nullptr;
};

Place PlaceOf(const std::string& name) {
  const size_t dot = name.find('.');
  Place place;
  place.part = v1::GetStatisticsResponse::descriptor()->FindFieldByName(name.substr(0, dot));
  CHECK(place.part != nullptr, "{}: GetStatisticsResponse has no such part", name);
  place.field = place.part->message_type()->FindFieldByName(name.substr(dot + 1));
  CHECK(place.field != nullptr, "{}: the part has no such field", name);
  return place;
}

Message* PartIn(const Place& place, v1::GetStatisticsResponse* response) {
  return response->GetReflection()->MutableMessage(response, place.part);
}

void Set(const FieldDescriptor* field, const Value& value, Message* part) {
  const auto* fields = part->GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT64:
      return fields->SetUInt64(part, field, value.get<uint64_t>());
    case FieldDescriptor::CPPTYPE_UINT32:
      return fields->SetUInt32(part, field, value.get<uint32_t>());
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return fields->SetDouble(part, field, value.get<double>());
    case FieldDescriptor::CPPTYPE_BOOL:
      return fields->SetBool(part, field, value.get<bool>());
    case FieldDescriptor::CPPTYPE_STRING:
      return fields->SetString(part, field, value.get<std::string>());
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      Message* time = fields->MutableMessage(part, field);
      if (field->message_type() == google::protobuf::Timestamp::descriptor()) {
        time->CopyFrom(TimeUtil::MicrosecondsToTimestamp(MicrosOf(value)));
      } else {
        time->CopyFrom(TimeUtil::MicrosecondsToDuration(MicrosOf(value)));
      }
      return;
    }
    default:
      CHECK(false, "{}: no figure has this type", field->full_name());
  }
}

template <typename Visit>
void ForEachField(const Visit& visit) {
  for (const FigureSection& section : AllFigures()) {
    for (const Figure& figure : section.figures) {
      for (const FigureValue& value : figure.values) {
        if (!value.shown.field.empty()) visit(PlaceOf(value.shown.field), value);
      }
    }
  }
}

}  // namespace

Figure MakeFigure(FigureType type, const std::string& name, Values values, const Shown& shown,
                  std::string text) {
  Figure figure = {.name = name,
                   .type = type,
                   .labels = {},
                   .text = std::move(text),
                   .values = std::move(values.all)};
  if (const size_t brace = name.find('{'); brace != std::string::npos) {
    figure.name = name.substr(0, brace);
    figure.labels = absl::StrSplit(name.substr(brace + 1, name.size() - brace - 2), ',');
  }
  for (FigureValue& value : figure.values) {
    if (value.label.empty()) {
      value.shown = shown;
      continue;
    }
    if (!shown.json.empty()) value.shown.json = shown.json + "." + value.label;
    if (!shown.field.empty()) value.shown.field = shown.field + value.label;
  }
  return figure;
}

const std::vector<FigureSection>& AllFigures() {
  static const auto* const kFigures = new std::vector<FigureSection>{
      {.heading = "The server", .figures = StartingFigures(), .from_start = true},
      {.figures = ServingFigures()},
      {.heading = "The process", .figures = ProcessFigures(), .from_start = true},
      {.heading = "Clients", .figures = ConnectionsFigures()},
      {.figures = DoorFigures()},
      {.figures = CallsFigures()},
      {.heading = "The crawl-frontier API", .figures = CrawlFrontierFigures()},
      {.heading = "Handing out", .figures = HandingOutFigures()},
      {.figures = CrawlIdsFigures()},
      {.figures = LeasesFigures()},
      {.heading = "What the server receives", .figures = ReceivedFigures()},
      {.heading = "How late crawls are", .figures = LatenessFigures()},
      {.heading = "What is known", .figures = PagesFigures()},
      {.figures = LearnedFigures()},
      {.heading = "The store", .figures = CommitsFigures()},
      {.figures = ConditionFigures()},
      {.heading = "Clusters", .figures = ClusterFigures(), .from_start = true, .cluster = true},
      {.figures = FleetFigures(), .from_start = true, .cluster = true}};
  return *kFigures;
}

Value FiguresJson(const ServerStatus& status, bool starting) {
  Value out = Value::object();
  for (const FigureSection& section : AllFigures()) {
    if (starting && !section.from_start) continue;
    if (section.cluster && status.cluster.name.empty()) continue;
    for (const Figure& figure : section.figures) {
      for (const FigureValue& value : figure.values) {
        if (value.shown.json.empty()) continue;
        Value shown = value.get(status);
        if (shown.is_discarded()) continue;
        out[Value::json_pointer("/" + absl::StrReplaceAll(value.shown.json, {{".", "/"}}))] =
            std::move(shown);
      }
    }
  }
  return out;
}

void ToProto(const ServerStatus& status, v1::GetStatisticsResponse* out) {
  ForEachField([&](const Place& place, const FigureValue& figure) {
    const Value value = figure.get(status);
    if (!value.is_null()) Set(place.field, value, PartIn(place, out));
  });
}

void MergeField(const FieldDescriptor* field, Merge merge, const Message& other, Message* sum) {
  const auto* fields = sum->GetReflection();
  const auto made = [merge](auto a, auto b) {
    return merge == Merge::kMost ? std::max(a, b) : a + b;
  };
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT64:
      return fields->SetUInt64(
          sum, field, made(fields->GetUInt64(*sum, field), fields->GetUInt64(other, field)));
    case FieldDescriptor::CPPTYPE_UINT32:
      return fields->SetUInt32(
          sum, field, made(fields->GetUInt32(*sum, field), fields->GetUInt32(other, field)));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return fields->SetDouble(
          sum, field, made(fields->GetDouble(*sum, field), fields->GetDouble(other, field)));
    case FieldDescriptor::CPPTYPE_BOOL:
      return fields->SetBool(sum, field,
                             fields->GetBool(*sum, field) || fields->GetBool(other, field));
    case FieldDescriptor::CPPTYPE_STRING:
      if (fields->GetString(*sum, field).empty()) {
        fields->SetString(sum, field, fields->GetString(other, field));
      }
      return;
    default:  // the time of a start and the clock belong to one server
      return;
  }
}

void MergeFigures(const v1::GetStatisticsResponse& other, v1::GetStatisticsResponse* sum) {
  ForEachField([&](const Place& place, const FigureValue& figure) {
    if (figure.shown.merge == Merge::kApart) return;
    const Message& part = other.GetReflection()->GetMessage(other, place.part);
    MergeField(place.field, figure.shown.merge, part, PartIn(place, sum));
  });
}

}  // namespace freshet
