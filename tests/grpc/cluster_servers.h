// Servers of clusters in the test's process. The brokers are librdkafka's own for tests, which do
// not fence: tests/fleet has real ones.
#ifndef FRESHET_TESTS_GRPC_CLUSTER_SERVERS_H_
#define FRESHET_TESTS_GRPC_CLUSTER_SERVERS_H_

#include <string>
#include <type_traits>

#include "httplib.h"
#include "tests/grpc/test_server.h"
#include "tests/storage/kafka/mock_kafka.h"

namespace freshet {

class ClusterServers : public testing::Test {
 protected:
  using Admin = v1::AdminService::Stub;
  TestServer::Tweak InCluster(int divisions = 1, int division = 0,
                              const std::string& address = "127.0.0.1:0") {
    return [=, this](ServerConfig* config) {
      config->cluster = {.name = kafka_.options().cluster,
                         .brokers = kafka_.options().brokers,
                         .address = address,
                         .divisions = divisions,
                         .division = division,
                         .properties = kafka_.options().properties};
      config->shards = static_cast<int>(kafka_.options().partitions);
      config->frontier_enabled = false;
      config->max_lateness = Duration::Millis(500);
    };
  }
  static std::string Probe(const std::string& address, const std::string& path) {
    httplib::Client client("http://" + address);
    const httplib::Result result = client.Get(path);
    return result ? std::to_string(result->status) + " " + result->body : "";
  }
  template <typename Request, typename Response>
  static grpc::StatusCode CodeOf(TestServer& server,
                                 grpc::Status (Admin::*method)(grpc::ClientContext*, const Request&,
                                                               Response*),
                                 const std::type_identity_t<Request>& request) {
    Response response;
    grpc::ClientContext call;
    return (server.admin.get()->*method)(&call, request, &response).error_code();
  }
  template <typename Request, typename Response>
  static Response CallOf(TestServer& server,
                         grpc::Status (Admin::*method)(grpc::ClientContext*, const Request&,
                                                       Response*),
                         const std::type_identity_t<Request>& request) {
    Response response;
    grpc::ClientContext call;
    const grpc::Status status = (server.admin.get()->*method)(&call, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  MockKafka kafka_;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_GRPC_CLUSTER_SERVERS_H_
