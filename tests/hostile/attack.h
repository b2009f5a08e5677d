// The tools of hostile scripts: a seeded random source, connections to the attacked server, and a
// ledger of the assignments that the server has made.
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

// Records every assignment that any client received, honest or not. Thread-safe.
class Ledger {
 public:
  void Note(const v1::Assignment& assignment);
  // Returns the page with the most assignments, and the number of these assignments.
  [[nodiscard]] std::pair<std::string, uint64_t> Worst() const;
  [[nodiscard]] uint64_t assignments() const;
  // Returns a fault of the server, such as a lease id that was given out twice; "" = none.
  [[nodiscard]] std::string wrong() const;
  // Records a fault of the server that a script found. Only the first one is kept.
  void Fail(const std::string& what);

 private:
  mutable Mutex mutex_;
  std::map<std::string, uint64_t> fetches_;
  std::unordered_set<uint64_t> leases_;
  std::string wrong_;
};

// Pages of the honest clients, known to all clients.
inline constexpr uint64_t kHonestPages = 4000;
inline constexpr uint64_t kHonestHosts = 500;
std::string HonestUrl(uint64_t i);

// The server under attack, and how clients reach it.
struct Target {
  std::string grpc_address;
  std::string http_address;
  Ledger* ledger = nullptr;
  // The credentials of clients. If the server requires an identity, those of hostile clients are
  // not valid.
  ClientSecurity hostile;
  ClientSecurity honest;

  [[nodiscard]] bool guarded() const { return honest.speaks_tls(); }
};

std::shared_ptr<grpc::Channel> Connect(const std::string& address,
                                       const ClientSecurity& security = {});

// One run of a script. Thread-compatible; each thread of a script uses a separate copy, made by
// Split().
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
  // Returns up to `most` random bytes.
  std::string Bytes(size_t most);
  // Returns text that a site, a program or a person might send, mostly not of the expected kind.
  std::string OddText();
  // A known page or an odd URL.
  std::string AnyUrl();
  // Sets a random instant. Most are near now, and some are before the first or after the last valid
  // instant.
  void SetOddTime(google::protobuf::Timestamp* time);

  // Records a fault of the server.
  void Fail(const std::string& what) { target_.ledger->Fail(what); }

  // Opens a new connection.
  [[nodiscard]] std::shared_ptr<grpc::Channel> Connect() const {
    return hostile::Connect(target_.grpc_address, target_.hostile);
  }
  // Returns the context of a call that ends with the attack, or after three seconds if that is
  // earlier.
  [[nodiscard]] std::unique_ptr<grpc::ClientContext> Call() const;

 private:
  Target target_;
  SteadyClock::time_point end_;
  Random random_;
};

// Ends a stream in one of the ways that clients use: cleanly, in the middle, or half-closed.
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
