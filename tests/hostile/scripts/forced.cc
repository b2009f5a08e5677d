// Two tenants force pages. One may add pages only on its own domain, and forces thousands of pages
// on as many hosts. The other may use only its own crawl id, and forces pages of thousands of
// domains. Valuable pages of other tenants must keep the rest of the crawl rate, and forced pages
// of other tenants must be picked, too.
#include <ctime>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
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
// The maximum number of forced assignments: a quarter of all, and some more for leases that were
// made before the late pages were added.
constexpr int kMostForced = kAssignments * 35 / 100;
// The minimum number of forced assignments that other tenants must get. Forced pages get a quarter
// of all assignments, and other tenants get half of that quarter. The divisor 3 instead of 2 allows
// for earlier leases.
constexpr int kLeastOfOthers = kAssignments / 4 / 3;

struct Forcer {
  std::string limits;  // limits of the identity
  std::string crawl_id;
  std::string_view host;  // host of each page; {} = number of the page
  std::string part;       // text that only the names of these hosts contain
};

const std::vector<Forcer>& Forcers() {
  static const std::vector<Forcer> kForcers = {
      {"hosts: [evil.example]", "DEFAULT", "h{}.evil.example", ".evil.example"},
      {"crawl_ids: [evil]", "evil", "www.evil{}.example", "www.evil"}};
  return kForcers;
}

std::string IdentityOf(const std::string& name, const std::string& rest) {
  return fmt::format("  - {{name: {}, token_sha256: {}, {}}}\n", name, HexOf(DigestOf(name)), rest);
}

std::shared_ptr<grpc::Channel> ConnectAs(const std::string& address, const std::string& name) {
  return Connect(address, ClientSecurity{.token = name});
}

// Adds valuable pages that were never fetched. With `forced`, adds worthless pages that are an hour
// late.
std::string Add(const std::shared_ptr<grpc::Channel>& channel, const std::string& crawl_id,
                std::string_view host, bool forced) {
  const auto stub = v1::PagesService::NewStub(channel);
  grpc::ClientContext call;
  const auto stream = stub->UpsertPages(&call);
  for (int first = 0; first < kPages; first += 500) {
    v1::UpsertPagesRequest request;
    for (int i = first; i < first + 500; ++i) {
      v1::PageSpec& page = *request.add_pages();
      page.set_url("https://" + fmt::format(fmt::runtime(host), i) + "/");
      page.set_crawl_id(crawl_id);
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

// Takes the next kAssignments assignments. Returns how many of their URLs contain each of `parts`;
// empty = too few assignments came.
std::vector<int> CountOf(const std::shared_ptr<grpc::Channel>& channel,
                         const std::vector<std::string>& parts) {
  const auto stub = v1::SchedulerService::NewStub(channel);
  int all = 0;
  std::vector<int> counts(parts.size());
  for (int call_number = 0; call_number < 200 && all < kAssignments; ++call_number) {
    grpc::ClientContext call;
    v1::NextRequest request;
    request.set_worker("w");
    request.set_max_assignments(50);
    request.mutable_max_wait()->set_seconds(2);
    v1::NextResponse response;
    if (!stub->Next(&call, request, &response).ok()) return {};
    for (const v1::Assignment& assignment : response.assignments()) {
      ++all;
      for (size_t i = 0; i < parts.size(); ++i) {
        counts[i] += assignment.url().find(parts[i]) != std::string::npos ? 1 : 0;
      }
    }
  }
  return all < kAssignments ? std::vector<int>() : counts;
}

std::string Watch(const std::string& address, const Forcer& forcer) {
  const auto good = ConnectAs(address, "good");
  const auto evil = ConnectAs(address, "evil");
  std::string wrong = Add(good, "DEFAULT", "h{}.good.test", /*forced=*/false);
  if (wrong.empty()) wrong = Add(good, "DEFAULT", "h{}.late.test", /*forced=*/true);
  if (wrong.empty()) wrong = Add(evil, forcer.crawl_id, forcer.host, /*forced=*/true);
  if (!wrong.empty()) return wrong;
  const std::vector<int> counts = CountOf(good, {forcer.part, ".late.test"});
  if (counts.empty()) return fmt::format("{} assignments did not come", kAssignments);
  if (counts[0] > kMostForced) {
    return fmt::format("{} of {} assignments are of whoever forces its pages", counts[0],
                       kAssignments);
  }
  if (counts[1] < kLeastOfOthers) {
    return fmt::format("{} of {} assignments are of others that are to go first, {} of {}",
                       counts[1], kAssignments, counts[0], forcer.part);
  }
  return {};
}

std::string Run(const std::string& directory, const Forcer& forcer) {
  std::filesystem::create_directories(directory);
  ReplaceFile(directory + "/auth.yaml",
              "identities:\n" + IdentityOf("good", "roles: [ingester, worker]") +
                  IdentityOf("evil", "roles: [ingester], " + forcer.limits));
  crash::Daemon daemon("data", directory + "/log", directory);
  daemon.Spawn({"--crawl-rate", "200", "--shards", "2", "--auth-file", "auth.yaml"});
  std::string wrong = daemon.AwaitReady();
  if (wrong.empty()) wrong = Watch(daemon.grpc_address(), forcer);
  if (!wrong.empty()) return wrong;
  daemon.RequestStop();
  if (!daemon.EndsWithin(3 * kPatienceSeconds)) return "the server did not stop";
  wrong = daemon.AwaitEnd();
  return wrong.empty() ? daemon.Verify({}) : wrong;
}

}  // namespace

std::string Forced(const std::string& directory, Random /*random*/) {
  for (size_t i = 0; i < Forcers().size(); ++i) {
    const std::string wrong = Run(fmt::format("{}/{}", directory, i), Forcers()[i]);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

}  // namespace freshet::hostile
