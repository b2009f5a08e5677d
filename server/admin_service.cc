#include "server/admin_service.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/url.h"
#include "core/model/policy.h"
#include "server/convert.h"
#include "server/epochs_of_all.h"
#include "server/mutex.h"
#include "server/status.h"

namespace freshet {
namespace {

constexpr size_t kMaxReasonBytes = 256;

grpc::Status StoppingStatus() {
  return {grpc::StatusCode::UNAVAILABLE, "the server is shutting down"};
}

grpc::ServerUnaryReactor* Finished(grpc::CallbackServerContext* call, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

// Answers for a host on its shard's thread. A host may have settings and no page.
void FinishWithHost(const ServerContext& context, const std::string& host,
                    v1::HostState* host_state, grpc::ServerUnaryReactor* reactor) {
  const bool asked =
      context.router.OwnerOf(SlotOfHost(host)).Query([=, &context](const auto& view) {
        uint32_t in_flight = 0;
        const StatusOr<HostRecord> record = view.state.FindHost(host, &in_flight);
        if (!record.ok()) return reactor->Finish(GrpcStatusOf(record.status()));
        ToProto(*record, in_flight, context.politeness(), view.now, host_state);
        reactor->Finish(grpc::Status::OK);
      });
  if (!asked) reactor->Finish(StoppingStatus());
}

Status ValidateCheckpointName(const std::string& name) {
  const bool fine =
      !name.empty() && name.size() <= 64 && name.front() != '.' &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
      });
  if (fine) return absl::OkStatus();
  return InvalidArgument(
      "name: is not 1 to 64 of a-z, A-Z, 0-9, '_', '-', '.', or starts with '.'");
}

Status MakeCheckpoint(const ServerContext& context, const std::string& name,
                      v1::CreateCheckpointResponse* response) {
  namespace fs = std::filesystem;
  const Instant start = context.clock.Now();
  std::error_code error;
  const fs::path parent = fs::absolute(context.config.data_dir, error) / "checkpoints";
  fs::create_directories(parent, error);
  if (error) {
    return MakeStatus(absl::StatusCode::kUnavailable, "cannot create {}: {}", parent.string(),
                      error.message());
  }
  const fs::path path = parent / name;
  RETURN_IF_ERROR(context.store.Checkpoint(path.string()));
  uint64_t bytes = 0;
  for (const fs::directory_entry& file : fs::recursive_directory_iterator(path, error)) {
    if (file.is_regular_file(error)) bytes += file.file_size(error);
  }
  response->set_path(path.string());
  response->set_bytes(bytes);
  ToProto(context.clock.Now() - start, response->mutable_duration());
  return absl::OkStatus();
}

using TrustByClass = std::map<std::pair<std::string, BurstClass>, SourceTrust>;

// Shards learn apart: their figures are averaged by the number of signals behind them.
void AddTrust(const SourceTrust& trust, const Sources& sources, TrustByClass* all) {
  SourceTrust& sum =
      (*all)[{sources.NameOf(trust.source_class.source()), trust.source_class.burst()}];
  const double total = sum.signals + trust.signals;
  const double share = total > 0 ? trust.signals / total : 1;
  const auto mix = [share](double old, double fresh) { return old + share * (fresh - old); };
  sum.source_class = trust.source_class;
  sum.precision = mix(sum.precision, trust.precision);
  sum.precision_low = mix(sum.precision_low, trust.precision_low);
  sum.precision_high = mix(sum.precision_high, trust.precision_high);
  sum.recall = mix(sum.recall, trust.recall);
  sum.signals = total;
}

void TrustToProto(const std::string& source, const SourceTrust& trust, v1::SourceTrust* out) {
  out->set_source(source);
  out->set_burst_class(ToProto(trust.source_class.burst()));
  out->set_signals(trust.signals);
  out->mutable_precision()->set_value(trust.precision);
  out->mutable_precision()->set_low(trust.precision_low);
  out->mutable_precision()->set_high(trust.precision_high);
  out->set_recall(trust.recall);
  // kappa = -ln(nu/gamma), and precision = 1 - nu/gamma.
  out->set_signal_weight(-std::log1p(-trust.precision));
}

}  // namespace

// --- Crawl rate and policy

grpc::ServerUnaryReactor* AdminService::GetCrawlRate(grpc::CallbackServerContext* call,
                                                     const v1::GetCrawlRateRequest*,
                                                     v1::GetCrawlRateResponse* response) {
  response->set_crawl_rate_per_second(context_.dispatcher.rate().per_second());
  return Finished(call, grpc::Status::OK);
}

