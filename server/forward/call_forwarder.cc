#include "server/forward/call_forwarder.h"

#include <utility>

#include "fmt/format.h"
#include "server/api/faults.h"
#include "server/config.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

constexpr Duration kLookEvery = Duration::Millis(500);
// How long Stop waits for calls to end. Calls end at once, except calls whose clients do not read,
// and these must not delay the stop.
constexpr Duration kStopPatience = Duration::Millis(300);

grpc::Status Unavailable(const char* why) { return {grpc::StatusCode::UNAVAILABLE, why}; }

constexpr const char* kUnreached = "the server that serves cannot be reached: try again";
constexpr const char* kReplaced = "another server of the cluster serves now: try again";
constexpr const char* kStopping = "this server begins to serve, or stops: try again";

}  // namespace

CallForwarder::CallForwarder(const ServerConfig& config, Door& door, Clock& clock,
                             ForwardCounters& counters, Find find, ForwardOptions options)
    : config_(config),
      door_(door),
      clock_(clock),
      counters_(counters),
      find_(std::move(find)),
      options_(std::move(options)),
      lines_(config, door),
      streams_(Limits()) {}

StreamLimits CallForwarder::Limits() const {
  return {.streams = static_cast<size_t>(config_.max_streams.get()),
          .streams_per_client = static_cast<size_t>(config_.max_streams_per_client.get()),
          .unacked_bytes = static_cast<size_t>(config_.max_unacked_bytes.get())};
}

Status CallForwarder::Start(std::function<void(bool)> tell,
                            std::function<void(const std::set<Peer>&)> cut) {
  // This check reports a wrong address or key at the start, instead of to the first client.
  RETURN_IF_ERROR(ConnectTo({.address = config_.listen, .key = ""}, config_, door_).status());
  tell_ = std::move(tell);
  cut_ = std::move(cut);
  tell_(false);
  ticker_ = std::make_unique<Ticker>(kLookEvery, [this] { Look(); });
  return absl::OkStatus();
}

void CallForwarder::Stop() {
  if (ticker_ != nullptr) ticker_->Stop();
  Steps steps;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    for (const auto& [call, since] : std::exchange(waiting_, {})) {
      steps.refuse.push_back({call, Unavailable(options_.nobody)});
    }
    DropLines([](const PeerLine&) { return true; }, kStopping, &steps);
  }
  if (tell_) tell_(false);
  streams_.DismissSilent(Unavailable(kStopping));
  Perform(steps);
  AwaitEnd();
  std::vector<CallPtr> rest;
  {
    const MutexLock lock(mutex_);
    for (const auto& [call, line] : calls_) rest.push_back(call);
  }
  for (const CallPtr& call : rest) call->Cut();
  AwaitEnd();
}

void CallForwarder::AwaitEnd() {
  const MutexLock lock(mutex_);
  if (!calls_.empty()) over_.WaitFor(mutex_, kStopPatience.chrono());
}

// --- Calls

grpc::ServerGenericBidiReactor* CallForwarder::Take(grpc::GenericCallbackServerContext& context) {
  const ForwardPatience patience = {.with_server = options_.pass_patience,
                                    .with_client = config_.list_write_timeout};
  const auto call = std::make_shared<ForwardedCall>(static_cast<ForwardedCalls&>(*this), streams_,
                                                    door_.authoriser(), patience, context);
  call->Begin();
  ++counters_.open;
  if (streams_.Add(call)) ++counters_.refused;
  if (!context.method().starts_with(options_.only)) {
    Refuse(call, {grpc::StatusCode::UNIMPLEMENTED, ""});
    return call.get();
  }
  if (call->on_behalf() && !options_.on_behalf) {
    Refuse(call, Unavailable(options_.nobody));
    return call.get();
  }
  // The serving server would answer metadata above its limit by closing the connection, which would
  // end the calls of all clients.
  if (const size_t bytes = call->metadata_bytes();
      bytes > static_cast<size_t>(config_.max_metadata_bytes)) {
    Refuse(call, {grpc::StatusCode::RESOURCE_EXHAUSTED,
                  fmt::format("metadata: the call would have {} bytes of metadata when forwarded "
                              "to another server; at most {} are allowed",
                              bytes, config_.max_metadata_bytes)});
    return call.get();
  }
  bool stopped = false;
  {
    const MutexLock lock(mutex_);
    stopped = stopped_;
  }
  if (stopped) {
    Refuse(call, Unavailable(kStopping));
  } else {
    call->Listen();
  }
  return call.get();
}

StatusOr<CallForwarder::ToConnect> CallForwarder::Assign(const CallPtr& call) {
  StatusOr<PeerLine*> line = lines_.Find(*peer_);
  if (absl::IsResourceExhausted(line.status())) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "this server already forwards {} calls to the active server, the maximum: "
                      "end some streams, or try again later",
                      calls_.size());
  }
  if (!line.ok()) {
    spdlog::error("no calls can be forwarded: {}", std::string(line.status().message()));
    return MakeStatus(absl::StatusCode::kUnavailable, "{}", kUnreached);
  }
  if ((*line)->calls++ == 0) (*line)->connected = clock_.Now();
  calls_.emplace(call, *line);
  return ToConnect{.call = call, .channel = (*line)->channel, .key = peer_->key};
}

