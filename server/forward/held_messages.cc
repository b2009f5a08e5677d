#include "server/forward/held_messages.h"

#include <algorithm>

#include "core/base/shares.h"

namespace freshet {

bool HeldMessages::Fits(const Client& client, size_t bytes, uint64_t most) const {
  if (client.beside > 0) return false;
  const uint64_t left = ShareLeft(client.bytes, bytes_, most, client.admin);
  return left >= bytes || (left > 0 && client.bytes == 0);
}

HeldMessages::Client& HeldMessages::ClientOf(const ForwardedCall& call) {
  Client& client = clients_[call.client()];
  client.admin = call.admin();
  return client;
}

void HeldMessages::Settle(const std::string& name) {
  const auto it = clients_.find(name);
  if (it == clients_.end()) return;
  if (it->second.waits()) {
    waiting_.insert(name);
    return;
  }
  waiting_.erase(name);
  if (it->second.bytes == 0) clients_.erase(it);
}

bool HeldMessages::MayRead(const CallPtr& call, uint64_t most) {
  Client& client = ClientOf(*call);
  const bool may = Fits(client, 1, most);
  if (!may) client.parked.insert(call);
  Settle(call->client());
  return may;
}

bool HeldMessages::Hold(const CallPtr& call, size_t bytes, uint64_t most, Instant now) {
  Client& client = ClientOf(*call);
  const bool beside = !Fits(client, bytes, most);
  const bool room = !beside || bytes <= most - std::min(beside_, most);
  if (room) {
    (beside ? client.beside : client.bytes) += bytes;
    (beside ? beside_ : bytes_) += bytes;
    messages_[call] = {.bytes = bytes, .beside = beside, .since = now};
  }
  Settle(call->client());
  return room;
}

void HeldMessages::Release(const CallPtr& call) {
  const auto it = messages_.find(call);
  if (it == messages_.end()) return;
  const Message& message = it->second;
  Client& client = clients_[call->client()];
  (message.beside ? client.beside : client.bytes) -= message.bytes;
  (message.beside ? beside_ : bytes_) -= message.bytes;
  messages_.erase(it);
  Settle(call->client());
}

void HeldMessages::Forget(const CallPtr& call) {
  Release(call);
  const auto client = clients_.find(call->client());
  if (client == clients_.end()) return;
  client->second.parked.erase(call);
  Settle(call->client());
}

std::vector<HeldMessages::CallPtr> HeldMessages::TakeReady(uint64_t most) {
  std::vector<CallPtr> ready;
  for (auto name = waiting_.begin(); name != waiting_.end();) {
    const std::string of = *name++;
    Client& client = clients_[of];
    if (client.parked.empty() || !Fits(client, 1, most)) continue;
    ready.insert(ready.end(), client.parked.begin(), client.parked.end());
    client.parked.clear();
    Settle(of);
  }
  return ready;
}

std::vector<HeldMessages::CallPtr> HeldMessages::Stuck(Instant since) const {
  std::vector<CallPtr> stuck;
  if (waiting_.empty()) return stuck;
  for (const auto& [call, message] : messages_) {
    if (message.bytes <= kLittle || message.since > since) continue;
    const bool others = waiting_.size() > 1 || *waiting_.begin() != call->client();
    if (others) stuck.push_back(call);
  }
  return stuck;
}

}  // namespace freshet
