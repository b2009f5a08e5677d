#include "server/forward/call_forwarder.h"

#include <utility>

#include "fmt/format.h"
#include "server/api/faults.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

constexpr Duration kLookEvery = Duration::Millis(500);
// Calls that are told so end at once; a client that does not listen holds nobody up.
constexpr Duration kStopPatience = Duration::Millis(300);
constexpr Duration kListenPatience = Duration::Seconds(2);

grpc::Status Unavailable(const char* why) { return {grpc::StatusCode::UNAVAILABLE, why}; }

constexpr const char* kUnreached = "the server that serves cannot be reached: try again";
constexpr const char* kReplaced = "another server of the cluster serves now: try again";
constexpr const char* kStopping = "this server begins to serve, or stops: try again";

grpc::Status TooSilent() {
  return {grpc::StatusCode::RESOURCE_EXHAUSTED,
          "too many calls that were opened later have said nothing either: send the first message "
          "at once, or try again later"};
}
Status TooMuchHeld() {
  return MakeStatus(absl::StatusCode::kResourceExhausted,
                    "this client has more messages waiting for the server that serves than its "
                    "share: send less at a time, or try again later");
}
grpc::Status TooSlow() {
  return {
      grpc::StatusCode::RESOURCE_EXHAUSTED,
      "a message of this call was not taken in time, and others need its room: try again later"};
}

}  // namespace

CallForwarder::CallForwarder(const ServerConfig& config, Door& door, Clock& clock,
                             ForwardCounters& counters, Find find, ForwardOptions options)
    : config_(config),
      door_(door),
      clock_(clock),
      counters_(counters),
      find_(std::move(find)),
      options_(std::move(options)),
      lines_(config, door) {}

Status CallForwarder::Start(std::function<void(bool)> tell) {
  // What cannot be is said now rather than to the first client.
  RETURN_IF_ERROR(ConnectTo({.address = config_.listen, .key = ""}, config_, door_).status());
  tell_ = std::move(tell);
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
    for (const auto& [number, call] : std::exchange(silent_, {})) {
      steps.refuse.push_back({call, Unavailable(kStopping)});
    }
    for (const auto& [call, since] : std::exchange(waiting_, {})) {
      Forget(call);
      steps.refuse.push_back({call, Unavailable(options_.nobody)});
    }
    DropLines([](const PeerLine&) { return true; }, kStopping, &steps);
  }
  if (tell_) tell_(false);
  Perform(steps);
  AwaitEnd();
  Steps rest;
  {
    const MutexLock lock(mutex_);
    for (const auto& [call, route] : calls_) rest.cut.push_back(call);
  }
  Perform(rest);
  AwaitEnd();
}

void CallForwarder::AwaitEnd() {
  const MutexLock lock(mutex_);
  if (!calls_.empty()) over_.WaitFor(mutex_, kStopPatience.chrono());
}

// --- Calls

grpc::ServerGenericBidiReactor* CallForwarder::Take(grpc::GenericCallbackServerContext& context) {
  const auto call = std::make_shared<ForwardedCall>(static_cast<ForwardedCalls&>(*this),
                                                    door_.authoriser(), context, ++last_number_);
  call->Begin();
  ++counters_.open;
  if (!context.method().starts_with(options_.only)) {
    Refuse(call, {grpc::StatusCode::UNIMPLEMENTED, ""});
    return call.get();
  }
  if (call->on_behalf() && !options_.on_behalf) {
    Refuse(call, Unavailable(options_.nobody));
    return call.get();
  }
  // Past the limit the server that serves would end the connection, with the calls of all others.
  if (const size_t bytes = call->metadata_bytes();
      bytes > static_cast<size_t>(config_.max_metadata_bytes)) {
    Refuse(call, {grpc::StatusCode::RESOURCE_EXHAUSTED,
                  fmt::format("metadata: has {} bytes once it is passed on, and at most {} are "
                              "passed on",
                              bytes, config_.max_metadata_bytes)});
    return call.get();
  }
  CallPtr outdone;
  bool stopped = false;
  {
    const MutexLock lock(mutex_);
    stopped = stopped_;
    if (!stopped) silent_.emplace(call->number(), call);
    if (silent_.size() > static_cast<size_t>(config_.max_streams)) {
      outdone = silent_.extract(silent_.begin()).mapped();
    }
  }
  if (stopped) {
    Refuse(call, Unavailable(kStopping));
  } else {
    call->Listen();
  }
  if (outdone != nullptr) Refuse(outdone, TooSilent());
  return call.get();
}

StatusOr<CallForwarder::ToConnect> CallForwarder::Admit(const CallPtr& call, size_t bytes) {
  RETURN_IF_ERROR(CheckRoom(call->client()));
  const Instant now = clock_.Now();
  if (!held_.Hold(call, bytes, most_bytes(), now)) return TooMuchHeld();
  StatusOr<ToConnect> connect = ToConnect();
  if (peer_) {
    connect = Assign(call);
  } else {
    waiting_.emplace(call, now);
  }
  if (connect.ok()) ++by_client_[call->client()];
  return connect;
}

Status CallForwarder::CheckRoom(const std::string& client) const {
  const size_t all = waiting_.size() + calls_.size();
  if (all >= static_cast<size_t>(config_.max_streams)) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "{} calls are forwarded, the most that this server takes: end some, or try "
                      "again later",
                      all);
  }
  const auto of_client = by_client_.find(client);
  if (of_client != by_client_.end() &&
      of_client->second >= static_cast<size_t>(config_.max_streams_per_client)) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "{} calls of this client are forwarded, the most that one may have: end "
                      "some, or try again later",
                      of_client->second);
  }
  return absl::OkStatus();
}

