// A server that may open few files gets more connections than it has descriptors, and makes a
// checkpoint in the meantime. It continues to serve connected clients. Once there are free
// descriptors again, it serves all clients.
#include <filesystem>
#include <vector>

#include "fmt/format.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "tests/crash/daemon.h"
#include "tests/hostile/honest.h"
#include "tests/hostile/scripts.h"
#include "tests/hostile/socket.h"

namespace freshet::hostile {
namespace {

std::vector<std::string> Urls(int round) {
  std::vector<std::string> urls;
  for (int i = 0; i < 1000; ++i) urls.push_back(fmt::format("https://a.test/{}/{}", round, i));
  return urls;
}

std::string Checkpoint(const std::shared_ptr<grpc::Channel>& channel, const std::string& name) {
  grpc::ClientContext call;
  v1::CreateCheckpointRequest request;
  request.set_name(name);
  v1::CreateCheckpointResponse response;
  const grpc::Status status =
      v1::AdminService::NewStub(channel)->CreateCheckpoint(&call, request, &response);
  return status.ok() ? "" : "checkpoint: " + status.error_message();
}

}  // namespace

std::string Descriptors(const std::string& directory, Random random) {
  std::filesystem::create_directories(directory);
  crash::Daemon daemon("data", directory + "/log", directory);
  daemon.LimitFiles(256);
  daemon.Spawn({});
  std::string wrong = daemon.AwaitReady();
  if (!wrong.empty()) return wrong;
  const auto early = Connect(daemon.grpc_address());
  wrong = Insist([&] { return UpsertOnce(early, Urls(0)); });
  if (!wrong.empty()) return "before: " + wrong;
  {
    std::vector<Socket> idle;
    for (int i = 0; i < 400; ++i) {
      idle.emplace_back(random.Below(2) == 0 ? daemon.grpc_address() : daemon.http_address(), 200);
    }
    for (int round = 1; round < 4; ++round) {
      const std::string name = fmt::format("crowded{}", round);
      wrong = Insist([&] { return Checkpoint(early, name); });
      if (!wrong.empty()) return "while idle clients hold connections: " + wrong;
      wrong = Insist([&] { return UpsertOnce(early, Urls(round)); });
      if (!wrong.empty()) return "while idle clients hold connections: " + wrong;
    }
  }
  const auto late = Connect(daemon.grpc_address());
  wrong = Insist([&] { return UpsertOnce(late, Urls(4)); });
  if (wrong.empty()) wrong = Insist([&] { return ProbeOnce(daemon.http_address(), "/readyz"); });
  if (wrong.empty()) wrong = Checkpoint(late, "later");
  if (!wrong.empty()) return "when the idle clients had gone: " + wrong;
  daemon.RequestStop();
  if (!daemon.EndsWithin(3 * kPatienceSeconds)) return "the server did not stop";
  wrong = daemon.AwaitEnd();
  return wrong.empty() ? daemon.Verify({}) : wrong;
}

}  // namespace freshet::hostile
