// Tests `freshet health` with gRPC servers whose health the tests set.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/cli/fake_server.h"

namespace freshet::cli {
namespace {

using testing::HasSubstr;

// A server with gRPC's built-in health service, and a service named freshet.v1.PagesService.
class HealthCommandTest : public testing::Test {
 protected:
  HealthCommandTest() {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::ServerBuilder builder;
    builder.RegisterService(&pages_);
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    server_ = builder.BuildAndStart();
    grpc::EnableDefaultHealthCheckService(false);
    Tell("freshet.v1.PagesService", true);
  }

  void Tell(const std::string& service, bool serving) {
    server_->GetHealthCheckService()->SetServingStatus(service, serving);
  }
  void TellAll(bool serving) { server_->GetHealthCheckService()->SetServingStatus(serving); }
  Outcome Health(std::vector<std::string> arguments = {}) {
    std::vector<std::string> line = {"--server", "127.0.0.1:" + std::to_string(port_), "health"};
    line.insert(line.end(), arguments.begin(), arguments.end());
    return RunClient(line);
  }

 private:
  FakePages pages_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(HealthCommandTest, ServingIsExitCodeZero) {
  const Outcome all = Health();
  EXPECT_EQ(all.code, kAccepted) << all.err;
  EXPECT_EQ(all.out, "SERVING\n");
  EXPECT_EQ(Health({"freshet.v1.PagesService"}).out, "SERVING\n");
  EXPECT_EQ(Health({"--json"}).out, "{\"status\":\"SERVING\"}\n");
}

TEST_F(HealthCommandTest, NotServingIsExitCodeOne) {
  TellAll(false);
  const Outcome all = Health();
  EXPECT_EQ(all.code, kRefused);
  EXPECT_EQ(all.out, "NOT_SERVING\n");
}

TEST_F(HealthCommandTest, OneServiceIsAskedForByItsName) {
  Tell("freshet.v1.PagesService", false);
  EXPECT_EQ(Health({"freshet.v1.PagesService"}).code, kRefused);
  EXPECT_EQ(Health().code, kAccepted);
}

TEST_F(HealthCommandTest, UnknownServiceIsNamed) {
  const Outcome unknown = Health({"freshet.v1.Nobody"});
  EXPECT_EQ(unknown.code, kRefused);
  EXPECT_THAT(unknown.err, HasSubstr("no service is called freshet.v1.Nobody"));
}

TEST(HealthCommandWithoutServerTest, NobodyThereIsExitCodeThree) {
  const Outcome none = RunClient({"--server", "127.0.0.1:1", "--connect-timeout", "0.2", "health"});
  EXPECT_EQ(none.code, kUnreachable);
  EXPECT_EQ(none.out, "");
}

}  // namespace
}  // namespace freshet::cli
