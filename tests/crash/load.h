// Clients of every kind that run at the same time until the server is gone.
#ifndef FRESHET_TESTS_CRASH_LOAD_H_
#define FRESHET_TESTS_CRASH_LOAD_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sync/mutex.h"
#include "tests/crash/knowledge.h"

namespace freshet::crash {

// The clients of one run. Thread-compatible.
class Load {
 public:
  Load(Knowledge* knowledge, std::shared_ptr<grpc::Channel> channel);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  void Start();
  // Waits until some operations have been acknowledged.
  void AwaitTraffic() const;
  // Ends the clients cleanly, so that everything that was sent is answered.
  void Stop();
  // Ends all waits after the server was killed.
  void Abandon();

 private:
  void Upserts();
  void Signals();
  void Reports();
  void Work();
  void Next();
  void Removals();
  void Look();
  void Operate();
  // Sends messages made by `build`, several at a time, and reads their answers.
  template <typename Stream, typename Request, typename Response, typename Build>
  void Pump(Stream& stream, Build build);
  void Enter(grpc::ClientContext* call);
  void Leave(grpc::ClientContext* call);
  [[nodiscard]] bool Going() const { return !stopping_; }
  void Run(void (Load::*client)());

  Knowledge& knowledge_;
  const std::shared_ptr<grpc::Channel> channel_;
  std::vector<std::thread> threads_;
  std::atomic<bool> stopping_{false};
  std::atomic<uint64_t> first_acknowledged_{0};
  Mutex mutex_;  // guards the fields below
  std::set<grpc::ClientContext*> calls_;
  bool abandoned_ = false;
};

}  // namespace freshet::crash

#endif  // FRESHET_TESTS_CRASH_LOAD_H_
