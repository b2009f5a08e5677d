#include "server/api/admin_service.h"

#include <google/protobuf/struct.pb.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/limits.h"
#include "core/base/text.h"
#include "core/base/url.h"
#include "core/estimate/host_trust.h"
#include "core/model/policy.h"
#include "core/schedule/learning.h"
#include "fmt/format.h"
#include "server/api/crawls_and_hosts.h"
#include "server/api/drain.h"
#include "server/api/faults.h"
#include "server/api/figure.h"
#include "server/api/fleet_sums.h"
#include "server/api/fleet_view.h"
#include "server/api/from_proto.h"
#include "server/api/logs_and_audit.h"
#include "server/api/rate_sharing.h"
#include "server/api/shadow_report.h"
#include "server/api/source_figures.h"
#include "server/api/to_proto.h"
#include "server/base/limits.h"
#include "server/base/slots.h"
#include "server/config.h"
#include "server/engine/crawls.h"
#include "server/engine/epochs_of_all.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

Status ValidateCheckpointName(const std::string& name) {
  const bool fine =
      !name.empty() && name.size() <= 64 && name.front() != '.' &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
      });
  if (fine) return absl::OkStatus();
  return InvalidArgument(
      "name: must be 1 to 64 characters of a-z, A-Z, 0-9, '_', '-' and '.', and must not start "
      "with '.'");
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
  // Files can be removed during the walk, so a file that cannot be read is skipped.
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code gone;
    if (it->is_regular_file(gone)) bytes += it->file_size(gone);
  }
  response->set_path(path.string());
  response->set_bytes(bytes);
  ToProto(context.clock.Now() - start, response->mutable_duration());
  return absl::OkStatus();
}

void TrustToProto(const std::string& source, const SourceTrust& trust, v1::SourceTrust* out) {
  out->set_source(source);
  out->set_burst_class(ToProto(trust.source_class.burst()));
  out->set_signals(trust.signals);
  out->mutable_precision()->set_value(trust.precision);
  out->mutable_precision()->set_low(trust.precision_low);
  out->mutable_precision()->set_high(trust.precision_high);
  out->set_recall(trust.recall);
  // The signal weight is kappa = -ln(nu/gamma), and the precision is 1 - nu/gamma.
  out->set_signal_weight(-std::log1p(-trust.precision));
}

void HostTrustToProto(const std::string& source, const HostTrust& trust, v1::HostTrust* out) {
  const SourceStanding& lately = trust.lately;
  out->set_host(trust.host);
  out->set_source(source);
  out->set_signals(trust.signals);
  out->mutable_precision()->set_value(trust.precision);
  out->mutable_precision()->set_low(trust.precision_low);
  out->mutable_precision()->set_high(trust.precision_high);
  out->set_recall(trust.recall);
  out->set_recent_signals(lately.signals);
  if (lately.signals > 0) {
    out->set_recent_precision(lately.proved / lately.signals);
    out->set_believed_precision(lately.believed / lately.signals);
  }
  if (lately.quarantined()) ToProto(lately.since, out->mutable_quarantined_since());
}

// --- Crawl rate and policy

void GetCrawlRate(const ServerContext& context,
                  UnaryCall<v1::GetCrawlRateRequest, v1::GetCrawlRateResponse>* call) {
  call->response()->set_crawl_rate_per_second(context.rates.total().per_second());
  call->Answer(grpc::Status::OK);
}

