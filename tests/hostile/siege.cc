#include "tests/hostile/siege.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>

#include "core/base/sanitized.h"
#include "fmt/format.h"
#include "server/auth/identities.h"
#include "tests/crash/daemon.h"
#include "tests/hostile/honest.h"
#include "tests/hostile/socket.h"
#include "tests/hostile/usage.h"
#include "tests/support/test_certificates.h"
#include "tests/support/wall_time.h"

namespace freshet::hostile {
namespace {

// The maximum memory that the attacked server may use in addition to what it used before.
constexpr uint64_t kMostMib = 600;
constexpr uint64_t kMostThreadsLeft = 100;
constexpr uint64_t kMostFilesLeft = 100;

// A server under attack, with its clients and scripts. Owner thread only.
class Siege {
 public:
  Siege(const std::string& directory, uint64_t seed, bool guarded)
      : directory_(directory), daemon_("data", directory + "/log", directory), random_(seed) {
    if (guarded) Guard();
  }

  [[nodiscard]] std::string Begin();
  // Plays the scripts. Returns "" or the error.
  [[nodiscard]] std::string Play(const std::vector<Script>& scripts, double seconds);
  // Checks the server after the attack, then stops it during another one. Returns "" or the error.
  [[nodiscard]] std::string End(const std::vector<Script>& scripts);

 private:
  void Guard();
  [[nodiscard]] std::string Trouble() const;
  [[nodiscard]] std::string CheckLeftovers();
  [[nodiscard]] std::string CheckFetches() const;
  [[nodiscard]] std::vector<std::thread> Launch(const std::vector<Script>& scripts, double seconds);

