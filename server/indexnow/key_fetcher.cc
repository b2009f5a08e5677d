#include "server/indexnow/key_fetcher.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/ip_address.h"
#include "core/base/limits.h"
#include "core/base/public_address.h"
#include "fmt/format.h"
#include "httplib.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

using Outcome = KeyFetch::Outcome;

constexpr Duration kLookAtCancelled = Duration::Millis(50);

// The addresses of a host as texts of numbers; none: it has none, or nobody knows.
std::vector<std::string> Resolve(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return {};
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  std::vector<std::string> texts;
  for (const addrinfo* next = found; next != nullptr; next = next->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(next->ai_addr, next->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) == 0) {
      texts.emplace_back(text.data());
    }
  }
  return texts;
}

// Stops a client when its time is over, or nobody waits for it any more.
class Watch {
 public:
  Watch(httplib::Client& client, Duration timeout, const std::atomic<bool>& cancelled)
      : end_(std::chrono::steady_clock::now() + timeout.chrono()),
        thread_([this, &client, &cancelled] { Run(client, cancelled); }) {}
  ~Watch() {
    {
      const MutexLock lock(mutex_);
      done_ = true;
      wake_.NotifyAll();
    }
    thread_.join();
  }
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  void Run(httplib::Client& client, const std::atomic<bool>& cancelled) {
    const MutexLock lock(mutex_);
    while (!done_) {
      if (cancelled || std::chrono::steady_clock::now() >= end_) client.stop();
      wake_.WaitFor(mutex_, kLookAtCancelled.chrono());
    }
  }

  const std::chrono::steady_clock::time_point end_;
  Mutex mutex_;
  Condition wake_;
  bool done_ FRESHET_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

std::string_view Trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

KeyFetch Judge(const httplib::Result& result, bool too_large, std::string_view body,
               const std::string& key) {
  if (too_large) return {Outcome::kBad, "the key file is too large"};
  if (!result) {
    return {Outcome::kUnreachable,
            fmt::format("the key file cannot be fetched: {}", httplib::to_string(result.error()))};
  }
  if (result->status >= 300 && result->status < 400) {
    return {Outcome::kBad, "the key file is somewhere else, and redirects are not followed"};
  }
  if (result->status >= 500 || result->status == 429) {
    return {Outcome::kUnreachable, fmt::format("the host answers {}", result->status)};
  }
  if (result->status != 200) {
    return {Outcome::kBad, fmt::format("the host answers {} for the key file", result->status)};
  }
  // A byte order mark is what some editors put there.
  if (body.starts_with("\xef\xbb\xbf")) body.remove_prefix(3);
  if (Trimmed(body) != key) return {Outcome::kBad, "the key file holds another text"};
  return {Outcome::kGood, ""};
}

}  // namespace

KeyFetch FetchKey(const KeyFile& file, const std::string& key, Duration timeout, int test_port,
                  const std::atomic<bool>& cancelled) {
  if (file.host.front() == '[') return {Outcome::kBad, "the host is an address"};
  const bool test = test_port != 0;
  const std::vector<std::string> addresses =
      test ? std::vector<std::string>{"127.0.0.1"} : Resolve(file.host);
  if (addresses.empty()) return {Outcome::kUnreachable, "the host's name cannot be looked up"};
  for (const std::string& text : addresses) {
    const auto address = ParseIpAddress(text);
    if (!test && (!address || !IsPublicAddress(*address))) {
      return {Outcome::kBad, "the host has an address that is not public"};
    }
  }
  const std::string base = test ? fmt::format("http://{}:{}", file.host, test_port)
                                : fmt::format("{}://{}", file.https ? "https" : "http", file.host);
  httplib::Client client(base);
  client.set_hostname_addr_map({{file.host, addresses.front()}});
  client.set_connection_timeout(timeout.chrono());
  client.set_read_timeout(timeout.chrono());
  client.set_write_timeout(timeout.chrono());
  client.set_follow_location(false);
  client.set_decompress(false);
  client.set_keep_alive(false);
  const Watch watch(client, timeout, cancelled);
  std::string body;
  bool too_large = false;
  const httplib::Result result =
      client.Get(file.path, {{"User-Agent", "freshet-indexnow"}, {"Accept-Encoding", "identity"}},
                 [&body, &too_large](const char* data, size_t size) {
                   too_large = body.size() + size > limits::kMaxKeyFileBytes;
                   if (!too_large) body.append(data, size);
                   return !too_large;
                 });
  return Judge(result, too_large, body, key);
}

}  // namespace freshet