void SetCrawlRate(const ServerContext& context,
                  UnaryCall<v1::SetCrawlRateRequest, v1::SetCrawlRateResponse>* call) {
  if (!call->request().has_crawl_rate_per_second()) {
    return call->Answer(GrpcStatusOf(InvalidArgument("crawl_rate_per_second: is not set")));
  }
  const double rate = call->request().crawl_rate_per_second();
  if (!(rate >= 0 && rate <= limits::kMaxCrawlsPerSecond)) {
    return call->Answer(GrpcStatusOf(InvalidArgument(
        "crawl_rate_per_second: {} is not from 0 to {:.0f}", rate, limits::kMaxCrawlsPerSecond)));
  }
  call->SetBefore([&context] {
    v1::GetCrawlRateResponse before;
    before.set_crawl_rate_per_second(context.rates.total().per_second());
    return before;
  });
  const auto change = [rate](Settings* s) { s->crawl_rate = Rate::PerSecond(rate); };
  context.settings.Change(change, [&context, call, rate](Reply reply) {
    if (!reply.status.ok()) return call->Answer(GrpcStatusOf(reply.status));
    const Rate before = context.rates.SetTotal(Rate::PerSecond(rate));
    call->response()->set_crawl_rate_per_second(rate);
    call->response()->set_previous_crawl_rate_per_second(before.per_second());
    call->Answer(grpc::Status::OK);
  });
}

void GetPolicy(const ServerContext& context,
               UnaryCall<v1::GetPolicyRequest, v1::GetPolicyResponse>* call) {
  const PolicyStatus now = PolicyNow(context.router, context.settings);
  call->response()->set_policy(now.in_force);
  call->response()->set_pending_policy(now.pending);
  call->response()->add_available_policies("default");
  for (const std::string_view name : CrawlPolicyNames()) {
    // The name ncis_approx_J stands for a family of policies, and is not a policy itself.
    if (ResolvePolicy(name).ok() && !ResolvePolicy(name, context.config.signal_delay).ok())
      continue;
    call->response()->add_available_policies(std::string(name));
  }
  call->Answer(grpc::Status::OK);
}

void SetPolicy(const ServerContext& context,
               UnaryCall<v1::SetPolicyRequest, v1::SetPolicyResponse>* call) {
  const std::string name = call->request().policy();
  const StatusOr<CrawlPolicy> policy = ResolvePolicy(name, context.config.signal_delay);
  if (!policy.ok()) return call->Answer(GrpcStatusOf(policy.status()));
  if (policy->plan && context.crawls.any_of_rate()) {
    return call->Answer(GrpcStatusOf(
        MakeStatus(absl::StatusCode::kFailedPrecondition,
                   "policy: {} plans the rates of all pages itself, but some crawl ids have a "
                   "share or max_rate_per_second: remove these settings first",
                   name)));
  }
  call->response()->set_policy(name);
  const PolicyStatus before = PolicyNow(context.router, context.settings);
  call->response()->set_previous_policy(before.in_force);
  call->SetBefore([&before] {
    v1::GetPolicyResponse message;
    message.set_policy(before.in_force);
    message.set_pending_policy(before.pending);
    return message;
  });
  const auto change = [name](Settings* settings) { settings->policy = name; };
  context.settings.Change(change, [&context, call, name, policy](Reply reply) {
    if (!reply.status.ok()) return call->Answer(GrpcStatusOf(reply.status));
    const PolicyStatus now = PolicyNow(context.router, context.settings);
    context.settings.set_policy(name, now.pending.empty());
    ChangePolicy(context.router, context.plans, *policy,
                 [call](const Status& status) { call->Answer(GrpcStatusOf(status)); });
  });
}

// --- Hosts

void GetHost(const ServerContext& context,
             UnaryCall<v1::GetHostRequest, v1::GetHostResponse>* call) {
  const StatusOr<std::string> host = ConvertHost(call->request().host());
  if (!host.ok()) return call->Answer(GrpcStatusOf(host.status()));
  if (const Status may = call->caller().CheckHost(*host); !may.ok()) {
    return call->Answer(GrpcStatusOf(may));
  }
  AnswerWithHost(context, *host, call);
}

