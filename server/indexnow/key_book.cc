#include "server/indexnow/key_book.h"

#include <algorithm>
#include <utility>

#include "core/base/shares.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// The least time between two requests to a host.
constexpr Duration kHostInterval = Duration::Seconds(1);

}  // namespace

void ExpiringNames::Put(const std::string& name, std::string value, uint64_t client, Instant until,
                        Instant now) {
  Erase(name);
  while (!by_serial_.empty() && by_name_.at(by_serial_.begin()->second).until <= now) {
    EraseSerial(by_serial_.begin()->first);
  }
  if (ShareLeft(shares_.held(client), shares_.taken(), shares_.most()) == 0) {
    const auto own = of_client_.lower_bound({client, 0});
    const bool any = own != of_client_.end() && own->first == client;
    EraseSerial(any ? own->second : by_serial_.begin()->first);
  }
  const uint64_t serial = ++next_;
  const TokenDigest digest = DigestOf(name);
  if (value.size() > kMostValueBytes) value = value.substr(0, kMostValueBytes);
  by_name_[digest] = {
      .value = std::move(value), .client = client, .until = until, .serial = serial};
  by_serial_[serial] = digest;
  of_client_.emplace(client, serial);
  shares_.Take(client);
}

void ExpiringNames::Erase(const std::string& name) {
  const auto it = by_name_.find(DigestOf(name));
  if (it != by_name_.end()) EraseSerial(it->second.serial);
}

void ExpiringNames::EraseSerial(uint64_t serial) {
  const auto at = by_serial_.find(serial);
  const auto it = by_name_.find(at->second);
  shares_.Give(it->second.client);
  of_client_.erase({it->second.client, serial});
  by_name_.erase(it);
  by_serial_.erase(at);
}

const std::string* ExpiringNames::Find(const std::string& name, Instant now) const {
  const auto it = by_name_.find(DigestOf(name));
  return it == by_name_.end() || it->second.until <= now ? nullptr : &it->second.value;
}

KeyBook::KeyBook(const IndexNowConfig& config, Clock& clock) : config_(config), clock_(clock) {
  if (!config_.enabled || !config_.verify_keys) return;
  for (std::thread& thread : threads_) thread = std::thread([this] { Run(); });
}

bool KeyBook::MayAdd(const KeyFile& file, const std::string& sender, Instant now) {
  const auto count = [](const auto& counts, const auto& key) {
    const auto it = counts.find(key);
    return it == counts.end() ? size_t{0} : it->second;
  };
  const auto its = senders_.find(sender);
  const size_t held = its == senders_.end() ? 0 : its->second.pending;
  const size_t of_host = count(of_host_, file.host);
  // One of a host's places becomes free each second. Without this limit, a sender that asks all the
  // time would get all of these places.
  if (of_host >= kMostOfHost / 2 &&
      crowded_.Of(file.host + " " + sender, std::nullopt, now)->TakeIfLeft(1, now) > Duration()) {
    return false;
  }
  if (ShareLeft(held, pending_.size(), limits::kMaxIndexNowPendingKeys) == 0 ||
      held >= kMostOfSender || of_host >= kMostOfHost ||
      count(of_pair_, std::pair(file.host, sender)) >= limits::kMaxIndexNowKeysOfHost) {
    return false;
  }
  return lookups_.Of(sender, std::nullopt, now)->TakeIfLeft(1, now) == Duration();
}

bool KeyBook::Fits(const std::string& sender, size_t bytes) const {
  const auto it = senders_.find(sender);
  const size_t held = it == senders_.end() ? 0 : it->second.bytes;
  const uint64_t left = ShareLeft(held, stats_.pending_bytes, limits::kMaxIndexNowPendingBytes);
  return left >= bytes || (left > 0 && held == 0);
}

KeyBook::Answer KeyBook::Check(const KeyFile& file, const std::string& key,
                               const std::string& sender, size_t bytes, Waiter waiter) {
  const std::string name = file.Url() + " " + key;
  const Instant now = clock_.Now();
  const MutexLock lock(mutex_);
  if (good_.Find(name, now) != nullptr) return {.standing = Standing::kGood, .why = ""};
  if (const std::string* why = bad_.Find(name, now)) {
    return {.standing = Standing::kBad, .why = *why};
  }
  if (stopping_ || !Fits(sender, bytes)) return {};
  auto it = pending_.find(name);
  if (it == pending_.end()) {
    if (!MayAdd(file, sender, now)) return {};
    Lookup lookup = {.file = file, .key = key, .sender = sender, .waiting = {}};
    it = pending_.try_emplace(name, std::move(lookup)).first;
    ++of_host_[file.host];
    ++of_pair_[{file.host, sender}];
    ++SenderOf(sender).pending;
    queue_.push_back(name);
    wake_.NotifyOne();
  }
  it->second.waiting.push_back({.sender = sender, .bytes = bytes, .waiter = std::move(waiter)});
  SenderOf(sender).bytes += bytes;
  stats_.pending_bytes += bytes;
  return {.standing = Standing::kPending, .why = ""};
}

