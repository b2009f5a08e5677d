// Makes random operations whose effects are known.
#ifndef FRESHET_TESTS_CRASH_REQUESTS_H_
#define FRESHET_TESTS_CRASH_REQUESTS_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "freshet/v1/admin.grpc.pb.h"
#include "tests/crash/knowledge.h"

namespace freshet::crash {

// The caller must hold the Knowledge's mutex when it calls one of the first four functions. The
// last two functions lock the mutex.
[[nodiscard]] std::shared_ptr<Op> RandomUpsert(const Page& page, bool reset, Knowledge* knowledge);
[[nodiscard]] std::shared_ptr<Op> RandomSignal(const Page& page, uint32_t poll_size,
                                               Knowledge* knowledge);
// `lease`: 0 = a crawl that the server did not order.
[[nodiscard]] std::shared_ptr<Op> RandomResult(const Page& page, uint64_t lease,
                                               Knowledge* knowledge);
[[nodiscard]] std::shared_ptr<Op> Return(uint64_t lease);

// Pauses or resumes the server, which wakes every worker.
void TogglePause(v1::AdminService::Stub& stub, Knowledge* knowledge);
// Changes one setting of the server or a host, or runs an epoch. Returns false if the call failed.
[[nodiscard]] bool OperateOnce(v1::AdminService::Stub& stub, grpc::ClientContext* call,
                               Knowledge* knowledge);

}  // namespace freshet::crash

#endif  // FRESHET_TESTS_CRASH_REQUESTS_H_
