#include "server/server.h"

#include <atomic>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "core/schedule/leases.h"
#include "server/api/admin_service.h"
#include "server/api/context.h"
#include "server/api/ingest_service.h"
#include "server/api/pages_service.h"
#include "server/api/scheduler_service.h"
#include "server/base/reporting.h"
#include "server/base/ticker.h"
#include "server/engine/plan_runner.h"
#include "server/engine/shard_loader.h"
#include "server/ops/health.h"
#include "server/ops/http.h"
#include "server/ops/metrics.h"
#include "server/ops/status_history.h"
#include "server/ops/store_watch.h"
#include "server/ports/descriptors.h"
#include "server/ports/grpc_port.h"
#include "server/ports/listen.h"
#include "server/store_options.h"
#include "spdlog/spdlog.h"
#include "storage/store.h"

namespace freshet {
namespace {

constexpr Duration kSampleInterval = Duration::Seconds(1);
// How long calls that neither end nor can be ended in order are waited for.
constexpr Duration kShutdownDeadline = Duration::Seconds(5);

std::string WithPort(const std::string& address, int port) {
  return address.substr(0, address.rfind(':') + 1) + std::to_string(port);
}

}  // namespace

class Server::Impl {
 public:
  Impl(ServerConfig config, Clock& clock, rocksdb::Env* env)
      : config_(std::move(config)), clock_(clock), env_(env) {}

  StatusOr<ServingInfo> Start();
  Status Stop();
  void RequestStop() {
    stop_requested_ = true;
    open_progress_.cancelled = true;
  }
  [[nodiscard]] std::string http_address() const FRESHET_EXCLUDES(http_mutex_) {
    const MutexLock lock(http_mutex_);
    return http_address_;
  }

 private:
  // Start, in the order of the calls.
  Status AnswerProbes();
  Status OpenStore();
  void MakeShards();
  Status RecoverShards();
  Status AddConfiguredSources();
  [[nodiscard]] Status GoOn() const;
  void StartThreads();
  Status Serve();

  // The other way round.
  void StopServing();
  Status CloseStore();

  [[nodiscard]] ShardSettings SettingsOf(int shard) const;
  // Once everything is there to be looked at.
  [[nodiscard]] ServerStatus Gather() const;
  [[nodiscard]] RecoveryStatus Recovery() const;
  void LogRecovery() const;
  // Why requests are not taken; empty: they are.
  [[nodiscard]] std::string NotReady() const;
  [[nodiscard]] std::string StatusJson() const;
  void Sample();

