// Honest clients that run next to the hostile ones: a fetch worker, an ingester and a prober of the
// HTTP port. Each works all the time and must always be answered in time.
#ifndef FRESHET_TESTS_HOSTILE_HONEST_H_
#define FRESHET_TESTS_HOSTILE_HONEST_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "sync/mutex.h"
#include "tests/hostile/attack.h"

namespace freshet::hostile {

// How long an honest client may wait for success. The limit is generous, because test machines can
// be slow and busy.
inline constexpr int kPatienceSeconds = 120;

// Repeats `exchange`, which returns "" or an error, until it succeeds. Returns "", or the last
// error if it does not succeed in time.
std::string Insist(const std::function<std::string()>& exchange);

// Sends one message of pages and waits for its acknowledgement. Returns "" or an error.
std::string UpsertOnce(const std::shared_ptr<grpc::Channel>& channel,
                       const std::vector<std::string>& urls);

// Sends one request to the HTTP port. Returns "" for status 200; otherwise the answer.
std::string ProbeOnce(const std::string& http_address, const std::string& path);

// How often one kind of client was served, and its longest wait.
struct Served {
  const char* client = "";
  uint64_t exchanges = 0;
  double worst_seconds = 0;
};

// The honest clients. Thread-compatible.
class Honest {
 public:
  explicit Honest(const Target& target);
  ~Honest() { Stop(); }
  Honest(const Honest&) = delete;
  Honest& operator=(const Honest&) = delete;

  // Adds the pages that all clients know. Returns "" or an error.
  [[nodiscard]] std::string Prepare();
  void Start();
  void Stop();
  // Returns the client that was not answered in time; "" = none.
  [[nodiscard]] std::string wrong() const;
  // Returns an acknowledged page that is not listed; "" = none. Must be called after Stop().
  [[nodiscard]] std::string CheckPages();
  // Must be called after Stop().
  [[nodiscard]] const std::vector<Served>& served() const { return served_; }

 private:
  // Repeats an exchange until Stop(), with pauses in between.
  void Repeat(size_t client, const std::function<std::string()>& exchange);
  [[nodiscard]] std::string Work();
  [[nodiscard]] std::string Ingest();
  [[nodiscard]] std::string Probe();
  void Fail(const std::string& what);

  const Target target_;
  const std::shared_ptr<grpc::Channel> worker_channel_;
  const std::shared_ptr<grpc::Channel> ingest_channel_;
  std::vector<std::thread> threads_;
  std::vector<Served> served_ = {{"worker"}, {"ingester"}, {"prober"}};
  std::vector<std::string> acknowledged_;  // ingester's thread only
  std::atomic<bool> stopping_{false};
  mutable Mutex mutex_;
  std::string wrong_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_HONEST_H_
