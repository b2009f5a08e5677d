#include "server/api/call_stats.h"

#include <algorithm>

#include "core/base/check.h"
#include "server/auth/methods.h"

namespace freshet {
namespace {

constexpr std::array<std::string_view, 17> kCodeNames = {
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

constexpr std::memory_order kRelaxed = std::memory_order_relaxed;

// The gRPC methods of the table, without the leading slash.
std::vector<std::string_view> GrpcPaths() {
  std::vector<std::string_view> paths;
  for (const MethodRule& rule : AllMethods()) {
    if (rule.path.front() == '/') paths.push_back(rule.path.substr(1));
  }
  return paths;
}

}  // namespace

CallStats::CallStats() : methods_(GrpcPaths().size() + 1) {
  methods_.back().name = "other";
  const std::vector<std::string_view> paths = GrpcPaths();
  for (Method method = 0; method < paths.size(); ++method) {
    const std::string_view path = paths[method];
    const size_t slash = path.find('/');
    const size_t dot = path.rfind('.', slash);
    CHECK(slash != std::string_view::npos && dot < slash, "{} is no method", path);
    methods_[method].name = path;
    by_path_[path] = method;
    by_name_[{path.substr(0, dot), path.substr(slash + 1)}] = method;
  }
}

CallStats::Method CallStats::Find(std::string_view path) const {
  const auto it = path.empty() ? by_path_.end() : by_path_.find(path.substr(1));
  return it == by_path_.end() ? methods_.size() - 1 : it->second;
}

CallStats::Method CallStats::Find(std::string_view package, std::string_view name) const {
  const auto it = by_name_.find(std::pair(package, name));
  return it == by_name_.end() ? methods_.size() - 1 : it->second;
}

const std::vector<double>& CallStats::Bounds(CallKind kind) {
  static const auto* const kUnary =
      new std::vector<double>{0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30};
  static const auto* const kStream =
      new std::vector<double>{0.01, 0.1, 1, 10, 60, 300, 1800, 3600, 10800, 43200, 86400};
  const std::vector<double>& bounds = kind == CallKind::kUnary ? *kUnary : *kStream;
  CHECK(bounds.size() == kBounds);
  return bounds;
}

void CallStats::Begin(Method method, CallKind kind) {
  OfMethod& its = methods_[method];
  its.kind.store(kind, kRelaxed);
  its.begun.fetch_add(1, kRelaxed);
}

void CallStats::End(Method method, grpc::StatusCode code, Duration took) {
  OfMethod& its = methods_[method];
  const auto number = static_cast<size_t>(code);
  // Codes that gRPC does not define count as UNKNOWN.
  Ended& ended = its.by_code[number < kCodes ? number : size_t{grpc::StatusCode::UNKNOWN}];
  const std::vector<double>& bounds = Bounds(its.kind.load(kRelaxed));
  const auto bound = std::lower_bound(bounds.begin(), bounds.end(), took.seconds());
  ended.by_bound[static_cast<size_t>(bound - bounds.begin())].fetch_add(1, kRelaxed);
  ended.micros.fetch_add(static_cast<uint64_t>(std::max<int64_t>(0, took.micros())), kRelaxed);
  its.ended.fetch_add(1, kRelaxed);
}

CallFigures CallStats::figures() const {
  CallFigures figures;
  for (const OfMethod& its : methods_) {
    const CallKind kind = its.kind.load(kRelaxed);
    // `ended` is read before `begun`. So a call that ends between the two reads cannot make the
    // difference negative.
    const uint64_t over = its.ended.load(kRelaxed);
    const uint64_t begun = its.begun.load(kRelaxed);
    if (begun == 0) continue;
    figures.methods.push_back({.method = its.name,
                               .kind = kind,
                               .open = begun - std::min(begun, over),
                               .received = its.received.load(kRelaxed),
                               .sent = its.sent.load(kRelaxed)});
    for (size_t code = 0; code < kCodes; ++code) {
      const Ended& ended = its.by_code[code];
      EndedCalls out;
      uint64_t total = 0;
      for (const auto& count : ended.by_bound) total += out.by_bound.emplace_back(count);
      if (total == 0) continue;
      out.method = its.name;
      out.kind = kind;
      out.code = kCodeNames[code];
      out.seconds = static_cast<double>(ended.micros.load(kRelaxed)) * 1e-6;
      figures.ended.push_back(std::move(out));
    }
  }
  const auto by_name = [](const auto& a, const auto& b) { return a.method < b.method; };
  std::stable_sort(figures.methods.begin(), figures.methods.end(), by_name);
  std::stable_sort(figures.ended.begin(), figures.ended.end(), by_name);
  return figures;
}

CallWatch::CallWatch(CallStats& stats, Clock& clock, CallStats::Method method, CallKind kind)
    : stats_(stats), clock_(clock), method_(method), begun_(clock.Now()) {
  stats_.Begin(method_, kind);
}

void CallWatch::End(grpc::StatusCode code) {
  if (ended_.exchange(true)) return;
  stats_.End(method_, code, clock_.Now() - begun_);
}

}  // namespace freshet
