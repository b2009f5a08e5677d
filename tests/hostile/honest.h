// Clients that do as they should, beside the hostile ones: a fetch worker, an ingester and a prober
// of the HTTP port. Each goes on and on, and must be answered in time, always.
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

// Far more than anybody should wait, for machines that are slow and busy.
inline constexpr int kPatienceSeconds = 120;

// Repeats `exchange`, which returns empty or what went wrong, until it succeeds. Empty, or what
// went wrong last if it does not succeed in time.
std::string Insist(const std::function<std::string()>& exchange);

// One message of pages, acknowledged. Empty, or what went wrong.
std::string UpsertOnce(const std::shared_ptr<grpc::Channel>& channel,
                       const std::vector<std::string>& urls);

// One request of the HTTP port. Empty if it is answered by 200, else what came instead.
std::string ProbeOnce(const std::string& http_address, const std::string& path);

// What kind of client did how much, and how long the longest wait was.
struct Served {
  const char* client = "";
  uint64_t exchanges = 0;
  double worst_seconds = 0;
};

// Thread-compatible.
class Honest {
 public:
  explicit Honest(const Target& target);
  ~Honest() { Stop(); }
  Honest(const Honest&) = delete;
  Honest& operator=(const Honest&) = delete;

  // Makes the pages known that everyone knows. Empty, or what went wrong.
  [[nodiscard]] std::string Prepare();
  void Start();
  void Stop();
  // Empty, or who was not answered in time.
  [[nodiscard]] std::string wrong() const;
  // Empty, or a page that was acknowledged and is not listed. After Stop.
  [[nodiscard]] std::string CheckPages();
  // After Stop.
  [[nodiscard]] const std::vector<Served>& served() const { return served_; }

 private:
  // Repeats an exchange until Stop, with a pause in between.
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
  std::vector<std::string> acknowledged_;  // of the ingester's thread
  std::atomic<bool> stopping_{false};
  mutable Mutex mutex_;
  std::string wrong_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_HONEST_H_
