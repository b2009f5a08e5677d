// A server that is killed again and again, and its data.
#ifndef FRESHET_TESTS_CRASH_LANE_H_
#define FRESHET_TESTS_CRASH_LANE_H_

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "freshet/v1/pages.pb.h"
#include "tests/crash/daemon.h"
#include "tests/crash/knowledge.h"
#include "tests/crash/load.h"

namespace freshet::crash {

// Counts of events in all lanes. Thread-safe.
struct Tally {
  std::atomic<uint64_t> kills{0};
  std::atomic<uint64_t> starting{0};  // kills before the server was ready
  std::atomic<uint64_t> epochs{0};    // kills during an epoch
  std::atomic<uint64_t> copies{0};    // kills during a checkpoint
  std::atomic<uint64_t> stopping{0};  // kills after SIGTERM
  std::atomic<uint64_t> quiet{0};     // kills after an export of everything
  std::atomic<uint64_t> stops{0};     // orderly stops instead of kills
  std::atomic<uint64_t> acknowledged{0};
  std::atomic<uint64_t> verified{0};  // stores verified at their end
};

// Runs one server of the crash test, with its data. Thread-compatible.
class Lane {
 public:
  Lane(uint64_t seed, std::string directory, Tally* tally);

  // Makes one run: starts the server, compares, loads and kills it. Returns "" or the error.
  [[nodiscard]] std::string Run(uint64_t run);
  // Checks the whole store as the last kill left it. Returns "" or the problems.
  [[nodiscard]] std::string Verify();

 private:
  enum class End { kLoad, kEpoch, kCheckpoint, kStopping, kStopped, kQuiet };
  using Export = std::map<std::string, std::string>;  // bytes of records, by page

  void BeginLife(uint64_t life);
  void KillWhileStarting();
  void Compare(int64_t before);
  void CompareHosts(const std::map<std::string, v1::Page>& pages, int64_t after);
  void CompareSettings(const std::map<std::string, v1::Page>& pages, int64_t after);
  [[nodiscard]] End PickEnd();
  void Finish(End end);
  // Stops the load, then the server. After the restart the server must show the same as before.
  void FinishQuiet();
  void Copy();
  [[nodiscard]] Export ReadAll(const std::shared_ptr<grpc::Channel>& channel);
  [[nodiscard]] Export ReadSettled();
  void CompareExports(const Export& before, const Export& after, const std::string& what);
  void Kill();
  void RequestStop();
  void Fail(const std::string& what) { knowledge_->Fail(what); }
  [[nodiscard]] int64_t Below(int64_t n) {
    return static_cast<int64_t>(random_() % static_cast<uint64_t>(n));
  }
  [[nodiscard]] std::vector<std::string> Flags() const;

  const uint64_t seed_;
  const std::string directory_;
  Tally& tally_;
  std::mt19937_64 random_;
  std::string data_dir_;
  std::unique_ptr<Knowledge> knowledge_;
  std::unique_ptr<Daemon> daemon_;
  std::unique_ptr<Load> load_;
  int shards_ = 1;
  bool sync_ = true;
  uint64_t copies_ = 0;
};

}  // namespace freshet::crash

#endif  // FRESHET_TESTS_CRASH_LANE_H_