void SetHostPoliteness(
    const ServerContext& context,
    UnaryCall<v1::SetHostPolitenessRequest, v1::SetHostPolitenessResponse>* call) {
  const StatusOr<SetHost> event = ConvertPoliteness(call->request(), context.clock.Now());
  if (!event.ok()) return call->Answer(GrpcStatusOf(event.status()));
  ReadHostBefore(context, event->host, call, [&context, call, event = *event] {
    const std::string host = event.host;
    const bool pages = event.min_page_interval.has_value();
    context.router.SubmitAlways(
        SlotOfHost(host), event, [&context, call, host, pages](const Reply& reply) {
          if (!reply.status.ok()) return call->Answer(GrpcStatusOf(reply.status));
          // The host's shard files all its pages again (EpochRunner::RequestFiling), because the
          // new interval changes when the host's pages can be crawled. This call does not wait for
          // the end of that pass. Calls that arrive during a pass share the next one.
          if (pages) {
            (void)context.router.OwnerOf(SlotOfHost(host)).Query([](const auto& view) {
              view.epochs.RequestFiling([](const auto&) {});
            });
          }
          AnswerWithHost(context, host, call);
        });
  });
}

void GetPolitenessDefaults(
    const ServerContext& context,
    UnaryCall<v1::GetPolitenessDefaultsRequest, v1::GetPolitenessDefaultsResponse>* call) {
  const PolitenessDefaults configured = context.settings.configured();
  ToProto(PolitenessIn(context.settings.stored(), configured),
          call->response()->mutable_defaults());
  ToProto(configured, call->response()->mutable_configured());
  call->Answer(grpc::Status::OK);
}

void SetPolitenessDefaults(
    const ServerContext& context,
    UnaryCall<v1::SetPolitenessDefaultsRequest, v1::SetPolitenessDefaultsResponse>* call) {
  const StatusOr<std::function<void(Settings*)>> set = ConvertDefaults(call->request());
  if (!set.ok()) return call->Answer(GrpcStatusOf(set.status()));
  // The change fills in this outcome when it runs. Other changes can run first, so the old state is
  // not known until then.
  struct Outcome {
    PolitenessDefaults before;
    PolitenessDefaults now;
  };
  const auto outcome = std::make_shared<Outcome>();
  const PolitenessDefaults configured = context.settings.configured();
  const auto change = [set = *set, outcome, configured](Settings* settings) {
    outcome->before = PolitenessIn(*settings, configured);
    set(settings);
    outcome->now = PolitenessIn(*settings, configured);
  };
  context.settings.Change(change, [&context, call, outcome](Reply reply) {
    if (!reply.status.ok()) return call->Answer(GrpcStatusOf(reply.status));
    call->SetBefore([&outcome] {
      v1::PolitenessDefaults before;
      ToProto(outcome->before, &before);
      return before;
    });
    ToProto(outcome->now, call->response()->mutable_defaults());
    const bool pages = outcome->now.min_page_interval != outcome->before.min_page_interval;
    ChangePoliteness(context.router, outcome->now, pages,
                     [call](const Status& status) { call->Answer(GrpcStatusOf(status)); });
  });
}

// --- Pausing

// The state of the pause for the audit log. Unlike the answers to clients, it includes the reason.
google::protobuf::Struct PauseState(const ServerContext& context) {
  const std::optional<std::string> pause = context.dispatcher.pause();
  google::protobuf::Struct state;
  auto& fields = *state.mutable_fields();
  fields["paused"].set_bool_value(pause.has_value());
  if (pause && !pause->empty()) fields["reason"].set_string_value(*pause);
  return state;
}

// Pauses with a reason, or resumes with an empty one. Returns whether assignments were paused
// before.
template <typename Call>
bool ChangePause(const ServerContext& context, Call* call, bool paused, std::string reason) {
  call->SetBefore([&context] { return PauseState(context); });
  const bool was_paused = context.dispatcher.SetPaused(paused, std::move(reason));
  call->SetAfter([&context] { return PauseState(context); });
  return was_paused;
}

void Pause(const ServerContext& context, UnaryCall<v1::PauseRequest, v1::PauseResponse>* call) {
  const std::string reason = call->request().reason();
  const Status valid = ValidateText("reason", reason, limits::kMaxPauseReasonBytes);
  if (!valid.ok()) return call->Answer(GrpcStatusOf(valid));
  const auto change = [reason](Settings* settings) {
    settings->paused = true;
    settings->pause_reason = reason;
  };
  context.settings.Change(change, [&context, call, reason](Reply reply) {
    if (!reply.status.ok()) return call->Answer(GrpcStatusOf(reply.status));
    call->response()->set_was_paused(ChangePause(context, call, true, reason));
    call->Answer(grpc::Status::OK);
  });
}