KeyBook::Sender& KeyBook::SenderOf(const std::string& sender) {
  // A sender whose entry was removed must not get an earlier turn than senders that wait.
  return senders_.try_emplace(sender, Sender{.last_turn = turns_ - 1}).first->second;
}

bool KeyBook::MayRun(const Sender& sender) const {
  constexpr int kShared = limits::kKeyFetchThreads - limits::kKeyFetchThreads / 4;
  return sender.running == 0 ||
         (sender.running < limits::kKeyFetchesOfSender && running_ < kShared);
}

std::optional<std::string> KeyBook::NextInTurn(Duration* wait) {
  const Instant now = clock_.Now();
  absl::erase_if(host_free_, [now](const auto& entry) { return entry.second <= now; });
  *wait = Duration::Infinite();
  auto next = queue_.end();
  Sender* of = nullptr;
  for (auto it = queue_.begin(); it != queue_.end(); ++it) {
    const Lookup& lookup = pending_.at(*it);
    Sender& sender = senders_.at(lookup.sender);
    // A sender whose hosts answer slowly must not use all threads.
    if (!MayRun(sender)) continue;
    if (const auto free = host_free_.find(lookup.file.host); free != host_free_.end()) {
      *wait = std::min(*wait, free->second - now);
      continue;
    }
    if (of != nullptr && of->last_turn <= sender.last_turn) continue;
    next = it;
    of = &sender;
  }
  if (of == nullptr) return std::nullopt;
  of->last_turn = ++turns_;
  ++of->running;
  ++running_;
  std::string name = std::move(*next);
  queue_.erase(next);
  host_free_[pending_.at(name).file.host] = now + kHostInterval;
  return name;
}

KeyBook::Lookup KeyBook::Finished(const std::string& name) {
  Lookup lookup = std::move(pending_.extract(name).mapped());
  const std::pair pair(lookup.file.host, lookup.sender);
  if (--of_host_[lookup.file.host] == 0) of_host_.erase(lookup.file.host);
  if (--of_pair_[pair] == 0) of_pair_.erase(pair);
  Sender& sender = senders_.at(lookup.sender);
  --sender.running;
  --running_;
  --sender.pending;
  Leave(lookup.sender);
  // Another lookup of the sender can begin now.
  wake_.NotifyOne();
  return lookup;
}

void KeyBook::Leave(const std::string& sender) {
  const auto it = senders_.find(sender);
  if (it->second.pending == 0 && it->second.bytes == 0) senders_.erase(it);
}

// The number of lines is limited, because anybody can send false keys.
void KeyBook::LogRefusal(const KeyFile& file, const std::string& why) {
  const std::optional<std::string> rest = log_refused_.Admit(clock_.Now());
  if (!rest) return;
  // The line does not show the key, which is a kind of secret.
  Logger(LogModule::kIndexnow)
      .info("indexnow: the key that a ping gave for {} is not accepted: {}{}", file.host, why,
            *rest);
}

void KeyBook::Remember(const std::string& name, const std::string& sender, const KeyFetch& fetch) {
  const Instant now = clock_.Now();
  const uint64_t client = ClientNumber(sender);
  switch (fetch.outcome) {
    case KeyFetch::Outcome::kGood:
      ++stats_.good;
      bad_.Erase(name);
      return good_.Put(name, "", client, now + config_.key_lifetime, now);
    case KeyFetch::Outcome::kBad:
      ++stats_.bad;
      return bad_.Put(name, fetch.why, client, now + config_.key_lifetime, now);
    case KeyFetch::Outcome::kUnreachable:
      ++stats_.unreachable;
      return bad_.Put(name, fetch.why, client, now + config_.retry_interval, now);
  }
}

void KeyBook::Run() {
  while (true) {
    std::optional<std::string> name;
    KeyFile file;
    std::string key;
    {
      const MutexLock lock(mutex_);
      Duration wait;
      while (!stopping_ && !(name = NextInTurn(&wait))) wake_.WaitFor(mutex_, wait.chrono());
      if (stopping_) return;
      file = pending_.at(*name).file;
      key = pending_.at(*name).key;
    }
    const KeyFetch fetch =
        FetchKey(file, key, config_.key_timeout, config_.test_key_port, cancelled_);
    Lookup lookup;
    {
      const MutexLock lock(mutex_);
      if (stopping_) return;
      if (fetch.outcome != KeyFetch::Outcome::kGood) LogRefusal(file, fetch.why);
      lookup = Finished(*name);
      Remember(*name, lookup.sender, fetch);
    }
    const bool good = fetch.outcome == KeyFetch::Outcome::kGood;
    for (const Ping& ping : lookup.waiting) ping.waiter(good);
    const MutexLock lock(mutex_);
    for (const Ping& ping : lookup.waiting) {
      stats_.pending_bytes -= ping.bytes;
      senders_.at(ping.sender).bytes -= ping.bytes;
      Leave(ping.sender);
    }
  }
}

void KeyBook::Stop() {
  cancelled_ = true;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
  const MutexLock lock(mutex_);
  pending_.clear();
}

KeyStats KeyBook::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

}  // namespace freshet
