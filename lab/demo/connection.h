// A connection to freshetd, with readable errors.
#ifndef FRESHET_LAB_DEMO_CONNECTION_H_
#define FRESHET_LAB_DEMO_CONNECTION_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/status.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"
#include "lab/demo/ledger.h"
#include "lab/demo/replayed_history.h"
#include "tools/common/client_channel.h"

namespace freshet::demo {

// Converts Unix microseconds to the API's timestamps.
[[nodiscard]] google::protobuf::Timestamp ToTimestamp(int64_t micros);
[[nodiscard]] int64_t ToMicros(const google::protobuf::Timestamp& timestamp);

// Returns a status with the message "doing WHAT: reason", and the code of the same name.
[[nodiscard]] Status FromGrpc(const grpc::Status& status, std::string_view what);

// Returns OK unless the batch or one of its items was refused. Duplicates, stale signals and
// results of ended leases are not errors. The error gives the first reason.
[[nodiscard]] Status CheckAck(const v1::BatchAck& ack, std::string_view what);

// The pages of a history that a server knows, and their last crawls. Value type, thread-compatible.
struct KnownPages {
  std::vector<bool> known;
  LastCrawls last_crawls;
  uint64_t foreign = 0;  // pages of the server outside this history
};

// Thread-safe.
class Connection {
 public:
  // Connects. Unavailable: the server does not answer within `timeout_micros`.
  static StatusOr<std::unique_ptr<Connection>> Open(const std::string& address,
                                                    const ClientSecurity& security,
                                                    int64_t timeout_micros);

  // Calls GetStatistics with a deadline of ten seconds.
  [[nodiscard]] StatusOr<v1::GetStatisticsResponse> Statistics();
  [[nodiscard]] StatusOr<KnownPages> ListKnownPages(const ReplayedHistory& replayed);

  [[nodiscard]] const std::string& address() const { return address_; }
  [[nodiscard]] v1::SchedulerService::Stub& scheduler() { return *scheduler_; }
  [[nodiscard]] v1::IngestService::Stub& ingest() { return *ingest_; }
  [[nodiscard]] v1::PagesService::Stub& pages() { return *pages_; }

 private:
  Connection(std::string address, const std::shared_ptr<grpc::Channel>& channel);

  const std::string address_;
  const std::unique_ptr<v1::SchedulerService::Stub> scheduler_;
  const std::unique_ptr<v1::IngestService::Stub> ingest_;
  const std::unique_ptr<v1::PagesService::Stub> pages_;
  const std::unique_ptr<v1::AdminService::Stub> admin_;
};

}  // namespace freshet::demo

#endif  // FRESHET_LAB_DEMO_CONNECTION_H_