void Resume(const ServerContext& context, UnaryCall<v1::ResumeRequest, v1::ResumeResponse>* call) {
  const auto change = [](Settings* settings) {
    settings->paused = false;
    settings->pause_reason.clear();
  };
  context.settings.Change(change, [&context, call](Reply reply) {
    if (!reply.status.ok()) return call->Answer(GrpcStatusOf(reply.status));
    call->response()->set_was_paused(ChangePause(context, call, false, {}));
    call->Answer(grpc::Status::OK);
  });
}

// --- Epochs and checkpoints

void RunEpoch(const ServerContext& context,
              UnaryCall<v1::RunEpochRequest, v1::RunEpochResponse>* call) {
  RunEpochs(context.router, [call](const Status& status, const EpochResult& result) {
    call->response()->set_epoch(result.number);
    call->response()->set_pages(result.pages);
    ToProto(result.took, call->response()->mutable_duration());
    call->Answer(GrpcStatusOf(status));
  });
}

// Runs work that waits for the disk. The work runs on a separate thread, one job at a time.
template <typename Request, typename Response>
void RunUpkeep(const ServerContext& context, UnaryCall<Request, Response>* call,
               std::function<Status()> work) {
  if (!context.upkeeps.Take()) {
    return call->Answer({grpc::StatusCode::RESOURCE_EXHAUSTED,
                         fmt::format("{} checkpoints and compactions are under way: try again when "
                                     "one of them is done",
                                     limits::kMaxUpkeeps)});
  }
  const bool posted = context.upkeep.Post([&context, call, work = std::move(work)] {
    const Status status = work();
    context.upkeeps.Give();
    call->Answer(GrpcStatusOf(status));
  });
  if (posted) return;
  context.upkeeps.Give();
  call->Answer(StoppingStatus());
}

void CreateCheckpoint(const ServerContext& context,
                      UnaryCall<v1::CreateCheckpointRequest, v1::CreateCheckpointResponse>* call) {
  const std::string name = call->request().name();
  const Status valid = ValidateCheckpointName(name);
  if (!valid.ok()) return call->Answer(GrpcStatusOf(valid));
  RunUpkeep(context, call,
            [&context, call, name] { return MakeCheckpoint(context, name, call->response()); });
}

void CompactStore(const ServerContext& context,
                  UnaryCall<v1::CompactStoreRequest, v1::CompactStoreResponse>* call) {
  RunUpkeep(context, call, [&context, call] {
    const Instant start = context.clock.Now();
    v1::CompactStoreResponse& response = *call->response();
    response.set_bytes_before(context.store.Stats().table_bytes);
    const Status status = context.store.Compact();
    response.set_bytes_after(context.store.Stats().table_bytes);
    ToProto(context.clock.Now() - start, response.mutable_duration());
    return status;
  });
}

// --- Views

void GetStatistics(const ServerContext& context,
                   UnaryCall<v1::GetStatisticsRequest, v1::GetStatisticsResponse>* call) {
  ToProto(GatherStatus(context), call->response());
  call->Answer(grpc::Status::OK);
}

// Gathers the trust of sources, shard by shard. Each read covers only some hosts of a shard.
class TrustReport : public std::enable_shared_from_this<TrustReport> {
 public:
  using Call = UnaryCall<v1::GetTrustReportRequest, v1::GetTrustReportResponse>;
  TrustReport(const ServerContext& context, Call* call, WorstHosts worst)
      : context_(context), call_(*call), worst_(std::move(worst)) {}

  void Go() {
    if (shard_ == context_.router.shards().size()) return Answer();
    const bool asked = context_.router.shards()[shard_]->ReadMany(
        [self = shared_from_this()](const ShardView& view) { self->Take(view); },
        call_.caller().claim().client);
    if (!asked) call_.Answer(StoppingStatus());
  }

