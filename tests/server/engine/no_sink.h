// A sink that ignores the assignments of its worker.
#ifndef FRESHET_TESTS_SERVER_ENGINE_NO_SINK_H_
#define FRESHET_TESTS_SERVER_ENGINE_NO_SINK_H_

#include <vector>

#include "server/engine/worker_pool.h"

namespace freshet {

class NoSink final : public AssignmentSink {
 public:
  void Deliver(std::vector<Assignment> /*assignments*/, Outlook /*outlook*/) override {}
  void OnPause(bool /*paused*/) override {}
  void OnStall(const Status& /*why*/) override {}
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SERVER_ENGINE_NO_SINK_H_
