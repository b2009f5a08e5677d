#include "tests/crash/lane.h"

#include <filesystem>
#include <fstream>
#include <thread>

#include "fmt/format.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "tests/support/wall_time.h"

namespace freshet::crash {
namespace {

// After this many runs, the database has become large, and the lane starts again with an empty one.
constexpr uint64_t kRunsPerLife = 25;
constexpr int kHosts = 12;
constexpr int kPages = 500;
constexpr double kFirstRate = 1000;

constexpr const char* kConfig = R"(
errors: {backoff: 50ms, max_backoff: 200ms}
epochs: {interval: 300ms}
shutdown: {grace: 30ms}
politeness: {min_delay: 0, max_in_flight: 0, min_page_interval: 0, throttle_backoff: 0}
)";

std::map<std::string, v1::Page> ListAll(const std::shared_ptr<grpc::Channel>& channel,
                                        Knowledge* knowledge) {
  const auto stub = v1::PagesService::NewStub(channel);
  grpc::ClientContext call;
  const auto stream = stub->ListPages(&call, {});
  std::map<std::string, v1::Page> all;
  v1::ListPagesResponse response;
  while (stream->Read(&response)) {
    for (const v1::Page& page : response.pages()) {
      if (!all.emplace(Knowledge::KeyOf(page.crawl_id(), page.url()), page).second) {
        knowledge->Fail(page.url() + " is listed twice");
      }
    }
  }
  const grpc::Status status = stream->Finish();
  if (!status.ok()) knowledge->Fail("pages cannot be listed: " + status.error_message());
  return all;
}

}  // namespace

Lane::Lane(uint64_t seed, std::string directory, Tally* tally)
    : seed_(seed), directory_(std::move(directory)), tally_(*tally), random_(seed) {
  std::filesystem::create_directories(directory_);
  std::ofstream(directory_ + "/freshet.yaml") << kConfig;
}

std::vector<std::string> Lane::Flags() const {
  return {
      "--config",     directory_ + "/freshet.yaml", "--shards",     std::to_string(shards_),
      "--durability", sync_ ? "sync" : "wal",       "--crawl-rate", fmt::format("{}", kFirstRate)};
}

std::string Lane::Verify() {
  if (daemon_ == nullptr) return {};
  ++tally_.verified;
  return daemon_->Verify(Flags());
}

void Lane::BeginLife(uint64_t life) {
  std::error_code error;
  if (!data_dir_.empty()) std::filesystem::remove_all(data_dir_, error);
  data_dir_ = fmt::format("{}/life{}", directory_, life);
  daemon_ = std::make_unique<Daemon>(data_dir_, directory_ + "/log");
  knowledge_ = std::make_unique<Knowledge>(seed_ + life, kHosts, kPages);
  knowledge_->rate.value = kFirstRate;
  knowledge_->policy.value = "default";
  knowledge_->sources = {"cdn", "feed", "indexnow", "sitemap"};
}

std::string Lane::Run(uint64_t run) {
  random_.seed(seed_ * 1'000'003 + run);
  if (run % kRunsPerLife == 0) {
    if (const std::string wrong = Verify(); !wrong.empty()) return wrong;
    BeginLife(run / kRunsPerLife);
  }
  const int shards_before = shards_;
  if (Below(10) < 3) shards_ = static_cast<int>(1 + Below(3));
  sync_ = Below(10) < 7;
  if (Below(10) < 2) KillWhileStarting();
  const int64_t before = NowMicros();
  if (knowledge_->failure().empty()) {
    daemon_->Spawn(Flags());
    if (const std::string wrong = daemon_->AwaitReady(); !wrong.empty()) {
      Fail(wrong);
    } else {
      const int shards_now = std::exchange(shards_, shards_before);
      Compare(before);
      shards_ = shards_now;
    }
  }
  if (knowledge_->failure().empty()) {
    load_ = std::make_unique<Load>(knowledge_.get(), daemon_->channel());
    const uint64_t acknowledged = knowledge_->acknowledged;
    knowledge_->stopping = false;
    load_->Start();
    load_->AwaitTraffic();
    Finish(PickEnd());
    load_.reset();
    tally_.acknowledged += knowledge_->acknowledged - acknowledged;
  }
  return knowledge_->failure();
}

// --- Ways to end a run

void Lane::Kill() {
  const std::string wrong = daemon_->Kill();
  if (!wrong.empty()) Fail(wrong);
  ++tally_.kills;
}

void Lane::RequestStop() {
  {
    const MutexLock lock(knowledge_->mutex);
    knowledge_->stopping = true;
  }
  daemon_->RequestStop();
}