 private:
  void Take(const ShardView& view) {
    const Estimator& estimator = view.state.learning().estimator();
    if (!worst_.Look(estimator)) {
      for (const SourceTrust& trust : TrustIn(estimator.sites())) AddTrust(trust, &by_class_);
      ++shard_;
    }
    Go();
  }

  void Answer() {
    const std::string& only = call_.request().source();
    std::map<std::pair<std::string, BurstClass>, SourceTrust> by_name;
    for (const auto& [source, trust] : by_class_) {
      by_name[{context_.sources.NameOf(source.first), source.second}] = trust;
    }
    for (const auto& [name, trust] : by_name) {
      // A retired source keeps its trust in case it is registered again.
      if (!context_.sources.Find(name.first)) continue;
      if (only.empty() || only == name.first) {
        TrustToProto(name.first, trust, call_.response()->add_sources());
      }
    }
    for (const HostTrust& trust : worst_.Take()) {
      const std::string name = context_.sources.NameOf(trust.source);
      if (context_.sources.Find(name)) {
        HostTrustToProto(name, trust, call_.response()->add_hosts());
      }
    }
    call_.Answer(grpc::Status::OK);
  }

  const ServerContext& context_;
  Call& call_;
  TrustByClass by_class_;
  WorstHosts worst_;
  size_t shard_ = 0;
};

void GetTrustReport(const ServerContext& context,
                    UnaryCall<v1::GetTrustReportRequest, v1::GetTrustReportResponse>* call) {
  const std::string only = call->request().source();
  if (!only.empty() && !context.sources.Find(only)) {
    return call->Answer(GrpcStatusOf(UnknownSource(context.sources, only)));
  }
  const uint32_t limit = call->request().has_limit() ? call->request().limit() : kUsualRows;
  if (limit > limits::kMaxTrustRows) {
    return call->Answer(GrpcStatusOf(
        InvalidArgument("limit: {} is above the maximum of {}", limit, limits::kMaxTrustRows)));
  }
  StatusOr<std::string> host = std::string();
  if (!call->request().host().empty()) host = ConvertHost(call->request().host());
  if (!host.ok()) return call->Answer(GrpcStatusOf(host.status()));
  // Other sources are filtered out here, so that their hosts take no places among the worst hosts.
  SourceSet sources;
  for (const SourceRecord& source : context.sources.All()) {
    if (only.empty() || source.name == only) sources.set(source.index);
  }
  if (!call->TakePlace()) return call->Answer(UnreadStatus(PushOutcome::kFull));
  std::make_shared<TrustReport>(context, call, WorstHosts(*host, sources, limit))->Go();
}

void AddSource(const ServerContext& context,
               UnaryCall<v1::RegisterSourceRequest, v1::RegisterSourceResponse>* call) {
  const Status valid = ValidateSourceName(call->request().source());
  if (!valid.ok()) {
    return call->Answer(GrpcStatusOf(InvalidArgument("source: {}", std::string(valid.message()))));
  }
  const std::string name = call->request().source();
  call->response()->mutable_source()->set_source(name);
  if (const auto index = context.sources.Find(name)) {
    call->response()->mutable_source()->set_signals(context.sources.signals(*index));
    return call->Answer(grpc::Status::OK);
  }
  const StatusOr<SourceRecord> record = context.sources.Propose(name);
  if (!record.ok()) return call->Answer(GrpcStatusOf(record.status()));
  context.router.SubmitAlways(Slot(), SetSource{*record}, [&context, call, record](Reply reply) {
    if (reply.status.ok()) {
      context.sources.Add(*record);
      call->response()->set_created(true);
    } else {
      context.sources.Withdraw(record->name);
    }
    call->Answer(GrpcStatusOf(reply.status));
  });
}

