#include "lab/bench/served.h"

#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>
#include <utility>

#include "core/base/check.h"
#include "fmt/format.h"

namespace freshet {
namespace {

constexpr std::chrono::seconds kPatience{30};
// The server counts as idle if it uses less than this share of a core for half a second. The share
// is not smaller, because the kernel counts processor time in ticks.
constexpr double kRest = 0.06;
constexpr int kLongestRest = 60;  // unit: half a second

Status ToStatus(const grpc::Status& status) {
  if (status.ok()) return {};
  return MakeStatus(absl::StatusCode::kUnavailable, "the server said: {}", status.error_message());
}

}  // namespace

Status Served::Start(const std::string& dir) {
  if (options_.target.empty()) {
    RETURN_IF_ERROR(Launch(dir));
    RETURN_IF_ERROR(daemon_.AwaitReady());
  } else {
    RETURN_IF_ERROR(OpenChannel(options_.target, options_.security, {}).status());
  }
  const std::shared_ptr<grpc::Channel> channel = NewChannel();
  if (!channel->WaitForConnected(std::chrono::system_clock::now() + kPatience)) {
    return MakeStatus(absl::StatusCode::kUnavailable, "{}: not reachable", options_.target);
  }
  admin_ = v1::AdminService::NewStub(channel);
  v1::SetPolitenessDefaultsRequest none;
  none.mutable_min_delay();
  none.set_max_in_flight(0);
  none.mutable_min_page_interval();
  v1::SetPolitenessDefaultsResponse defaults;
  grpc::ClientContext defaults_call;
  RETURN_IF_ERROR(ToStatus(admin_->SetPolitenessDefaults(&defaults_call, none, &defaults)));
  v1::RegisterSourceRequest source;
  source.set_source(kBenchSource);
  v1::RegisterSourceResponse registered;
  grpc::ClientContext source_call;
  RETURN_IF_ERROR(ToStatus(admin_->RegisterSource(&source_call, source, &registered)));
  return SetCrawlRate(0);
}

Status Served::Launch(const std::string& dir) {
  const std::string config = dir + "/config.yml";
  std::ofstream(config) << "epochs: {interval: 0}\n";
  std::vector<std::string> flags = {"--config",     config,
                                    "--shards",     std::to_string(options_.shards),
                                    "--durability", options_.durability,
                                    "--crawl-rate", "0"};
  if (options_.tls) {
    certificates_ = std::make_unique<ServerCertificates>(dir);
    const std::vector<std::string> more = certificates_->flags();
    flags.insert(flags.end(), more.begin(), more.end());
  }
  return daemon_.Start(dir + "/data", dir + "/log", flags);
}

Status Served::ReplaceCertificate() {
  if (certificates_ == nullptr) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "the server does not speak TLS with certificates of ours: --tls");
  }
  certificates_->Replace();
  if (kill(daemon_.pid(), SIGHUP) == 0) return {};
  return MakeStatus(absl::StatusCode::kUnavailable, "the server is gone");
}

Status Served::Stop() { return options_.target.empty() ? daemon_.Stop() : Status(); }

Status Served::SetCrawlRate(double per_second) {
  v1::SetCrawlRateRequest request;
  request.set_crawl_rate_per_second(per_second);
  v1::SetCrawlRateResponse response;
  grpc::ClientContext call;
  return ToStatus(admin_->SetCrawlRate(&call, request, &response));
}

std::shared_ptr<grpc::Channel> Served::NewChannel() const {
  grpc::ChannelArguments arguments;
  // Without this setting, channels to the same address would share a connection.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(-1);
  ClientSecurity own;
  if (certificates_ != nullptr) own.ca = certificates_->ca();
  auto channel = options_.target.empty()
                     ? OpenChannel(daemon_.grpc_address(), own, arguments)
                     : OpenChannel(options_.target, options_.security, arguments);
  CHECK(channel.ok(), "{}", std::string(channel.status().message()));
  return *std::move(channel);
}

std::optional<ProcessUse> Served::Use() const {
  if (options_.target.empty()) return UseOf(daemon_.pid());
  if (options_.server_pid > 0) return UseOf(options_.server_pid);
  return std::nullopt;
}

std::map<std::string, double> Served::Metrics() const {
  const std::string& address =
      options_.target.empty() ? daemon_.http_address() : options_.target_http;
  if (address.empty()) return {};
  auto metrics = ReadMetrics(address, certificates_ == nullptr ? "" : certificates_->ca());
  return metrics.ok() ? *std::move(metrics) : std::map<std::string, double>();
}

void Served::AwaitRest() const {
  std::optional<ProcessUse> last = Use();
  for (int i = 0; last && i < kLongestRest; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(500));
    const std::optional<ProcessUse> now = Use();
    if (!now || now->cpu_seconds - last->cpu_seconds <= kRest / 2) return;
    last = now;
  }
}

}  // namespace freshet