void CallForwarder::Perform(const Steps& steps) {
  for (const auto& [call, why] : steps.refuse) Refuse(call, why);
  for (const auto& [call, why] : steps.drop) {
    ++counters_.dropped;
    call->Drop(why);
  }
  for (const auto& [call, channel, key] : steps.connect) {
    ++counters_.forwarded;
    call->Connect(channel, key);
  }
}

void CallForwarder::Refuse(const CallPtr& call, const grpc::Status& status) {
  ++counters_.refused;
  call->Refuse(status);
}

// --- Who serves

void CallForwarder::Look() {
  StatusOr<std::optional<ServingPeer>> found = find_();
  Steps steps;
  bool serving = false;
  {
    const MutexLock lock(mutex_);
    // If the search failed, Kafka is down, so no other server can have begun to serve.
    if (found.ok() && *found != peer_) TakeOver(*std::move(found), &steps);
    const Instant now = clock_.Now();
    GiveUpOnWaiting(now, &steps);
    GiveUpOnLines(now, &steps);
    serving = peer_.has_value();
  }
  tell_(serving);
  Perform(steps);
  streams_.SetLimits(Limits());
  cut_(streams_.Look(clock_.Now()));
}

void CallForwarder::TakeOver(std::optional<ServingPeer> peer, Steps* steps) {
  peer_ = std::move(peer);
  // The lines stay, because the former server may still finish its calls.
  if (!peer_) return spdlog::info("no server of the cluster serves: {} wait", options_.name);
  if (peer_ != former_) {
    DropLines([](const PeerLine&) { return true; }, kReplaced, steps);
    former_ = peer_;
  }
  spdlog::info("{} are forwarded to {}", options_.name, peer_->address);
  for (const auto& [call, since] : std::exchange(waiting_, {})) {
    StatusOr<ToConnect> connect = Assign(call);
    if (connect.ok()) {
      steps->connect.push_back(*std::move(connect));
    } else {
      steps->refuse.push_back({call, Unavailable(options_.nobody)});
    }
  }
}

void CallForwarder::DropLines(const std::function<bool(const PeerLine&)>& of_these, const char* why,
                              Steps* steps) {
  for (auto& [call, line] : calls_) {
    if (line == nullptr || !of_these(*line)) continue;
    line = nullptr;
    steps->drop.push_back({call, Unavailable(why)});
  }
  lines_.Drop(of_these);
}

void CallForwarder::GiveUpOnWaiting(Instant now, Steps* steps) {
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (now - it->second < options_.patience) {
      ++it;
      continue;
    }
    steps->refuse.push_back({it->first, Unavailable(options_.nobody)});
    it = waiting_.erase(it);
  }
}

void CallForwarder::GiveUpOnLines(Instant now, Steps* steps) {
  for (const auto& line : lines_.all()) {
    const bool idle = line->calls == 0;
    if (idle || line->channel->GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_READY) {
      line->connected = now;
    }
  }
  // The next line will read the certificate files again.
  DropLines([&](const PeerLine& line) { return now - line.connected >= options_.patience; },
            kUnreached, steps);
}

// --- ForwardedCalls

void CallForwarder::OnSpoken(const CallPtr& call) {
  grpc::Status room = streams_.Admit(call);
  if (room.ok()) room = call->KeepMessage();
  if (!room.ok()) return Refuse(call, room);
  StatusOr<ToConnect> connect = ToConnect();
  {
    const MutexLock lock(mutex_);
    if (stopped_) {
      connect = MakeStatus(absl::StatusCode::kUnavailable, "{}", kStopping);
    } else if (peer_) {
      connect = Assign(call);
    } else {
      waiting_.emplace(call, clock_.Now());
    }
  }
  if (!connect.ok()) {
    Refuse(call, GrpcStatusOf(connect.status()));
  } else if (connect->call != nullptr) {
    Perform({.connect = {*std::move(connect)}});
  }
}

void CallForwarder::OnClientGone(const CallPtr& call) {
  {
    const MutexLock lock(mutex_);
    if (waiting_.erase(call) == 0) return;
  }
  call->Refuse(grpc::Status::CANCELLED);
}

void CallForwarder::OnOver(const CallPtr& call) {
  --counters_.open;
  streams_.Remove(call);
  const MutexLock lock(mutex_);
  const auto it = calls_.find(call);
  if (it == calls_.end()) return;
  if (it->second != nullptr) --it->second->calls;
  calls_.erase(it);
  if (calls_.empty()) over_.NotifyAll();
}

}  // namespace freshet