void RetireSource(const ServerContext& context,
                  UnaryCall<v1::UnregisterSourceRequest, v1::UnregisterSourceResponse>* call) {
  const std::string name = call->request().source();
  const std::optional<uint8_t> index = context.sources.Find(name);
  if (!index) {
    return call->Answer(GrpcStatusOf(UnknownSource(context.sources, name)));
  }
  call->response()->mutable_source()->set_source(name);
  call->response()->mutable_source()->set_signals(context.sources.signals(*index));
  const SourceRecord record = {.name = name, .index = *index, .retired = true};
  context.router.SubmitAlways(Slot(), SetSource{record}, [&context, call, record](Reply reply) {
    if (reply.status.ok()) context.sources.Add(record);
    call->Answer(GrpcStatusOf(reply.status));
  });
}

void ListSources(const ServerContext& context,
                 UnaryCall<v1::ListSourcesRequest, v1::ListSourcesResponse>* call) {
  for (const SourceRecord& source : context.sources.All()) {
    v1::Source* out = call->response()->add_sources();
    out->set_source(source.name);
    out->set_signals(context.sources.signals(source.index));
  }
  call->Answer(grpc::Status::OK);
}

}  // namespace

// --- The methods

std::vector<CallMethod> AdminMethods(const ServerContext& context) {
  return {
      Free("/freshet.v1.AdminService/GetCrawlRate", context, freshet::GetCrawlRate),
      Free("/freshet.v1.AdminService/SetCrawlRate", context, freshet::SetCrawlRate),
      Free("/freshet.v1.AdminService/GetFleet", context, ShowFleet),
      Free("/freshet.v1.AdminService/GetPolicy", context, freshet::GetPolicy),
      Free("/freshet.v1.AdminService/SetPolicy", context, freshet::SetPolicy),
      Paid("/freshet.v1.AdminService/GetHost", context, freshet::GetHost),
      Free("/freshet.v1.AdminService/SetHostPoliteness", context, freshet::SetHostPoliteness),
      Free("/freshet.v1.AdminService/GetPolitenessDefaults", context,
           freshet::GetPolitenessDefaults),
      Free("/freshet.v1.AdminService/SetPolitenessDefaults", context,
           freshet::SetPolitenessDefaults),
      Free("/freshet.v1.AdminService/DrainNode", context, freshet::DrainNode),
      Free("/freshet.v1.AdminService/Pause", context, freshet::Pause),
      Free("/freshet.v1.AdminService/Resume", context, freshet::Resume),
      Free("/freshet.v1.AdminService/RunEpoch", context, freshet::RunEpoch),
      Free("/freshet.v1.AdminService/CreateCheckpoint", context, freshet::CreateCheckpoint),
      Free("/freshet.v1.AdminService/CompactStore", context, freshet::CompactStore),
      Free("/freshet.v1.AdminService/GetStatistics", context, freshet::GetStatistics),
      Free("/freshet.v1.AdminService/GetTrustReport", context, freshet::GetTrustReport),
      Free("/freshet.v1.AdminService/RegisterSource", context, AddSource),
      Free("/freshet.v1.AdminService/UnregisterSource", context, RetireSource),
      Free("/freshet.v1.AdminService/ListSources", context, freshet::ListSources),
      Free("/freshet.v1.AdminService/ListCrawls", context, HandleListCrawls),
      Free("/freshet.v1.AdminService/SetCrawl", context, HandleSetCrawl),
      Free("/freshet.v1.AdminService/DeleteCrawl", context, HandleDeleteCrawl),
      Free("/freshet.v1.AdminService/ReportShadow", context, HandleReportShadow),
      Free("/freshet.v1.AdminService/ListHosts", context, HandleListHosts),
      Free("/freshet.v1.AdminService/DeleteHost", context, HandleDeleteHost),
      Free("/freshet.v1.AdminService/GetLogLevels", context, HandleGetLogLevels),
      Free("/freshet.v1.AdminService/SetLogLevel", context, HandleSetLogLevel),
      Free("/freshet.v1.AdminService/ListAudit", context, HandleListAudit),
  };
}

}  // namespace freshet
