#include "server/api/stream_set.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/check.h"
#include "core/base/shares.h"
#include "fmt/format.h"
#include "server/api/faults.h"
#include "server/api/stream.h"
#include "server/base/next_after.h"

namespace freshet {
namespace {

// Unary calls come in bursts and end soon. This many may always be open, and half of them may come
// from one client.
constexpr size_t kLeastCalls = 1000;
// The number of waiting clients that are checked, in turn, when bytes are freed. Because of this
// limit, a message does not become more expensive when thousands of clients wait.
constexpr size_t kLookedAt = 64;
// Strangers have at most one of this many parts of the places.
constexpr size_t kPartOfStrangers = 8;
// Unary calls have numbers from here on, so that waiting streams continue before them.
constexpr uint64_t kFirstCall = uint64_t{1} << 63;

bool IsStream(const OpenCall& call) { return call.kind() == CallKind::kStream; }

grpc::Status ShuttingDown() {
  return {grpc::StatusCode::UNAVAILABLE, "the server is shutting down"};
}

// Dismisses `call`, the silent call that must make room; nullptr = none. Returns true if there is
// one.
bool DismissOutdone(const std::shared_ptr<OpenCall>& call) {
  if (call == nullptr) return false;
  call->Dismiss({grpc::StatusCode::RESOURCE_EXHAUSTED,
                 "too many calls that were opened later have said nothing either: send the first "
                 "message at once, or try again later"});
  return true;
}

// Computes a field of Crowding for a table of `most` bytes (core/base/shares.h).
double CrowdingOf(size_t taken, size_t most) {
  const size_t shared = most - most / 4;
  const size_t for_newcomers = most - most / 16 - shared;
  if (taken < shared || for_newcomers == 0) return 0;
  const auto of_newcomers = static_cast<double>(taken - shared + 1);
  return std::min(1.0, of_newcomers / static_cast<double>(for_newcomers));
}

}  // namespace

bool StreamSet::Add(const std::shared_ptr<OpenCall>& call) {
  std::shared_ptr<OpenCall> outdone;
  {
    const MutexLock lock(mutex_);
    outdone = AddLocked(call, {});
  }
  return DismissOutdone(outdone);
}

grpc::Status StreamSet::Add(const std::shared_ptr<MessageStream>& stream) {
  std::shared_ptr<OpenCall> outdone;
  bool ending = false;
  {
    const MutexLock lock(mutex_);
    outdone = AddLocked(stream, {.ends = stream});
    ++ends_;
    ending = ending_;
    if (ending) SilentOf(*stream).erase(calls_[stream].number);
  }
  DismissOutdone(outdone);
  return ending ? ShuttingDown() : grpc::Status::OK;
}

std::shared_ptr<OpenCall> StreamSet::AddLocked(const std::shared_ptr<OpenCall>& call, Entry entry) {
  const bool stream = IsStream(*call);
  entry.number = opened_++ + (stream ? 0 : kFirstCall);
  if (stream) ++streams_;
  Silent& silent = SilentOf(*call);
  silent[entry.number] = call;
  ++ClientOf(*call).calls;
  calls_[call] = std::move(entry);
  const size_t most = stream ? limits_.streams.get() : std::max(limits_.streams.get(), kLeastCalls);
  if (silent.size() <= most) return nullptr;
  ++refused_;
  return silent.extract(silent.begin()).mapped();
}

grpc::Status StreamSet::Admit(const std::shared_ptr<OpenCall>& call) {
  const MutexLock lock(mutex_);
  const auto it = calls_.find(call);
  CHECK(it != calls_.end() && !it->second.admitted, "not added, or admitted already");
  SilentOf(*call).erase(it->second.number);
  const bool stream = IsStream(*call);
  const char* const what = stream ? "streams" : "calls";
  Places& places = places_[static_cast<size_t>(call->kind())];
  const size_t least = stream ? 0 : kLeastCalls;
  const size_t most = std::max(limits_.streams.get(), least);
  const auto its = places.by_client.find(call->client());
  const size_t of_client = its == places.by_client.end() ? 0 : its->second;
  const bool stranger = call->stranger();
  const bool too_many_strangers =
      stranger && !MayTakePlace(of_client, places.strangers, most / kPartOfStrangers);
  if (too_many_strangers || !MayTakePlace(of_client, places.taken, most, call->admin())) {
    ++refused_;
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            fmt::format("{} {} are open, the most that this server takes{}: end some, or try "
                        "again later",
                        places.taken, what,
                        places.taken < most ? ", but for places of clients that have few" : "")};
  }
  if (of_client >= std::max(limits_.streams_per_client.get(), least / 2)) {
    ++refused_;
    ++refused_by_client_;
    return {grpc::StatusCode::RESOURCE_EXHAUSTED,
            fmt::format("{} {} of this client are open, the most that one may have: end "
                        "some, or try again later",
                        of_client, what)};
  }
  ++places.by_client[call->client()];
  ++places.taken;
  if (stranger) ++places.strangers;
  if (!stream) calls_taken_ = places.taken;
  it->second.admitted = true;
  return grpc::Status::OK;
}

