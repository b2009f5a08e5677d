// What hostile scripts are made of: a seeded source of mischief, connections to the server under
// attack, and the ledger of what it handed out.
#ifndef FRESHET_TESTS_HOSTILE_ATTACK_H_
#define FRESHET_TESTS_HOSTILE_ATTACK_H_

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_set>

#include "core/base/random.h"
#include "freshet/v1/types.pb.h"
#include "sync/mutex.h"
#include "tools/common/client_channel.h"

namespace freshet::hostile {

using SteadyClock = std::chrono::steady_clock;

// Every assignment that any client, honest or not, was sent. Thread-safe.
class Ledger {
 public:
  void Note(const v1::Assignment& assignment);
  // The page that was handed out most often, and how often.
  [[nodiscard]] std::pair<std::string, uint64_t> Worst() const;
  [[nodiscard]] uint64_t assignments() const;
  // Empty, or what no server may do, such as giving out a lease id twice.
  [[nodiscard]] std::string wrong() const;
  // What a script saw the server do wrong; the first is kept.
  void Fail(const std::string& what);

 private:
  mutable Mutex mutex_;
  std::map<std::string, uint64_t> fetches_;
  std::unordered_set<uint64_t> leases_;
  std::string wrong_;
};

// Pages that honest clients keep, known to everyone.
inline constexpr uint64_t kHonestPages = 4000;
inline constexpr uint64_t kHonestHosts = 500;
std::string HonestUrl(uint64_t i);

// The server under attack.
struct Target {
  std::string grpc_address;
  std::string http_address;
  Ledger* ledger = nullptr;
  // What clients show: those that mean harm have no identity where one is wanted.
  ClientSecurity hostile;
  ClientSecurity honest;

  [[nodiscard]] bool guarded() const { return honest.speaks_tls(); }
};

std::shared_ptr<grpc::Channel> Connect(const std::string& address,
                                       const ClientSecurity& security = {});

// One script's turn. Thread-compatible; threads of a script each take a Split.
class Attack {
 public:
  Attack(const Target& target, SteadyClock::time_point end, Random random)
      : target_(target), end_(end), random_(random) {}
  [[nodiscard]] Attack Split() { return {target_, end_, random_.Split()}; }

  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] bool Over() const { return SteadyClock::now() >= end_; }
  [[nodiscard]] int MillisLeft() const;

  uint64_t Below(uint64_t n) { return random_.Below(n); }
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  // Up to `most` bytes of any kind.
  std::string Bytes(size_t most);
  // Text that a site, a program or a person might send, most of it not what was asked for.
  std::string OddText();
  // A page that is known, or a URL that is odd.
  std::string AnyUrl();
  // Any instant, from the beginning of time to beyond its end, mostly around now.
  void SetOddTime(google::protobuf::Timestamp* time);

  // The server did what it must not do.
  void Fail(const std::string& what) { target_.ledger->Fail(what); }

  // A connection of its own.
  [[nodiscard]] std::shared_ptr<grpc::Channel> Connect() const {
    return hostile::Connect(target_.grpc_address, target_.hostile);
  }
  // A call that ends by itself with the attack, after three seconds at the latest.
  [[nodiscard]] std::unique_ptr<grpc::ClientContext> Call() const;

 private:
  Target target_;
  SteadyClock::time_point end_;
  Random random_;
};

// Leaves a stream in one of the ways in which clients leave: politely, in the middle, half-closed.
template <typename Response, typename Stream>
void Leave(Attack& attack, grpc::ClientContext& call, Stream& stream) {
  Response response;
  if (attack.OneIn(3)) {
    stream.WritesDone();
    while (stream.Read(&response)) {
    }
  } else if (attack.OneIn(2)) {
    stream.WritesDone();
    call.TryCancel();
  } else {
    call.TryCancel();
  }
  (void)stream.Finish();
}

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_ATTACK_H_
