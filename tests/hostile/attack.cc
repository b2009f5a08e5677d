#include "tests/hostile/attack.h"

#include <algorithm>
#include <iterator>

#include "core/base/check.h"
#include "fmt/format.h"

namespace freshet::hostile {

void Ledger::Note(const v1::Assignment& assignment) {
  const MutexLock lock(mutex_);
  ++fetches_[assignment.url()];
  if (!leases_.insert(assignment.lease_id()).second && wrong_.empty()) {
    wrong_ = fmt::format("lease {} was given out twice", assignment.lease_id());
  }
}

std::pair<std::string, uint64_t> Ledger::Worst() const {
  const MutexLock lock(mutex_);
  const auto worst = std::max_element(
      fetches_.begin(), fetches_.end(),
      [](const auto& left, const auto& right) { return left.second < right.second; });
  if (worst == fetches_.end()) return {};
  return *worst;
}

uint64_t Ledger::assignments() const {
  const MutexLock lock(mutex_);
  return leases_.size();
}

void Ledger::Fail(const std::string& what) {
  const MutexLock lock(mutex_);
  if (wrong_.empty()) wrong_ = what;
}

std::string Ledger::wrong() const {
  const MutexLock lock(mutex_);
  return wrong_;
}

std::string HonestUrl(uint64_t i) {
  return fmt::format("https://honest{}.test/pages/{}", i % kHonestHosts, i);
}

std::shared_ptr<grpc::Channel> Connect(const std::string& address, const ClientSecurity& security) {
  grpc::ChannelArguments arguments;
  // Without a local pool, all channels to one address would share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetMaxSendMessageSize(-1);
  const auto channel = OpenChannel(address, security, arguments);
  CHECK(channel.ok(), "{}", std::string(channel.status().message()));
  return *channel;
}

int Attack::MillisLeft() const {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end_ - SteadyClock::now());
  return static_cast<int>(std::max<int64_t>(0, left.count()));
}

std::string Attack::Bytes(size_t most) {
  std::string bytes(Below(most + 1), '\0');
  for (char& byte : bytes) byte = static_cast<char>(Below(256));
  return bytes;
}

std::string Attack::OddText() {
  switch (Below(8)) {
    case 0:
      return std::string(Below(20'000), 'x');
    case 1:
      return "\xff\xfe not UTF-8 \xc3";
    case 2:
      return std::string("with\0nul", 8);
    case 3:
      return "W/\"\r\nSet-Cookie: a=b\r\n\r\n";
    case 4:
      return "\x1b[2J\a\t\v";
    case 5:
      return "\"quoted\", {brace}, <tag>, %s%n%x, $(id), '; --";
    case 6:
      return "\u202egnirts\u0000\U0010ffff";
    default:
      return Bytes(600);
  }
}

std::string Attack::AnyUrl() {
  static constexpr const char* kOdd[] = {
      "http://1.2.3.4./",
      "http://0x7f.1/",
      "http://[::1]:0/",
      "http://[::ffff:1.2.3.4]/%2e%2e/",
      "https://honest1.test/%2Fa/../b?q=%26#f",
      "http://a.test:99999/",
      "http://user:password@a.test/",
      "javascript:alert(1)",
      "file:///etc/passwd",
      "http:///",
      "//a.test/",
      "http://\xc3\xa4.test/\xc3\xa4?\xc3\xa4",
      "http://a.test/\xff",
      "http://a b.test/",
      "http://xn--a.test/",
      "http://a.test/?q=http%3A%2F%2Fb.test%2F",
      "",
  };
  if (!OneIn(4)) return HonestUrl(Below(kHonestPages));
  if (OneIn(4)) return "http://a.test/" + OddText();
  if (OneIn(4)) return "http://" + OddText() + "/";
  return kOdd[Below(std::size(kOdd))];
}

void Attack::SetOddTime(google::protobuf::Timestamp* time) {
  const int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                          std::chrono::system_clock::now().time_since_epoch())
                          .count();
  static constexpr int64_t kAway[] = {0,
                                      -1,
                                      1,
                                      -60,
                                      60,
                                      -299,
                                      301,
                                      -3600,
                                      3600,
                                      -86'400,
                                      86'400,
                                      -7'000'000,
                                      10'000'000'000,
                                      -2'000'000'000,
                                      INT64_MAX / 2,
                                      INT64_MIN / 2};
  time->set_seconds(now + kAway[Below(std::size(kAway))]);
  if (OneIn(3)) time->set_nanos(static_cast<int32_t>(Below(2'000'000'000)) - 500'000'000);
}

std::unique_ptr<grpc::ClientContext> Attack::Call() const {
  auto call = std::make_unique<grpc::ClientContext>();
  const int millis = std::clamp(MillisLeft(), 100, 3000);
  call->set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(millis));
  return call;
}

}  // namespace freshet::hostile