grpc::ServerUnaryReactor* AdminService::SetCrawlRate(grpc::CallbackServerContext* call,
                                                     const v1::SetCrawlRateRequest* request,
                                                     v1::SetCrawlRateResponse* response) {
  const double rate = request->crawl_rate_per_second();
  if (!request->has_crawl_rate_per_second() ||
      !(rate >= 0 && rate <= limits::kMaxCrawlsPerSecond)) {
    return Finished(
        call, GrpcStatusOf(InvalidArgument("crawl_rate_per_second: must be set, and 0 to {:.0f}",
                                           limits::kMaxCrawlsPerSecond)));
  }
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  const auto change = [rate](Settings* s) { s->crawl_rate = Rate::PerSecond(rate); };
  context_.settings.Change(change, [this, rate, response, reactor](Reply reply) {
    if (!reply.status.ok()) return reactor->Finish(GrpcStatusOf(reply.status));
    const Rate before = context_.dispatcher.SetRate(Rate::PerSecond(rate));
    context_.plans.Poke();
    response->set_crawl_rate_per_second(rate);
    response->set_previous_crawl_rate_per_second(before.per_second());
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::GetPolicy(grpc::CallbackServerContext* call,
                                                  const v1::GetPolicyRequest*,
                                                  v1::GetPolicyResponse* response) {
  const PolicyStatus now = PolicyNow(context_.router, context_.settings);
  response->set_policy(now.in_force);
  response->set_pending_policy(now.pending);
  response->add_available_policies("default");
  for (const std::string_view name : CrawlPolicyNames()) {
    response->add_available_policies(std::string(name));
  }
  return Finished(call, grpc::Status::OK);
}

grpc::ServerUnaryReactor* AdminService::SetPolicy(grpc::CallbackServerContext* call,
                                                  const v1::SetPolicyRequest* request,
                                                  v1::SetPolicyResponse* response) {
  const std::string name = request->policy();
  const StatusOr<CrawlPolicy> policy = ResolvePolicy(name);
  if (!policy.ok()) {
    return Finished(
        call, GrpcStatusOf(InvalidArgument("policy: {}", std::string(policy.status().message()))));
  }
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  response->set_policy(name);
  response->set_previous_policy(PolicyNow(context_.router, context_.settings).in_force);
  const auto change = [name](Settings* settings) { settings->policy = name; };
  context_.settings.Change(change, [this, name, policy, reactor](Reply reply) {
    if (!reply.status.ok()) return reactor->Finish(GrpcStatusOf(reply.status));
    const PolicyStatus now = PolicyNow(context_.router, context_.settings);
    context_.settings.set_policy(name, now.pending.empty());
    ChangePolicy(context_.router, context_.plans, *policy,
                 [reactor](const Status& status) { reactor->Finish(GrpcStatusOf(status)); });
  });
  return reactor;
}

// --- Hosts

grpc::ServerUnaryReactor* AdminService::GetHost(grpc::CallbackServerContext* call,
                                                const v1::GetHostRequest* request,
                                                v1::GetHostResponse* response) {
  const StatusOr<std::string> host = ConvertHost(request->host());
  if (!host.ok()) return Finished(call, GrpcStatusOf(host.status()));
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  FinishWithHost(context_, *host, response->mutable_host_state(), reactor);
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::SetHostPoliteness(
    grpc::CallbackServerContext* call, const v1::SetHostPolitenessRequest* request,
    v1::SetHostPolitenessResponse* response) {
  SetHost event;
  if (const Fault fault = ConvertPoliteness(*request, context_.clock.Now(), &event)) {
    return Finished(call, GrpcStatusOf(*fault));
  }
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  const std::string host = event.host;
  context_.router.SubmitAlways(
      SlotOfHost(host), std::move(event), [this, host, response, reactor](Reply reply) {
        if (!reply.status.ok()) return reactor->Finish(GrpcStatusOf(reply.status));
        FinishWithHost(context_, host, response->mutable_host_state(), reactor);
      });
  return reactor;
}

// --- Pausing

grpc::ServerUnaryReactor* AdminService::Pause(grpc::CallbackServerContext* call,
                                              const v1::PauseRequest* request,
                                              v1::PauseResponse* response) {
  const std::string reason = request->reason();
  const Status valid = ValidateText("reason", reason, kMaxReasonBytes);
  if (!valid.ok()) return Finished(call, GrpcStatusOf(valid));
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  const auto change = [](Settings* settings) { settings->paused = true; };
  context_.settings.Change(change, [=, this](Reply reply) {
    if (!reply.status.ok()) return reactor->Finish(GrpcStatusOf(reply.status));
    response->set_was_paused(context_.dispatcher.SetPaused(true, reason));
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::Resume(grpc::CallbackServerContext* call,
                                               const v1::ResumeRequest*,
                                               v1::ResumeResponse* response) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  const auto change = [](Settings* settings) { settings->paused = false; };
  context_.settings.Change(change, [=, this](Reply reply) {
    if (!reply.status.ok()) return reactor->Finish(GrpcStatusOf(reply.status));
    response->set_was_paused(context_.dispatcher.SetPaused(false, {}));
    reactor->Finish(grpc::Status::OK);
  });
  return reactor;
}

// --- Epochs and checkpoints

grpc::ServerUnaryReactor* AdminService::RunEpoch(grpc::CallbackServerContext* call,
                                                 const v1::RunEpochRequest*,
                                                 v1::RunEpochResponse* response) {
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  RunEpochs(context_.router, [response, reactor](const Status& status, const EpochResult& result) {
    response->set_epoch(result.number);
    response->set_pages(result.pages);
    ToProto(result.took, response->mutable_duration());
    reactor->Finish(GrpcStatusOf(status));
  });
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::CreateCheckpoint(grpc::CallbackServerContext* call,
                                                         const v1::CreateCheckpointRequest* request,
                                                         v1::CreateCheckpointResponse* response) {
  const std::string name = request->name();
  const Status valid = ValidateCheckpointName(name);
  if (!valid.ok()) return Finished(call, GrpcStatusOf(valid));
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  const bool posted = context_.background.Post([this, name, response, reactor] {
    reactor->Finish(GrpcStatusOf(MakeCheckpoint(context_, name, response)));
  });
  if (!posted) reactor->Finish(StoppingStatus());
  return reactor;
}

// --- What is known

grpc::ServerUnaryReactor* AdminService::GetStatistics(grpc::CallbackServerContext* call,
                                                      const v1::GetStatisticsRequest*,
                                                      v1::GetStatisticsResponse* response) {
  ToProto(GatherStatus(context_), response);
  return Finished(call, grpc::Status::OK);
}

grpc::ServerUnaryReactor* AdminService::GetTrustReport(grpc::CallbackServerContext* call,
                                                       const v1::GetTrustReportRequest* request,
                                                       v1::GetTrustReportResponse* response) {
  const std::string only = request->source();
  if (!only.empty() && !context_.sources.Find(only)) {
    return Finished(call, GrpcStatusOf(NotFound("source: {} is not registered", only)));
  }
  struct Gather {
    std::vector<std::vector<SourceTrust>> shards;  // each written by its own shard
  };
  auto gather = std::make_shared<Gather>();
  gather->shards.resize(context_.router.shards().size());
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  context_.router.QueryAll(
      [gather](size_t shard, const ShardView& view) { gather->shards[shard] = view.state.Trust(); },
      [this, gather, only, response, reactor] {
        TrustByClass all;
        for (const auto& shard : gather->shards) {
          for (const SourceTrust& trust : shard) AddTrust(trust, context_.sources, &all);
        }
        for (const auto& [name, trust] : all) {
          if (only.empty() || only == name.first) {
            TrustToProto(name.first, trust, response->add_sources());
          }
        }
        reactor->Finish(grpc::Status::OK);
      });
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::RegisterSource(grpc::CallbackServerContext* call,
                                                       const v1::RegisterSourceRequest* request,
                                                       v1::RegisterSourceResponse* response) {
  const Status valid = ValidateSourceName(request->source());
  if (!valid.ok()) {
    return Finished(call,
                    GrpcStatusOf(InvalidArgument("source: {}", std::string(valid.message()))));
  }
  const std::string name = request->source();
  response->mutable_source()->set_source(name);
  if (const auto index = context_.sources.Find(name)) {
    response->mutable_source()->set_signals(context_.sources.signals(*index));
    return Finished(call, grpc::Status::OK);
  }
  const StatusOr<SourceRecord> record = context_.sources.Propose(name);
  if (!record.ok()) return Finished(call, GrpcStatusOf(record.status()));
  grpc::ServerUnaryReactor* reactor = call->DefaultReactor();
  context_.router.SubmitAlways(Slot(), freshet::RegisterSource{*record},
                               [this, record, response, reactor](Reply reply) {
                                 if (reply.status.ok()) {
                                   context_.sources.Add(*record);
                                   response->set_created(true);
                                 }
                                 reactor->Finish(GrpcStatusOf(reply.status));
                               });
  return reactor;
}

grpc::ServerUnaryReactor* AdminService::ListSources(grpc::CallbackServerContext* call,
                                                    const v1::ListSourcesRequest*,
                                                    v1::ListSourcesResponse* response) {
  for (const SourceRecord& source : context_.sources.All()) {
    v1::Source* out = response->add_sources();
    out->set_source(source.name);
    out->set_signals(context_.sources.signals(source.index));
  }
  return Finished(call, grpc::Status::OK);
}

}  // namespace freshet
