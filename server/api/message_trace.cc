#include "server/api/message_trace.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "server/logs/loggers.h"

namespace freshet {
namespace {

std::string Micros(Instant from, Instant to) {
  return std::to_string(std::max<int64_t>(0, (to - from).micros()));
}

}  // namespace

MessageTrace::MessageTrace(Clock& clock, std::string_view method, std::string request_id)
    : BatchTrace(clock),
      method_(method),
      request_id_(std::move(request_id)),
      received_(clock.Now()) {}

void MessageTrace::Finish(uint64_t sequence, const BatchCounts& counts) const {
  const Instant answered = clock().Now();
  const Instant sent = this->sent();
  const std::vector<ShardSpan> spans = this->spans();
  LogFields fields = {{"method", std::string(method_)},
                      {"sequence", std::to_string(sequence)},
                      {"items", std::to_string(counts.refused + counts.unrefused)},
                      {"refused", std::to_string(counts.refused)},
                      {"total_us", Micros(received_, answered)}};
  if (!sent.is_none()) fields.emplace_back("receive_us", Micros(received_, sent));
  // The answer had to wait for the slowest shard.
  const auto last = std::max_element(
      spans.begin(), spans.end(),
      [](const ShardSpan& a, const ShardSpan& b) { return a.times.installed < b.times.installed; });
  if (last != spans.end()) {
    const TurnTimes& times = last->times;
    // A shard may have taken its events in several parts.
    std::set<uint16_t> shards;
    size_t events = 0;
    for (const ShardSpan& span : spans) {
      shards.insert(span.shard);
      if (span.shard == last->shard) events += span.events;
    }
    const std::pair<std::string_view, std::string> more[] = {
        {"queue_us", Micros(sent, times.begun)},
        {"read_us", Micros(times.begun, times.read)},
        {"step_us", Micros(times.read, times.stepped)},
        {"commit_us", Micros(times.stepped, times.committed)},
        {"install_us", Micros(times.committed, times.installed)},
        {"answer_us", Micros(times.installed, answered)},
        {"shards", std::to_string(shards.size())},
        {"last_shard", std::to_string(last->shard)},
        {"events", std::to_string(events)},
        {"turn_events", std::to_string(last->turn_events)}};
    fields.insert(fields.end(), std::begin(more), std::end(more));
  }
  const ScopedRequestId scope(request_id_);
  LogWith(LogModule::kApi, spdlog::level::info, "trace", std::move(fields));
}

std::shared_ptr<MessageTrace> Tracer::Sample(std::string_view method,
                                             const std::string& request_id) {
  const double share = share_;
  if (share <= 0) return nullptr;
  const auto before = static_cast<double>(messages_.fetch_add(1, std::memory_order_relaxed));
  // A message is traced whenever the number of messages so far, multiplied by the share, reaches
  // the next whole number.
  if (std::floor((before + 1) * share) == std::floor(before * share)) return nullptr;
  return std::make_shared<MessageTrace>(clock_, method, request_id);
}

}  // namespace freshet