void Lane::KillWhileStarting() {
  for (int64_t times = 1 + Below(2); times > 0; --times) {
    daemon_->Spawn(Flags());
    LetPass(Duration::Micros(Below(100'000)));
    Kill();
    ++tally_.starting;
  }
}

Lane::End Lane::PickEnd() {
  const int64_t dice = Below(100);
  if (dice < 50) return End::kLoad;
  if (dice < 65) return End::kEpoch;
  if (dice < 78) return End::kCheckpoint;
  if (dice < 88) return End::kStopping;
  return dice < 93 ? End::kStopped : End::kQuiet;
}

void Lane::Finish(End end) {
  LetPass(Duration::Micros(Below(end == End::kLoad ? 120'000 : 50'000)));
  if (end == End::kQuiet) return FinishQuiet();
  const auto stub = v1::AdminService::NewStub(daemon_->channel());
  grpc::ClientContext call;
  std::thread other;
  if (end == End::kEpoch) {
    ++tally_.epochs;
    other = std::thread([&] {
      v1::RunEpochResponse response;
      (void)stub->RunEpoch(&call, {}, &response);
    });
    LetPass(Duration::Micros(Below(6'000)));
  } else if (end == End::kCheckpoint) {
    ++tally_.copies;
    v1::CreateCheckpointRequest request;
    request.set_name(fmt::format("c{}", ++copies_));
    other = std::thread([&stub, &call, request] {
      v1::CreateCheckpointResponse response;
      (void)stub->CreateCheckpoint(&call, request, &response);
    });
    LetPass(Duration::Micros(Below(15'000)));
  } else if (end == End::kStopping) {
    ++tally_.stopping;
    RequestStop();
    LetPass(Duration::Micros(Below(60'000)));
  }
  if (end == End::kStopped) {
    ++tally_.stops;
    RequestStop();
    const std::string wrong = daemon_->AwaitEnd();
    if (!wrong.empty()) Fail(wrong);
  } else {
    Kill();
  }
  load_->Abandon();
  if (other.joinable()) other.join();
  std::error_code error;
  std::filesystem::remove_all(data_dir_ + "/checkpoints", error);
}

void Lane::FinishQuiet() {
  ++tally_.quiet;
  load_->Stop();
  const Export before = ReadSettled();
  if (Below(2) == 0) Copy();
  Kill();
  daemon_->Spawn(Flags());
  if (const std::string wrong = daemon_->AwaitReady(); !wrong.empty()) return Fail(wrong);
  CompareExports(before, ReadAll(daemon_->channel()), "a crash");
  Kill();
}

void Lane::Copy() {
  const Export before = ReadAll(daemon_->channel());
  const auto stub = v1::AdminService::NewStub(daemon_->channel());
  grpc::ClientContext call;
  v1::CreateCheckpointRequest request;
  v1::CreateCheckpointResponse response;
  request.set_name(fmt::format("c{}", ++copies_));
  const grpc::Status status = stub->CreateCheckpoint(&call, request, &response);
  if (!status.ok()) return Fail("no checkpoint was made: " + status.error_message());
  Daemon copy(response.path(), directory_ + "/log");
  copy.Spawn(Flags());
  if (const std::string wrong = copy.AwaitReady(); !wrong.empty()) return Fail(wrong);
  CompareExports(before, ReadAll(copy.channel()), "a checkpoint");
}

// --- Comparing

Lane::Export Lane::ReadAll(const std::shared_ptr<grpc::Channel>& channel) {
  const auto stub = v1::PagesService::NewStub(channel);
  grpc::ClientContext call;
  const auto stream = stub->ExportPages(&call, {});
  Export all;
  v1::ExportPagesResponse response;
  while (stream->Read(&response)) {
    for (v1::PageRecord& record : *response.mutable_pages()) {
      // Removes leases and estimates, which change with time.
      record.mutable_page()->clear_lease();
      record.mutable_page()->clear_unanswered_leases();
      record.clear_estimates();
      const v1::Page& page = record.page();
      all[Knowledge::KeyOf(page.crawl_id(), page.url())] = record.SerializeAsString();
    }
  }
  const grpc::Status status = stream->Finish();
  if (!status.ok()) Fail("pages cannot be exported: " + status.error_message());
  return all;
}

// Waits for work that the last operations have caused. For example, the signals of a burst are
// weighed again.
Lane::Export Lane::ReadSettled() {
  Export last = ReadAll(daemon_->channel());
  for (int i = 0; i < 100; ++i) {
    Export next = ReadAll(daemon_->channel());
    if (next == last) break;
    last = std::move(next);
  }
  return last;
}

void Lane::CompareExports(const Export& before, const Export& after, const std::string& what) {
  if (before.size() != after.size()) {
    return Fail(fmt::format("{} left {} of {} pages", what, after.size(), before.size()));
  }
  for (const auto& [key, record] : before) {
    const auto it = after.find(key);
    if (it == after.end() || it->second != record) return Fail(what + " changed " + key);
  }
}

void Lane::Compare(int64_t before) {
  const std::map<std::string, v1::Page> pages = ListAll(daemon_->channel(), knowledge_.get());
  const int64_t after = NowMicros();
  if (daemon_->pages() != pages.size()) {
    Fail(
        fmt::format("the ready line says {} pages, {} are listed", daemon_->pages(), pages.size()));
  }
  {
    const MutexLock lock(knowledge_->mutex);
    knowledge_->Compare(pages, before, after, shards_ == 1);
  }
  CompareHosts(pages, after);
  CompareSettings(pages, after);
}

void Lane::CompareHosts(const std::map<std::string, v1::Page>& pages, int64_t after) {
  const auto stub = v1::AdminService::NewStub(daemon_->channel());
  std::map<std::string, std::pair<uint32_t, uint32_t>> open;  // minimum and maximum, by host
  for (const auto& [key, page] : pages) {
    if (!page.has_lease()) continue;
    auto& [least, most] = open[page.host()];
    ++most;
    if (MicrosOf(page.lease().deadline()) > after + 10'000'000) ++least;
  }
  for (auto& [name, setting] : knowledge_->hosts) {
    v1::GetHostRequest request;
    v1::GetHostResponse response;
    request.set_host(name);
    grpc::ClientContext call;
    const grpc::Status status = stub->GetHost(&call, request, &response);
    HostFacts seen;
    if (status.ok()) {
      const v1::HostState& state = response.host_state();
      seen.min_delay = state.min_delay().seconds() * 1'000'000 + state.min_delay().nanos() / 1000;
      seen.max_in_flight = state.max_in_flight();
      seen.min_page_interval = state.min_page_interval().seconds() * 1'000'000 +
                               state.min_page_interval().nanos() / 1000;
      seen.customised = state.customised();
      seen.blocked_until = MicrosOf(state.blocked_until());
      const auto [least, most] = open[name];
      const uint32_t removed = knowledge_->removed_of[name];
      if (state.in_flight() < least || state.in_flight() > most + removed) {
        Fail(fmt::format("{} has {} pages out, {} have a lease, {} are removed", name,
                         state.in_flight(), most, removed));
      }
    } else if (status.error_code() != grpc::StatusCode::NOT_FOUND) {
      Fail(name + " cannot be read: " + status.error_message());
    }
    if (!setting.Allows(seen)) {
      Fail(fmt::format(
          "{} has delay {} us, limit {}, page interval {} us, block {}; expected {}, {}, {}, {}",
          name, seen.min_delay, seen.max_in_flight, seen.min_page_interval, seen.blocked_until,
          setting.value.min_delay, setting.value.max_in_flight, setting.value.min_page_interval,
          setting.value.blocked_until));
    }
    setting.Settle(seen);
  }
}

void Lane::CompareSettings(const std::map<std::string, v1::Page>& pages, int64_t after) {
  const auto stub = v1::AdminService::NewStub(daemon_->channel());
  v1::GetStatisticsResponse statistics;
  v1::ListSourcesResponse sources;
  grpc::ClientContext statistics_call;
  grpc::ClientContext sources_call;
  if (!stub->GetStatistics(&statistics_call, {}, &statistics).ok() ||
      !stub->ListSources(&sources_call, {}, &sources).ok()) {
    return Fail("statistics cannot be read");
  }
  const v1::ScheduleStatistics& schedule = statistics.schedule();
  uint64_t least = 0;
  uint64_t most = knowledge_->removed;
  for (const auto& [key, page] : pages) {
    most += page.has_lease() ? 1 : 0;
    least += page.has_lease() && MicrosOf(page.lease().deadline()) > after + 10'000'000 ? 1 : 0;
  }
  if (statistics.pages().pages() != pages.size() || schedule.open_leases() < least ||
      schedule.open_leases() > most) {
    Fail(fmt::format("statistics count {} pages and {} leases, listed are {} and {}",
                     statistics.pages().pages(), schedule.open_leases(), pages.size(), most));
  }
  if (!knowledge_->rate.Allows(schedule.crawl_rate_per_second())) {
    Fail(fmt::format("the rate is {}, expected {}", schedule.crawl_rate_per_second(),
                     knowledge_->rate.value));
  }
  if (!knowledge_->policy.Allows(schedule.policy())) {
    Fail(fmt::format("the policy is {}, expected {}", schedule.policy(), knowledge_->policy.value));
  }
  if (!knowledge_->paused.Allows(schedule.paused())) Fail("the pause is not what it was");
  knowledge_->rate.Settle(schedule.crawl_rate_per_second());
  knowledge_->policy.Settle(schedule.policy());
  knowledge_->paused.Settle(schedule.paused());
  std::set<std::string> known;
  for (const v1::Source& source : sources.sources()) known.insert(source.source());
  for (const std::string& source : knowledge_->sources) {
    if (!known.contains(source)) Fail("the source " + source + " is lost");
  }
}

}  // namespace freshet::crash
