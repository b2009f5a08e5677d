#include "server/forward/division_peers.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "server/base/reporting.h"
#include "server/config.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

// The interval of rounds of AttendCalls. Each round handles calls that wait for a connection. Every
// kRoundsOfWaiting-th round handles all calls.
constexpr Duration kAttendEvery = Duration::Millis(50);
constexpr uint64_t kRoundsOfWaiting = 10;
constexpr Duration kFindEvery = Duration::Millis(500);
constexpr size_t kSearchesAtATime = 16;
// An idle call is ended after this time, to make room for others. This also ends a stream of
// signals, so a poll that continues later counts as two polls in the other division.
constexpr Duration kIdle = Duration::Seconds(60);

class Handle final : public DivisionCall {
 public:
  explicit Handle(std::shared_ptr<PeerCall> call) : call_(std::move(call)) {}
  ~Handle() override { call_->Close(); }
  void Send(const grpc::ByteBuffer& message, Answered answered, uint64_t client) override {
    call_->Send(message, std::move(answered), client);
  }

 private:
  const std::shared_ptr<PeerCall> call_;
};

}  // namespace

DivisionPeers::DivisionPeers(const ServerConfig& config, Door& door, Clock& clock, Find find,
                             Duration patience)
    : config_(config),
      door_(door),
      clock_(clock),
      find_(std::move(find)),
      patience_(patience),
      attender_(std::make_unique<Ticker>(kAttendEvery, [this] { AttendCalls(); })),
      finder_(std::make_unique<Ticker>(kFindEvery, [this] { FindAll(); })) {}

std::unique_ptr<DivisionCall> DivisionPeers::Open(uint32_t division, std::string_view path,
                                                  const ShownByClient& client) {
  ShownByClient shown = client;
  shown.sent_on = true;
  auto call = std::make_shared<PeerCall>(static_cast<PeerCalls&>(*this), division,
                                         std::string(path), std::move(shown));
  bool stopped = false;
  {
    const MutexLock lock(mutex_);
    calls_.insert(call);
    (void)PeerOf(division);
    stopped = stopped_;
  }
  if (stopped) call->Stop();
  return std::make_unique<Handle>(std::move(call));
}

void DivisionPeers::Stop() {
  std::set<CallPtr> calls;
  {
    const MutexLock lock(mutex_);
    if (std::exchange(stopped_, true)) return;
    calls = calls_;
  }
  attender_->Stop();
  finder_->Stop();
  for (const CallPtr& call : calls) call->Stop();
  const MutexLock lock(mutex_);
  while (!calls_.empty()) over_.Wait(mutex_);
}

// --- Who serves

bool DivisionPeers::IsServed(uint32_t division) {
  const MutexLock lock(mutex_);
  // PeerOf adds the division, so that FindAll begins to search for its server.
  return !stopped_ && PeerOf(division).serves.has_value();
}

void DivisionPeers::AttendCalls() {
  struct State {
    uint64_t serving = 0;  // 0 = no server
    bool away = false;
  };
  const Instant now = clock_.Now();
  std::vector<CallPtr> calls;
  std::map<uint32_t, State> states;
  {
    const MutexLock lock(mutex_);
    const std::set<CallPtr>& these = rounds_++ % kRoundsOfWaiting == 0 ? calls_ : unconnected_;
    calls.assign(these.begin(), these.end());
    for (const auto& [division, peer] : peers_) {
      states[division] = {.serving = peer.serves ? peer.serving : 0,
                          .away = now - peer.tried < kHurriedPatience &&
                                  peer.tried - peer.lost >= kHurriedPatience};
    }
  }
  for (const CallPtr& call : calls) {
    const State& state = states[call->division()];
    call->Attend(call->hurried() && state.away ? now : now - patience_, now - kIdle, state.serving);
  }
}

void DivisionPeers::FindAll() {
  std::vector<uint32_t> divisions;
  {
    const MutexLock lock(mutex_);
    for (const auto& [division, peer] : peers_) divisions.push_back(division);
  }
  if (divisions.size() == 1) return FindOne(divisions.front());
  // Divisions are searched in parallel, so that a broker that does not answer delays few of them.
  std::vector<std::function<void()>> searches(std::min(divisions.size(), kSearchesAtATime));
  for (size_t i = 0; i < searches.size(); ++i) {
    searches[i] = [this, &divisions, first = i, step = searches.size()] {
      for (size_t at = first; at < divisions.size(); at += step) FindOne(divisions[at]);
    };
  }
  RunReporting(searches, kReportInterval, nullptr);
}

void DivisionPeers::FindOne(uint32_t division) {
  StatusOr<std::optional<ServingPeer>> found = find_(division);
  const MutexLock lock(mutex_);
  // If the search failed, Kafka is down, so no other server can have begun to serve.
  if (stopped_ || !found.ok() || *found == PeerOf(division).serves) return;
  TakeOver(division, *std::move(found));
}

void DivisionPeers::TakeOver(uint32_t division, std::optional<ServingPeer> serves) {
  Peer& peer = PeerOf(division);
  peer.serves = std::move(serves);
  if (!peer.serves) return spdlog::info("no server serves division {}: its items wait", division);
  ++peer.serving;
  peer.lines.Drop([](const PeerLine&) { return true; });
  spdlog::info("items of division {} go to {}", division, peer.serves->address);
}

// --- PeerCalls

std::optional<PeerLink> DivisionPeers::Connect(const CallPtr& call) {
  const MutexLock lock(mutex_);
  Peer& peer = PeerOf(call->division());
  std::optional<PeerLink> link = FindLink(peer);
  if (link) {
    unconnected_.erase(call);
    peer.tried = Instant();
  } else {
    unconnected_.insert(call);
    const Instant now = clock_.Now();
    if (now - peer.tried >= kHurriedPatience) peer.lost = now;
    peer.tried = now;
  }
  return link;
}

std::optional<PeerLink> DivisionPeers::FindLink(Peer& peer) {
  if (stopped_ || !peer.serves) return std::nullopt;
  const StatusOr<PeerLine*> found = peer.lines.Find(*peer.serves);
  if (!found.ok()) {
    if (!absl::IsResourceExhausted(found.status())) {
      spdlog::error("no items can be sent to other divisions: {}",
                    std::string(found.status().message()));
    }
    return std::nullopt;
  }
  PeerLine* const line = *found;
  // A call on a connection that is not ready would hold its message, which could then not be sent
  // over another connection.
  if (line->channel->GetState(/*try_to_connect=*/true) != GRPC_CHANNEL_READY) {
    return std::nullopt;
  }
  ++line->calls;
  return PeerLink{.channel = line->channel, .key = peer.serves->key, .serving = peer.serving};
}

void DivisionPeers::Release(const PeerCall& call, const PeerLink& link) {
  const MutexLock lock(mutex_);
  for (const auto& line : PeerOf(call.division()).lines.all()) {
    if (line->channel == link.channel) --line->calls;
  }
}

bool DivisionPeers::Hold(size_t bytes) {
  const MutexLock lock(mutex_);
  if (held_bytes_ >= static_cast<size_t>(config_.max_unacked_bytes)) return false;
  held_bytes_ += bytes;
  return true;
}

void DivisionPeers::Free(size_t bytes) {
  const MutexLock lock(mutex_);
  held_bytes_ -= bytes;
}

void DivisionPeers::OnOver(const CallPtr& call) {
  const MutexLock lock(mutex_);
  unconnected_.erase(call);
  calls_.erase(call);
  if (calls_.empty()) over_.NotifyAll();
}

}  // namespace freshet