void StreamSet::Remove(const std::shared_ptr<OpenCall>& call) {
  const MutexLock lock(mutex_);
  const auto it = calls_.find(call);
  CHECK(it != calls_.end(), "not added");
  if (it->second.admitted) {
    Places& places = places_[static_cast<size_t>(call->kind())];
    --places.taken;
    if (call->stranger()) --places.strangers;
    if (!IsStream(*call)) calls_taken_ = places.taken;
    const auto of_client = places.by_client.find(call->client());
    if (--of_client->second == 0) places.by_client.erase(of_client);
  }
  if (IsStream(*call)) --streams_;
  SilentOf(*call).erase(it->second.number);
  (void)StopWaitingLocked(call);
  --ClientOf(*call).calls;
  Forget(call->client());
  if (it->second.ends != nullptr && --ends_ == 0) empty_.NotifyAll();
  calls_.erase(it);
}

bool StreamSet::calls_are_few() const {
  return calls_taken_ < std::max(limits_.streams.get(), kLeastCalls) / 4;
}

std::vector<std::shared_ptr<MessageStream>> StreamSet::Ending() const {
  std::vector<std::shared_ptr<MessageStream>> all;
  for (const auto& [call, entry] : calls_) {
    if (entry.ends != nullptr) all.push_back(entry.ends);
  }
  return all;
}

void StreamSet::NoticeDraining() {
  draining_ = true;
  std::vector<std::shared_ptr<MessageStream>> streams;
  {
    const MutexLock lock(mutex_);
    streams = Ending();
  }
  for (const auto& stream : streams) stream->OnServerDraining();
}

std::vector<std::shared_ptr<OpenCall>> StreamSet::All() const {
  const MutexLock lock(mutex_);
  std::vector<std::shared_ptr<OpenCall>> calls;
  calls.reserve(calls_.size());
  for (const auto& [call, entry] : calls_) calls.push_back(call);
  return calls;
}

void StreamSet::CheckCallers() {
  for (const auto& call : All()) {
    if (const Status status = call->CheckCaller(); !status.ok()) {
      call->Dismiss(GrpcStatusOf(status));
    }
  }
}

void StreamSet::DismissSilent(const grpc::Status& status) {
  Calls silent;
  {
    const MutexLock lock(mutex_);
    for (const Silent& kind : silent_) {
      for (const auto& [number, call] : kind) silent.push_back(call);
    }
  }
  for (const auto& call : silent) call->Dismiss(status);
}

std::set<Peer> StreamSet::Look(Instant now) {
  if (const Instant checked = checked_; now >= checked + kCheckInterval || now < checked) {
    checked_ = now;
    CheckCallers();
  }
  ResumeAll(TakeAllReady());
  const auto steady = std::chrono::steady_clock::now();
  const Crowding crowded = stats().crowding;
  std::set<Peer> stuck;
  for (const auto& call : All()) {
    if (const Peer peer = call->Look(steady, crowded); peer.port != 0) stuck.insert(peer);
    if (call->ends() > now) continue;
    if (const Status status = call->CheckCaller(); !status.ok()) {
      call->Dismiss(GrpcStatusOf(status));
    }
  }
  return stuck;
}