  const ServerConfig config_;
  Clock& clock_;
  rocksdb::Env* const env_;
  Instant begun_;
  std::atomic<bool> stop_requested_{false};
  bool stopped_ = false;
  DescriptorPlan descriptors_;
  GlobalRecords globals_;
  OpenProgress open_progress_;
  LoadProgress load_progress_;
  CrawlPolicy policy_;
  // Later members use earlier ones.
  Metrics metrics_;
  Health health_;
  Sources sources_;
  StreamSet streams_{{.streams = static_cast<size_t>(config_.max_streams),
                      .unacked_bytes = static_cast<size_t>(config_.max_unacked_bytes)}};
  HandlerCounters counters_;
  Slots listings_{limits::kMaxListings};
  Annotations annotations_;
  StatusHistory history_;
  std::unique_ptr<Store> store_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::optional<Router> router_;
  std::unique_ptr<RuntimeSettings> settings_;
  std::optional<Dispatcher> dispatcher_;
  std::optional<Background> background_;
  std::optional<PlanRunner> plans_;
  std::optional<ServerContext> context_;
  std::optional<SchedulerService> scheduler_service_;
  std::optional<IngestService> ingest_service_;
  std::optional<PagesService> pages_service_;
  std::optional<AdminService> admin_service_;
  std::optional<GrpcPort> grpc_port_;
  std::optional<HttpPort> http_port_;
  mutable Mutex http_mutex_;
  std::string http_address_ FRESHET_GUARDED_BY(http_mutex_);
  // Set once Gather may be called, by probes that came earlier than what it looks at.
  std::atomic<bool> complete_{false};
  std::atomic<bool> connections_known_{false};  // likewise grpc_port_
  StoreWatch watch_{health_, [this](const Status& why) { dispatcher_->SetStalled(why); }};
  std::optional<Ticker> sampler_;
  ServingInfo info_;
};

// --- Starting

StatusOr<ServingInfo> Server::Impl::Start() {
  begun_ = clock_.Now();
  ASSIGN_OR_RETURN(descriptors_, ShareDescriptors(config_));
  RETURN_IF_ERROR(AnswerProbes());
  RETURN_IF_ERROR(GoOn());
  RETURN_IF_ERROR(OpenStore());
  RETURN_IF_ERROR(GoOn());
  MakeShards();
  RETURN_IF_ERROR(RecoverShards());
  RETURN_IF_ERROR(GoOn());
  StartThreads();
  RETURN_IF_ERROR(AddConfiguredSources());
  RETURN_IF_ERROR(Serve());
  for (const auto& shard : shards_) info_.pages += shard->snapshot().counters.pages;
  info_.recovered_seconds = (clock_.Now() - begun_).seconds();
  return info_;
}

Status Server::Impl::GoOn() const {
  return stop_requested_ ? MakeStatus(absl::StatusCode::kCancelled, "stopped while starting")
                         : absl::OkStatus();
}

Status Server::Impl::AnswerProbes() {
  HttpContent content{
      .metrics =
          [this] {
            return complete_ ? metrics_.Render(Gather(), annotations_.values())
                             : Metrics::RenderStarting(Recovery());
          },
      .status_json = [this] { return StatusJson(); },
      .annotate = [this](const std::string& body) { return annotations_.Post(body); },
      .healthy = [this] { return !health_.failed(); },
      .not_ready = [this] { return NotReady(); }};
  http_port_.emplace(
      MakeRoutes(std::move(content), config_.http_listen),
      HttpOptions{.max_connections = static_cast<size_t>(descriptors_.http_connections)});
  const StatusOr<int> port = http_port_->Start(config_.http_listen);
  RETURN_IF_ERROR(WithKey("http_listen", port.status()));
  // Before the store is loaded rather than after.
  RETURN_IF_ERROR(WithKey("listen", CheckListen(config_.listen)));
  info_.http_address = WithPort(config_.http_listen, *port);
  spdlog::info("answering probes at http://{}/readyz, opening {}", info_.http_address,
               config_.data_dir);
  const MutexLock lock(http_mutex_);
  http_address_ = info_.http_address;
  return absl::OkStatus();
}

Status Server::Impl::OpenStore() {
  std::error_code error;
  std::filesystem::create_directories(config_.data_dir, error);
  if (error) {
    return MakeStatus(absl::StatusCode::kUnavailable, "data_dir: cannot create {}: {}",
                      config_.data_dir, error.message());
  }
  StoreOptions options = StoreOptionsOf(config_);
  options.env = env_;
  options.hold_compactions = true;
  options.progress = &open_progress_;
  options.max_open_tables = descriptors_.table_files;
  StatusOr<std::unique_ptr<Store>> opened = nullptr;
  RunReporting({[&] { opened = Store::Open(config_.data_dir, options); }}, kReportInterval,
               [this] { LogRecovery(); });
  ASSIGN_OR_RETURN(store_, std::move(opened));
  RETURN_IF_ERROR(store_->SetShards(static_cast<uint32_t>(config_.shards)));
  ASSIGN_OR_RETURN(globals_, store_->LoadGlobals());
  return absl::OkStatus();
}

ShardSettings Server::Impl::SettingsOf(int shard) const {
  ShardSettings settings;
  settings.state.policy = policy_;
  settings.state.estimator = {.kind = config_.estimator, .day = config_.day};
  settings.state.politeness = PolitenessIn(globals_.settings, config_.politeness);
  settings.state.host_backoff = config_.host_backoff;
  settings.state.error_backoff = config_.error_backoff;
  settings.state.max_error_backoff = config_.max_error_backoff;
  settings.state.lease_backoff = config_.lease_backoff;
  settings.state.max_lease_backoff = config_.max_lease_backoff;
  settings.state.max_unanswered = config_.max_unanswered_leases;
  settings.state.gone_backoff = config_.gone_backoff;
  settings.state.max_gone_backoff = config_.max_gone_backoff;
  settings.state.retire_moved = config_.retire_moved;
  settings.state.signal_delay = config_.signal_delay;
  settings.state.shard = static_cast<uint16_t>(shard);
  settings.state.generation = static_cast<uint32_t>(store_->generation());
  settings.epochs.first_slot = Slot(static_cast<uint16_t>(shard));
  settings.epochs.stride = static_cast<uint16_t>(config_.shards);
  settings.epochs.interval = config_.epoch_interval;
  settings.mailbox = {.weight = config_.mailbox_events,
                      .hard_weight = 2 * config_.mailbox_events,
                      .patience = config_.mailbox_patience};
  return settings;
}

void Server::Impl::MakeShards() {
  // What an operator has set wins over flags and files, which are for new databases.
  std::string policy_name = globals_.settings.policy.value_or(config_.policy);
  if (policy_name != config_.policy) {
    spdlog::info("policy '{}', set at run time, wins over '{}'", policy_name, config_.policy);
  }
  StatusOr<CrawlPolicy> policy = ResolvePolicy(policy_name);
  if (!policy.ok()) {
    spdlog::warn("the stored policy '{}' is not known to this release: using {}", policy_name,
                 config_.policy);
    policy_name = config_.policy;
    policy = ResolvePolicy(policy_name);
  }
  CHECK(policy.ok(), "the configuration was validated");
  policy_ = *policy;
  settings_ = std::make_unique<RuntimeSettings>(
      globals_.settings, policy_name, [this](const Settings& settings, RuntimeSettings::Done done) {
        router_->SubmitAlways(Slot(), ChangeSettings{settings}, std::move(done));
      });
  for (const SourceRecord& source : globals_.sources) sources_.Add(source);
  std::vector<Shard*> shards;
  for (int i = 0; i < config_.shards; ++i) {
    shards_.push_back(std::make_unique<Shard>(SettingsOf(i), *store_, clock_, metrics_));
    shards.push_back(shards_.back().get());
  }
  router_.emplace(std::move(shards));
}

Status Server::Impl::RecoverShards() {
  // First of all: what a shard has learned says when rates change by age.
  for (const EpochRecord& epoch : globals_.epochs) {
    if (epoch.shard >= shards_.size()) continue;
    const Status status = shards_[epoch.shard]->state().LoadEpoch(epoch);
    // The next epoch learns it again from the pages.
    if (!status.ok())
      spdlog::warn("the model of shard {} is dropped: {}", epoch.shard,
                   std::string(status.message()));
  }
  std::vector<ShardState*> states;
  for (const auto& shard : shards_) states.push_back(&shard->state());
  LoadOptions options;
  options.now = clock_.Now();
  options.report = [this] { LogRecovery(); };
  options.cancelled = &stop_requested_;
  RETURN_IF_ERROR(LoadShards(*store_, states, options, load_progress_));
  RETURN_IF_ERROR(store_->StartCompactions());
  spdlog::info("loaded {} pages in {:.1f} s", load_progress_.pages.load(),
               (clock_.Now() - begun_).seconds());
  return absl::OkStatus();
}

void Server::Impl::StartThreads() {
  const Rate rate = globals_.settings.crawl_rate.value_or(config_.crawl_rate);
  if (rate != config_.crawl_rate) {
    spdlog::info("crawl rate {:g}, set at run time, wins over {:g}", rate.per_second(),
                 config_.crawl_rate.per_second());
  }
  dispatcher_.emplace(*router_, clock_, rate, static_cast<uint64_t>(config_.max_open_leases));
  if (globals_.settings.paused) dispatcher_->SetPaused(true, "paused before the last restart");
  metrics_.SetHandlers(
      [this](uint16_t shard, const Status& status) {
        spdlog::critical("shard {} stops taking changes: {}", shard, status.ToString());
        health_.ReportFailure();
      },
      [this] { dispatcher_->Poke(); },
      [this](const LeaseTallies& tallies) { dispatcher_->OnLeases(tallies); });
  for (const auto& shard : shards_) shard->Start();
  dispatcher_->Start();
  background_.emplace();
  plans_.emplace(PlanRunnerOptions{.interval = config_.epoch_interval}, *router_,
                 [this] { return dispatcher_->rate(); });
  if (policy_.plan) plans_->SetMethod(policy_.plan, nullptr);
  context_.emplace(ServerContext{.config = config_,
                                 .clock = clock_,
                                 .store = *store_,
                                 .router = *router_,
                                 .dispatcher = *dispatcher_,
                                 .sources = sources_,
                                 .settings = *settings_,
                                 .streams = streams_,
                                 .background = *background_,
                                 .plans = *plans_,
                                 .counters = counters_,
                                 .listings = listings_,
                                 .started = clock_.Now()});
  complete_ = true;
  sampler_.emplace(kSampleInterval, [this] { Sample(); });
}

Status Server::Impl::AddConfiguredSources() {
  for (const std::string& name : config_.sources) {
    // One that an operator has unregistered stays so.
    if (sources_.Knows(name)) continue;
    ASSIGN_OR_RETURN(const SourceRecord record, sources_.Propose(name));
    // Durable before it is used: signals are stored under its index.
    Changes changes;
    changes.sources.push_back(record);
    RETURN_IF_ERROR(store_->Commit(changes));
    sources_.Add(record);
  }
  return absl::OkStatus();
}

Status Server::Impl::Serve() {
  scheduler_service_.emplace(*context_);
  ingest_service_.emplace(*context_);
  pages_service_.emplace(*context_);
  admin_service_.emplace(*context_);
  grpc_port_.emplace(config_, static_cast<size_t>(descriptors_.connections), clock_);
  ASSIGN_OR_RETURN(const int port, grpc_port_->Start({&*scheduler_service_, &*ingest_service_,
                                                      &*pages_service_, &*admin_service_}));
  info_.grpc_address = WithPort(config_.listen, port);
  health_.Serve(grpc_port_->server(),
                {v1::SchedulerService::service_full_name(), v1::IngestService::service_full_name(),
                 v1::PagesService::service_full_name(), v1::AdminService::service_full_name()});
  connections_known_ = true;
  return absl::OkStatus();
}

// --- What others may see

RecoveryStatus Server::Impl::Recovery() const {
  RecoveryStatus recovery = RecoveryOf(open_progress_);
  recovery.ready = health_.serving();
  recovery.pages = load_progress_.pages;
  recovery.expected_pages = load_progress_.expected_pages;
  recovery.share = load_progress_.slots / static_cast<double>(limits::kSlots);
  recovery.stored_twice = load_progress_.stored_twice;
  return recovery;
}

void Server::Impl::LogRecovery() const {
  spdlog::info("{}; {:.0f} s since the start", Describe(Recovery()),
               (clock_.Now() - begun_).seconds());
}

ServerStatus Server::Impl::Gather() const {
  ServerStatus status = GatherStatus(*context_);
  status.recovery = Recovery();
  status.http = http_port_->stats();
  if (connections_known_) status.connections = grpc_port_->connections();
  return status;
}

std::string Server::Impl::NotReady() const {
  if (health_.failed()) return "the store has failed";
  if (health_.stopping() || stop_requested_) return "stopping";
  if (health_.full()) return "the disk is full: nothing can be written until there is space";
  return health_.serving() ? "" : Describe(Recovery());
}

std::string Server::Impl::StatusJson() const {
  if (!complete_) return RenderStartingJson(Recovery());
  return RenderStatusJson(Gather(), history_.samples(), dispatcher_->recent(),
                          annotations_.values());
}

void Server::Impl::Sample() {
  // When readiness keeps all traffic away, nobody commits anything and finds out.
  if (health_.full()) store_->TryResume().IgnoreError();
  const ServerStatus status = Gather();
  // Background work may fail while nobody commits anything.
  watch_.Look(status.stall, status.store, status.now);
  history_.Add(status, annotations_.values());
}

// --- Stopping

Status Server::Impl::Stop() {
  if (std::exchange(stopped_, true)) return absl::OkStatus();
  StopServing();
  if (plans_) plans_->Stop();
  // Nobody asks for anything any more.
  if (background_) background_->Stop();
  for (const auto& shard : shards_) shard->Stop();
  if (sampler_) sampler_->Stop();
  return CloseStore();
}

void Server::Impl::StopServing() {
  health_.Stop();
  // First the assignments: those leased ahead go back while their shards still work.
  if (dispatcher_) dispatcher_->Stop();
  if (grpc_port_ && grpc_port_->server() != nullptr) {
    // Workers may still report what they have in hand; then every stream ends with what was read
    // from it acknowledged.
    streams_.NoticeDraining();
    (void)streams_.WaitUntilEmpty(config_.shutdown_grace);
    streams_.EndAll();
    for (const auto& shard : shards_) {
      (void)shard->Query([](const ShardView& view) { view.epochs.Cancel(view.now); });
    }
    (void)streams_.WaitUntilEmpty(kShutdownDeadline);
    // A change of policy that waits for its plan ends with a status.
    plans_->Stop();
    grpc_port_->Stop();
  }
  if (http_port_) http_port_->Stop();
}

Status Server::Impl::CloseStore() {
  if (store_ == nullptr) return absl::OkStatus();
  const Status health = store_->health();
  const Status closed = store_->Close();
  // A full disk has lost nothing that was acknowledged.
  return health.ok() || absl::IsResourceExhausted(health) ? closed : health;
}

Server::Server(ServerConfig config, Clock& clock, rocksdb::Env* env)
    : impl_(std::make_unique<Impl>(std::move(config), clock, env)) {}

Server::~Server() { (void)Stop(); }

StatusOr<ServingInfo> Server::Start() {
  StatusOr<ServingInfo> info = impl_->Start();
  if (!info.ok()) (void)impl_->Stop();
  return info;
}

Status Server::Stop() { return impl_->Stop(); }

void Server::RequestStop() { impl_->RequestStop(); }

std::string Server::http_address() const { return impl_->http_address(); }

}  // namespace freshet