void CallForwarder::Forget(const CallPtr& call) {
  const auto of_client = by_client_.find(call->client());
  if (--of_client->second == 0) by_client_.erase(of_client);
}

StatusOr<CallForwarder::ToConnect> CallForwarder::Assign(const CallPtr& call) {
  StatusOr<PeerLine*> line = lines_.Find(*peer_);
  if (absl::IsResourceExhausted(line.status())) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "{} calls are forwarded, the most that the connections to the server that "
                      "serves take: end some, or try again later",
                      calls_.size());
  }
  if (!line.ok()) {
    spdlog::error("no calls can be forwarded: {}", std::string(line.status().message()));
    return MakeStatus(absl::StatusCode::kUnavailable, "{}", kUnreached);
  }
  if ((*line)->calls++ == 0) (*line)->connected = clock_.Now();
  calls_.emplace(call, Route{.line = *line});
  return ToConnect{.call = call, .channel = (*line)->channel, .key = peer_->key};
}

void CallForwarder::Perform(const Steps& steps) {
  for (const auto& [call, why] : steps.refuse) Refuse(call, why);
  for (const auto& [call, why] : steps.drop) {
    ++counters_.dropped;
    call->Drop(why);
  }
  for (const auto& [call, why] : steps.outdo) {
    ++counters_.refused;
    call->Drop(why);
  }
  for (const CallPtr& call : steps.cut) call->Cut();
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
    // While Kafka is away nobody else can have begun to serve.
    if (found.ok() && *found != peer_) TakeOver(*std::move(found), &steps);
    const Instant now = clock_.Now();
    GiveUpOnWaiting(now, &steps);
    GiveUpOnLines(now, &steps);
    GiveUpOnClients(now, &steps);
    GiveUpOnMessages(now, &steps);
    serving = peer_.has_value();
  }
  tell_(serving);
  Perform(steps);
}

void CallForwarder::TakeOver(std::optional<ServingPeer> peer, Steps* steps) {
  peer_ = std::move(peer);
  // What the former one has it may still bring to its end.
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
      Forget(call);
      steps->refuse.push_back({call, Unavailable(options_.nobody)});
    }
  }
}

void CallForwarder::DropLines(const std::function<bool(const PeerLine&)>& of_these, const char* why,
                              Steps* steps) {
  const Instant now = clock_.Now();
  for (auto& [call, route] : calls_) {
    if (route.line == nullptr || !of_these(*route.line)) continue;
    route = {.line = nullptr, .dropped = now};
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
    Forget(it->first);
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
  // The next one shows what the files have then.
  DropLines([&](const PeerLine& line) { return now - line.connected >= options_.patience; },
            kUnreached, steps);
}

void CallForwarder::GiveUpOnClients(Instant now, Steps* steps) {
  for (const auto& [call, route] : calls_) {
    if (route.dropped && now - *route.dropped >= kListenPatience) steps->cut.push_back(call);
  }
}

void CallForwarder::GiveUpOnMessages(Instant now, Steps* steps) {
  for (const CallPtr& call : held_.Stuck(now - options_.pass_patience)) {
    const auto it = calls_.find(call);
    // What waits for somebody to serve has a patience of its own.
    if (it == calls_.end() || it->second.dropped) continue;
    it->second.dropped = now;
    steps->outdo.push_back({call, TooSlow()});
  }
}

// --- ForwardedCalls

void CallForwarder::OnSpoken(const CallPtr& call, size_t bytes) {
  StatusOr<ToConnect> connect = ToConnect();
  {
    const MutexLock lock(mutex_);
    if (silent_.erase(call->number()) == 0) return;
    connect = Admit(call, bytes);
  }
  if (!connect.ok()) {
    Refuse(call, GrpcStatusOf(connect.status()));
  } else if (connect->call != nullptr) {
    Perform({.connect = {*std::move(connect)}});
  }
}

bool CallForwarder::MayRead(const CallPtr& call) {
  const MutexLock lock(mutex_);
  return held_.MayRead(call, most_bytes());
}

grpc::Status CallForwarder::Hold(const CallPtr& call, size_t bytes) {
  const MutexLock lock(mutex_);
  return held_.Hold(call, bytes, most_bytes(), clock_.Now()) ? grpc::Status::OK
                                                             : GrpcStatusOf(TooMuchHeld());
}

void CallForwarder::Release(const CallPtr& call) {
  std::vector<CallPtr> read_on;
  {
    const MutexLock lock(mutex_);
    held_.Release(call);
    read_on = held_.TakeReady(most_bytes());
  }
  for (const CallPtr& other : read_on) other->ReadOn();
}

void CallForwarder::OnClientGone(const CallPtr& call) {
  {
    const MutexLock lock(mutex_);
    if (waiting_.erase(call) > 0) {
      Forget(call);
    } else if (silent_.erase(call->number()) == 0) {
      return;
    }
  }
  call->Refuse(grpc::Status::CANCELLED);
}

void CallForwarder::OnOver(const CallPtr& call) {
  --counters_.open;
  std::vector<CallPtr> read_on;
  {
    const MutexLock lock(mutex_);
    held_.Forget(call);
    read_on = held_.TakeReady(most_bytes());
    if (const auto it = calls_.find(call); it != calls_.end()) {
      Forget(call);
      if (it->second.line != nullptr) --it->second.line->calls;
      calls_.erase(it);
      if (calls_.empty()) over_.NotifyAll();
    }
  }
  for (const CallPtr& other : read_on) other->ReadOn();
}

}  // namespace freshet