void StreamSet::EndAll() {
  std::vector<std::shared_ptr<MessageStream>> streams;
  {
    const MutexLock lock(mutex_);
    ending_ = true;
    streams = Ending();
  }
  for (const auto& stream : streams) stream->End(ShuttingDown());
}

bool StreamSet::WaitUntilEmpty(Duration timeout) {
  const MutexLock lock(mutex_);
  if (ends_ > 0) empty_.WaitFor(mutex_, timeout.chrono());
  return ends_ == 0;
}

StreamStats StreamSet::stats() const {
  const MutexLock lock(mutex_);
  const size_t most = limits_.unacked_bytes;
  return {.calls = calls_.size(),
          .open = streams_,
          .refused = refused_,
          .refused_by_client = refused_by_client_,
          .unacked_bytes = unacked_bytes_,
          .answer_bytes = answer_bytes_,
          .crowding = {.messages = CrowdingOf(unacked_bytes_, most),
                       .answers = CrowdingOf(answer_bytes_, most)}};
}

StreamSet::Client& StreamSet::ClientOf(const OpenCall& call) {
  Client& client = clients_[call.client()];
  client.admin = call.admin();
  return client;
}

void StreamSet::Hold(const OpenCall& call, size_t bytes) {
  const MutexLock lock(mutex_);
  ClientOf(call).messages += bytes;
  unacked_bytes_ += bytes;
}

bool StreamSet::HasRoom(const std::shared_ptr<OpenCall>& call, size_t message, size_t answers) {
  const MutexLock lock(mutex_);
  return HasRoomLocked(ClientOf(*call), {.call = call, .message = message, .answers = answers});
}

bool StreamSet::HasRoomLocked(Client& client, const Waiting& wanted) {
  if (FitsMessage(client, wanted.message) && FitsAnswers(client, wanted.answers)) return true;
  Wait(client, wanted);
  return false;
}

bool StreamSet::TryHold(const std::shared_ptr<OpenCall>& call, size_t bytes, size_t answers) {
  const MutexLock lock(mutex_);
  Client& client = ClientOf(*call);
  if (!HasRoomLocked(client, {.call = call, .message = bytes, .answers = answers})) return false;
  client.messages += bytes;
  unacked_bytes_ += bytes;
  client.answers += answers;
  answer_bytes_ += answers;
  return true;
}

StreamSet::Calls StreamSet::Release(const OpenCall& call, size_t bytes) {
  const MutexLock lock(mutex_);
  Client& client = ClientOf(call);
  CHECK(bytes <= client.messages, "{} bytes of {}", bytes, client.messages);
  client.messages -= bytes;
  unacked_bytes_ -= bytes;
  return TakeReady(call);
}

StreamSet::Calls StreamSet::SetAnswers(const OpenCall& call, size_t was, size_t now) {
  const MutexLock lock(mutex_);
  Client& client = ClientOf(call);
  CHECK(was <= client.answers, "{} bytes of {}", was, client.answers);
  client.answers += now - was;
  answer_bytes_ += now - was;
  if (now >= was) return {};
  return TakeReady(call);
}

bool StreamSet::Fits(const Client& client, size_t held, size_t taken, size_t bytes) const {
  const uint64_t left = ShareLeft(held, taken, limits_.unacked_bytes, client.admin);
  return left >= bytes || (left > 0 && held == 0);
}

void StreamSet::Wait(Client& client, const Waiting& waiting) {
  const auto it = calls_.find(waiting.call);
  if (it == calls_.end()) return Forget(waiting.call->client());
  const auto [own, added] = client.waiting.try_emplace(it->second.number, waiting);
  if (!added) {
    own->second.message = std::min(own->second.message, waiting.message);
    own->second.answers = std::min(own->second.answers, waiting.answers);
  }
  waiting_.insert(waiting.call->client());
}

bool StreamSet::StopWaiting(const std::shared_ptr<OpenCall>& call) {
  const MutexLock lock(mutex_);
  return StopWaitingLocked(call);
}