  const std::string directory_;
  std::vector<std::string> flags_ = {"--crawl-rate", "200", "--shards", "2"};
  crash::Daemon daemon_;
  Random random_;
  Ledger ledger_;
  Target target_;
  Usage before_;
  std::unique_ptr<Honest> honest_;
};

// Attackers trust the server's certificate, and have an unknown token.
void Siege::Guard() {
  const TestAuthority authority;
  const KeyPair pair = authority.Issue({.names = "IP:127.0.0.1"});
  ReplaceFile(directory_ + "/server.pem", pair.certificate);
  ReplaceFile(directory_ + "/server.key", pair.key);
  ReplaceFile(directory_ + "/ca.pem", authority.certificate());
  ReplaceFile(directory_ + "/auth.yaml",
              "identities: [{name: honest, roles: [admin], token_sha256: " +
                  HexOf(DigestOf("honest")) + "}]\n");
  for (const char* flag :
       {"--tls-certificate", "server.pem", "--tls-key", "server.key", "--auth-file", "auth.yaml"}) {
    flags_.emplace_back(flag);
  }
  target_.hostile = {.ca = directory_ + "/ca.pem", .token = "hostile"};
  target_.honest = {.ca = directory_ + "/ca.pem", .token = "honest"};
  SpeakTls();
}

std::string Siege::Begin() {
  daemon_.Spawn(flags_);
  std::string wrong = daemon_.AwaitReady();
  if (!wrong.empty()) return wrong;
  target_.grpc_address = daemon_.grpc_address();
  target_.http_address = daemon_.http_address();
  target_.ledger = &ledger_;
  honest_ = std::make_unique<Honest>(target_);
  wrong = honest_->Prepare();
  if (!wrong.empty()) return wrong;
  before_ = UsageOf(daemon_.pid());
  honest_->Start();
  return {};
}

std::vector<std::thread> Siege::Launch(const std::vector<Script>& scripts, double seconds) {
  const SteadyClock::time_point end =
      SteadyClock::now() + std::chrono::microseconds(static_cast<int64_t>(seconds * 1e6));
  std::vector<std::thread> threads;
  for (const Script& script : scripts) {
    threads.emplace_back([&script, attack = Attack(target_, end, random_.Split())]() mutable {
      script.play(attack);
    });
  }
  return threads;
}

std::string Siege::Play(const std::vector<Script>& scripts, double seconds) {
  for (std::thread& thread : Launch(scripts, seconds)) thread.join();
  return Trouble();
}

std::string Siege::Trouble() const {
  if (daemon_.EndsWithin(0)) return "the server has ended";
  if (const std::string wrong = ledger_.wrong(); !wrong.empty()) return wrong;
  if (const std::string wrong = honest_->wrong(); !wrong.empty()) return wrong;
  const uint64_t peak = UsageOf(daemon_.pid()).peak_mib;
  if (!kSanitized && peak > before_.peak_mib + kMostMib) {
    return fmt::format("the server took {} MiB, {} before", peak, before_.peak_mib);
  }
  return CheckFetches();
}

// Expects that no page is assigned much more often than the others, because all pages are alike.
std::string Siege::CheckFetches() const {
  const auto [url, fetches] = ledger_.Worst();
  const uint64_t share = ledger_.assignments() / kHonestPages;
  if (fetches <= 20 + 5 * share) return {};
  return fmt::format("{} was handed out {} times, of {} assignments of all pages", url, fetches,
                     ledger_.assignments());
}

// Waits until the connections of disconnected clients are closed and their threads have ended.
std::string Siege::CheckLeftovers() {
  Usage after;
  const auto few_left = [&] {
    after = UsageOf(daemon_.pid());
    return after.threads <= before_.threads + kMostThreadsLeft &&
           after.files <= before_.files + kMostFilesLeft;
  };
  if (Eventually(few_left, Duration::Seconds(kPatienceSeconds))) return {};
  return fmt::format("{} threads and {} open files are left, {} and {} before", after.threads,
                     after.files, before_.threads, before_.files);
}

std::string Siege::End(const std::vector<Script>& scripts) {
  std::string wrong = CheckLeftovers();
  if (!wrong.empty()) return wrong;
  honest_->Stop();
  wrong = honest_->CheckPages();
  if (wrong.empty()) wrong = Trouble();
  if (!wrong.empty()) return wrong;
  const Usage after = UsageOf(daemon_.pid());
  std::string served;
  for (const Served& client : honest_->served()) {
    served += fmt::format("; {} {} times, at worst in {:.3f} s", client.client, client.exchanges,
                          client.worst_seconds);
  }
  fmt::print(
      "hostile: {} assignments, the most frequent page {} times; {} MiB at most, {} before{}\n",
      ledger_.assignments(), ledger_.Worst().second, after.peak_mib, before_.peak_mib, served);

  std::vector<std::thread> threads = Launch(scripts, 0.5);
  LetPass(Duration::Millis(200));
  daemon_.RequestStop();
  const bool ended = daemon_.EndsWithin(3 * kPatienceSeconds);
  for (std::thread& thread : threads) thread.join();
  if (!ended) return "the server did not stop";
  wrong = daemon_.AwaitEnd();
  return wrong.empty() ? daemon_.Verify(flags_) : "on SIGTERM: " + wrong;
}

}  // namespace

std::string RunSiege(const std::string& directory, const std::vector<Script>& scripts,
                     uint64_t seed, double seconds, bool guarded) {
  Siege siege(directory, seed, guarded);
  std::string wrong = siege.Begin();
  if (!wrong.empty()) return "none: " + wrong;
  const double turn = seconds / 2 / static_cast<double>(scripts.size());
  for (const Script& script : scripts) {
    wrong = siege.Play({script}, turn);
    if (!wrong.empty()) return fmt::format("{}: {}", script.name, wrong);
  }
  const char* all = scripts.size() == 1 ? scripts[0].name : "all";
  wrong = siege.Play(scripts, seconds / 2);
  if (wrong.empty()) wrong = siege.End(scripts);
  return wrong.empty() ? "" : fmt::format("{}: {}", all, wrong);
}

}  // namespace freshet::hostile
