// A tenant that may add pages of its own domain alone, and has thousands of them go before all
// others, under as many hosts: the rest of the crawl rate stays with those who have pages of worth.
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "fmt/format.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "freshet/v1/scheduler.grpc.pb.h"
#include "server/auth/identities.h"
#include "tests/crash/daemon.h"
#include "tests/hostile/attack.h"
#include "tests/hostile/honest.h"
#include "tests/hostile/scripts.h"
#include "tests/hostile/socket.h"
#include "tests/support/test_certificates.h"
#include "tools/common/client_channel.h"

namespace freshet::hostile {
namespace {

constexpr int kPages = 2000;
constexpr int kAssignments = 400;
// Of the assignments: a quarter, and a little for what was leased before its pages were late.
constexpr int kMostForced = kAssignments * 35 / 100;

std::string IdentityOf(const std::string& name, const std::string& rest) {
  return fmt::format("  - {{name: {}, token_sha256: {}, {}}}\n", name, HexOf(DigestOf(name)), rest);
}

std::shared_ptr<grpc::Channel> ConnectAs(const std::string& address, const std::string& name) {
  return Connect(address, ClientSecurity{.token = name});
}

// Pages of worth that nobody has fetched yet, or worthless ones that were to be crawled an hour
// ago.
std::string Add(const std::shared_ptr<grpc::Channel>& channel, const std::string& domain,
                bool forced) {
  const auto stub = v1::PagesService::NewStub(channel);
  grpc::ClientContext call;
  const auto stream = stub->UpsertPages(&call);
  for (int first = 0; first < kPages; first += 500) {
    v1::UpsertPagesRequest request;
    for (int i = first; i < first + 500; ++i) {
      v1::PageSpec& page = *request.add_pages();
      page.set_url(fmt::format("https://h{}.{}/", i, domain));
      page.set_importance(forced ? 1e-9 : 1000);
      if (!forced) continue;
      page.mutable_max_interval()->set_seconds(1);
      page.mutable_last_crawl_time()->set_seconds(std::time(nullptr) - 3600);
    }
    v1::UpsertPagesResponse response;
    if (!stream->Write(request) || !stream->Read(&response)) {
      return "pages are not taken: " + stream->Finish().error_message();
    }
    if (response.ack().statuses_size() > 0) {
      return "a page is refused: " + response.ack().statuses(0).error().DebugString();
    }
  }
  stream->WritesDone();
  (void)stream->Finish();
  return {};
}

// Of the next assignments, how many are of the domain; below zero: too few came.
int CountOf(const std::shared_ptr<grpc::Channel>& channel, const std::string& domain) {
  const auto stub = v1::SchedulerService::NewStub(channel);
  int all = 0;
  int of_domain = 0;
  for (int call_number = 0; call_number < 200 && all < kAssignments; ++call_number) {
    grpc::ClientContext call;
    v1::NextRequest request;
    request.set_worker("w");
    request.set_max_assignments(50);
    request.mutable_max_wait()->set_seconds(2);
    v1::NextResponse response;
    if (!stub->Next(&call, request, &response).ok()) return -1;
    for (const v1::Assignment& assignment : response.assignments()) {
      ++all;
      of_domain += assignment.url().find("." + domain) != std::string::npos ? 1 : 0;
    }
  }
  return all < kAssignments ? -1 : of_domain;
}

}  // namespace

std::string Forced(const std::string& directory, Random /*random*/) {
  std::filesystem::create_directories(directory);
  ReplaceFile(directory + "/auth.yaml",
              "identities:\n" + IdentityOf("good", "roles: [ingester, worker]") +
                  IdentityOf("evil", "roles: [ingester], hosts: [evil.example]"));
  crash::Daemon daemon("data", directory + "/log", directory);
  daemon.Spawn({"--crawl-rate", "200", "--shards", "2", "--auth-file", "auth.yaml"});
  std::string wrong = daemon.AwaitReady();
  if (!wrong.empty()) return wrong;
  const auto good = ConnectAs(daemon.grpc_address(), "good");
  wrong = Add(good, "good.test", /*forced=*/false);
  if (wrong.empty()) {
    wrong = Add(ConnectAs(daemon.grpc_address(), "evil"), "evil.example", /*forced=*/true);
  }
  if (!wrong.empty()) return wrong;
  const int forced = CountOf(good, "evil.example");
  if (forced < 0) return fmt::format("{} assignments did not come", kAssignments);
  if (forced > kMostForced) {
    return fmt::format("{} of {} assignments are of whoever forces its pages", forced,
                       kAssignments);
  }
  daemon.RequestStop();
  if (!daemon.EndsWithin(3 * kPatienceSeconds)) return "the server did not stop";
  wrong = daemon.AwaitEnd();
  return wrong.empty() ? daemon.Verify({}) : wrong;
}

}  // namespace freshet::hostile