bool StreamSet::StopWaitingLocked(const std::shared_ptr<OpenCall>& call) {
  // A dismissed call may already have ended and been removed.
  const auto it = calls_.find(call);
  if (it == calls_.end()) return false;
  Client& client = ClientOf(*call);
  const bool waited = client.waiting.erase(it->second.number) > 0;
  if (client.waiting.empty()) waiting_.erase(call->client());
  return waited;
}

void StreamSet::TakeReadyOf(const std::string& name, Calls* ready) {
  Client& client = clients_[name];
  size_t message = 0;
  size_t answers = 0;
  for (auto it = client.waiting.begin(); it != client.waiting.end();) {
    Waiting& next = it->second;
    if (next.message > 0 && !FitsMessage(client, message + next.message)) break;
    if (next.answers > 0 && !FitsAnswers(client, answers + next.answers)) break;
    message += next.message;
    answers += next.answers;
    ready->push_back(std::move(next.call));
    it = client.waiting.erase(it);
  }
  if (client.waiting.empty()) waiting_.erase(std::string(name));
}

StreamSet::Calls StreamSet::TakeReady(size_t most_clients) {
  Calls ready;
  const size_t clients = std::min(most_clients, waiting_.size());
  for (size_t i = 0; i < clients; ++i) {
    looked_at_ = *NextAfter(waiting_, looked_at_);
    TakeReadyOf(looked_at_, &ready);
  }
  return ready;
}

StreamSet::Calls StreamSet::TakeAllReady() {
  const MutexLock lock(mutex_);
  return TakeReady(SIZE_MAX);
}

StreamSet::Calls StreamSet::TakeReady(const OpenCall& released) {
  Calls ready;
  if (waiting_.contains(released.client())) TakeReadyOf(released.client(), &ready);
  Calls others = TakeReady(kLookedAt);
  ready.insert(ready.end(), std::make_move_iterator(others.begin()),
               std::make_move_iterator(others.end()));
  Forget(released.client());
  return ready;
}

void StreamSet::Forget(const std::string& client) {
  const auto it = clients_.find(client);
  if (it == clients_.end()) return;
  const Client& of = it->second;
  if (of.calls == 0 && of.messages == 0 && of.answers == 0) clients_.erase(it);
}

std::optional<Kept> StreamSet::Keep(const OpenCall& call, bool answers, size_t bytes) {
  const MutexLock lock(mutex_);
  Client& client = ClientOf(call);
  const bool fits = answers ? FitsAnswers(client, bytes) : FitsMessage(client, bytes);
  if (fits) {
    (answers ? client.answers : client.messages) += bytes;
    (answers ? answer_bytes_ : unacked_bytes_) += bytes;
  } else if (const size_t most = limits_.unacked_bytes;
             bytes <= most - std::min(beside_bytes_, most)) {
    beside_bytes_ += bytes;
  } else {
    Forget(call.client());
    return std::nullopt;
  }
  return Kept{.bytes = bytes, .answers = answers, .beside = !fits};
}

StreamSet::Calls StreamSet::Drop(const OpenCall& call, const Kept& kept) {
  const MutexLock lock(mutex_);
  if (kept.beside) {
    beside_bytes_ -= kept.bytes;
    return {};
  }
  Client& client = ClientOf(call);
  (kept.answers ? client.answers : client.messages) -= kept.bytes;
  (kept.answers ? answer_bytes_ : unacked_bytes_) -= kept.bytes;
  return TakeReady(call);
}

// --- OpenCall

void ResumeAll(StreamSet::Calls calls) {
  static thread_local StreamSet::Calls* running = nullptr;
  if (running != nullptr) {
    running->insert(running->end(), std::make_move_iterator(calls.begin()),
                    std::make_move_iterator(calls.end()));
    return;
  }
  if (calls.empty()) return;
  running = &calls;
  for (size_t i = 0; i < calls.size(); ++i) {
    const std::shared_ptr<OpenCall> call = std::move(calls[i]);
    call->Resume();
  }
  running = nullptr;
}

const std::string& OpenCall::client() const {
  static const std::string kNobody;
  return kNobody;
}

}  // namespace freshet
