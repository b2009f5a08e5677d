#include "server/indexnow/key_book.h"

#include <utility>

#include "server/logs/loggers.h"

namespace freshet {

void ExpiringNames::Put(const std::string& name, std::string value, Instant until) {
  const uint64_t serial = ++next_;
  by_name_[name] = {.value = std::move(value), .until = until, .serial = serial};
  order_.emplace_back(serial, name);
  // What was put again or erased leaves an entry behind, which goes with the oldest.
  while (by_name_.size() > most_ || order_.size() > 2 * most_) {
    const auto it = by_name_.find(order_.front().second);
    if (it != by_name_.end() && it->second.serial == order_.front().first) by_name_.erase(it);
    order_.pop_front();
  }
}

const std::string* ExpiringNames::Find(const std::string& name, Instant now) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() || it->second.until <= now ? nullptr : &it->second.value;
}

KeyBook::KeyBook(const IndexNowConfig& config, Clock& clock) : config_(config), clock_(clock) {
  if (!config_.enabled || !config_.verify_keys) return;
  for (std::thread& thread : threads_) thread = std::thread([this] { Run(); });
}

bool KeyBook::MayAdd(const KeyFile& file, Instant now) {
  if (pending_.size() >= limits::kMaxIndexNowPendingKeys) return false;
  const auto of_host = of_host_.find(file.host);
  if (of_host != of_host_.end() && of_host->second >= limits::kMaxIndexNowKeysOfHost) return false;
  return fetches_.Of(file.host, std::nullopt, now)->TakeIfLeft(1, now) == Duration();
}

KeyBook::Answer KeyBook::Check(const KeyFile& file, const std::string& key, size_t bytes,
                               Waiter waiter) {
  const std::string name = file.Url() + " " + key;
  const Instant now = clock_.Now();
  const MutexLock lock(mutex_);
  if (good_.Find(name, now) != nullptr) return {.standing = Standing::kGood, .why = ""};
  if (const std::string* why = bad_.Find(name, now)) {
    return {.standing = Standing::kBad, .why = *why};
  }
  if (stopping_ || stats_.pending_bytes + bytes > limits::kMaxIndexNowPendingBytes) return {};
  auto it = pending_.find(name);
  if (it == pending_.end()) {
    if (!MayAdd(file, now)) return {};
    it = pending_.try_emplace(name, Lookup{.file = file, .key = key, .bytes = 0, .waiters = {}})
             .first;
    ++of_host_[file.host];
    queue_.push_back(name);
    wake_.NotifyOne();
  }
  it->second.bytes += bytes;
  it->second.waiters.push_back(std::move(waiter));
  stats_.pending_bytes += bytes;
  return {.standing = Standing::kPending, .why = ""};
}

void KeyBook::Remember(const std::string& name, const KeyFetch& fetch) {
  const Instant now = clock_.Now();
  switch (fetch.outcome) {
    case KeyFetch::Outcome::kGood:
      ++stats_.good;
      bad_.Erase(name);
      return good_.Put(name, "", now + config_.key_lifetime);
    case KeyFetch::Outcome::kBad:
      ++stats_.bad;
      return bad_.Put(name, fetch.why, now + config_.key_lifetime);
    case KeyFetch::Outcome::kUnreachable:
      ++stats_.unreachable;
      return bad_.Put(name, fetch.why, now + config_.retry_interval);
  }
}

void KeyBook::Run() {
  while (true) {
    std::string name;
    KeyFile file;
    std::string key;
    {
      const MutexLock lock(mutex_);
      while (queue_.empty() && !stopping_) wake_.Wait(mutex_);
      if (stopping_) return;
      name = std::move(queue_.front());
      queue_.pop_front();
      file = pending_[name].file;
      key = pending_[name].key;
    }
    const KeyFetch fetch =
        FetchKey(file, key, config_.key_timeout, config_.test_key_port, cancelled_);
    if (fetch.outcome != KeyFetch::Outcome::kGood) {
      // Not the key: it is a secret of sorts.
      Logger(LogModule::kIndexnow)
          .info("indexnow: a key of {} is not taken: {}", file.host, fetch.why);
    }
    Lookup lookup;
    {
      const MutexLock lock(mutex_);
      if (stopping_) return;
      Remember(name, fetch);
      lookup = std::move(pending_.extract(name).mapped());
      if (--of_host_[file.host] == 0) of_host_.erase(file.host);
    }
    for (const Waiter& waiter : lookup.waiters) waiter(fetch.outcome == KeyFetch::Outcome::kGood);
    const MutexLock lock(mutex_);
    stats_.pending_bytes -= lookup.bytes;
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
