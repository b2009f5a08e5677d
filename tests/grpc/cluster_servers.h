// Servers of clusters in the process of the test. The brokers are the mocks of librdkafka, which do
// not fence. tests/fleet has real ones.
#ifndef FRESHET_TESTS_GRPC_CLUSTER_SERVERS_H_
#define FRESHET_TESTS_GRPC_CLUSTER_SERVERS_H_

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <type_traits>

#include "httplib.h"
#include "storage/kafka/tenure.h"
#include "tests/grpc/test_server.h"
#include "tests/storage/kafka/mock_kafka.h"

namespace freshet {

class ClusterServers : public testing::Test {
 protected:
  using Admin = v1::AdminService::Stub;

  explicit ClusterServers(int brokers = 1) : kafka_("mock", /*partitions=*/2, brokers) {}

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
      config->max_lateness = Duration::Millis(500);
    };
  }
  // Makes the topics of a fleet with two divisions.
  void MakeFleetTopics() {
    for (const char* of : {"mock-0-of-2", "mock-1-of-2", "mock-rate-of-2"}) kafka_.MakeTopics(of);
  }
  // Waits until Kafka has the address of this server. While another server joins the group, the
  // mock brokers accept nothing from this server. The join can take longer than a call waits.
  void AwaitAnnounced(const TestServer& server) {
    const ClusterConfig& cluster = server.config.cluster;
    KafkaOptions options = kafka_.options();
    options.cluster = cluster.NameOf(cluster.slots().division);
    StatusOr<std::unique_ptr<KafkaListener>> listener = KafkaListener::Open(options);
    ASSERT_TRUE(listener.ok()) << listener.status();
    ASSERT_TRUE(Eventually([&] {
      const StatusOr<std::string> word = (*listener)->Announced(std::chrono::seconds(1));
      return word.ok() && word->find(server.info.grpc_address) != std::string::npos;
    }));
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

// A server with the same settings as another, but a separate directory. Both run at the same time.
struct SecondServer {
  explicit SecondServer(const ServerConfig& like, const std::string& node = "") : config(like) {
    config.data_dir = dir / "standby";
    config.cluster.node = node;
    server = std::make_unique<Server>(config, clock);
    started = std::async(std::launch::async, [this] { return server->Start(); });
  }

  TempDir dir;
  ServerConfig config;
  SystemClock clock;
  std::unique_ptr<Server> server;
  std::future<StatusOr<ServingInfo>> started;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_GRPC_CLUSTER_SERVERS_H_
