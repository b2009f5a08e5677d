#include "server/serving.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <utility>

#include "core/base/check.h"
#include "fmt/format.h"
#include "server/api/admin_service.h"
#include "server/api/audited.h"
#include "server/api/auth_service.h"
#include "server/api/fleet_service.h"
#include "server/api/ingest_service.h"
#include "server/api/pages_service.h"
#include "server/api/reflection_service.h"
#include "server/api/scheduler_service.h"
#include "server/api/service_names.h"
#include "server/api/urlfrontier_service.h"
#include "server/base/answer_limits.h"
#include "server/base/host_port.h"
#include "server/base/limits.h"
#include "server/base/refusals.h"
#include "server/base/reporting.h"
#include "server/config.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

// The maximum time to wait for calls that have been asked to end.
constexpr Duration kShutdownDeadline = Duration::Seconds(5);
// How long to wait for other divisions to answer the items that were sent to them.
constexpr Duration kDivisionsDeadline = Duration::Seconds(1);

// How long a commit may wait for Kafka or the disk before a standby takes over, in multiples of
// cluster.silence.
constexpr int kSilencesOfWaiting = 2;

// The interval between checks of open calls.
constexpr Duration kWatchInterval = Duration::Millis(250);

// The interval at which a server that waits for its standbys checks whether it still serves.
constexpr Duration kStandbysInterval = Duration::Millis(200);

std::vector<Shard*> Pointers(const std::vector<std::unique_ptr<Shard>>& shards) {
  std::vector<Shard*> pointers;
  for (const auto& shard : shards) pointers.push_back(shard.get());
  return pointers;
}

std::unique_ptr<DivisionPeers> PeersOf(const ServerConfig& config, Door& door, Clock& clock,
                                       Cluster* cluster) {
  if (config.cluster.divisions == 1 || config.cluster.address.empty()) return nullptr;
  return std::make_unique<DivisionPeers>(
      config, door, clock, [cluster](uint32_t division) { return cluster->WhoServes(division); });
}

// Makes the forwarder for calls of the crawl-frontier API; nullptr = this server serves the API, or
// the API is off, or cluster.address is empty.
std::unique_ptr<CallForwarder> FrontierCallsOf(const ServerConfig& config, Door& door, Clock& clock,
                                               ForwardCounters& counters, Cluster* cluster) {
  const bool elsewhere = config.frontier_enabled && !config.has_frontier();
  if (!elsewhere || config.cluster.address.empty()) return nullptr;
  return std::make_unique<CallForwarder>(
      config, door, clock, counters,
      [cluster] { return cluster->WhoServes(ServerConfig::kFrontierDivision); },
      ForwardOptions{.only = fmt::format("/{}/", urlfrontier::URLFrontier::service_full_name()),
                     .on_behalf = true,
                     .name = "calls of the crawl-frontier API",
                     .nobody = "no server of division 0 serves at the moment, which has the crawl "
                               "frontier: try again"});
}

size_t LendingsOf(const ClusterConfig& cluster) {
  const auto others = static_cast<size_t>(std::max(cluster.divisions - 1, 1));
  return std::max<size_t>(limits::kMaxLentCalls / others, 1);
}

Rate RateOf(const Settings& settings, const ServerConfig& config) {
  const Rate rate = settings.crawl_rate.value_or(config.crawl_rate);
  if (rate != config.crawl_rate) {
    spdlog::info("crawl rate {:g}, set at run time, is used instead of {:g}", rate.per_second(),
                 config.crawl_rate.per_second());
  }
  return rate;
}

// Wraps `call` so that it is called at most once for each value of `at_once`. The wrapper may
// outlive the server.
Serving::End Once(Serving::End call) {
  // One flag for an orderly end, and one for an immediate end.
  const auto called = std::make_shared<std::array<std::atomic<bool>, 2>>();
  return [call = std::move(call), called](std::string_view why, bool at_once) {
    if (call && !(*called)[at_once ? 1 : 0].exchange(true)) call(why, at_once);
  };
}

}  // namespace

void ShardNews::OnFailure(uint16_t shard, const Status& status) {
  spdlog::critical("shard {} refuses changes from now on: {}", shard, status.ToString());
  serving_->ReportFailure();
}
void ShardNews::OnPagesMayBeDue() { serving_->dispatcher_.Poke(); }
void ShardNews::OnLeases(const LeaseTallies& tallies) { serving_->dispatcher_.OnLeases(tallies); }
void ShardNews::OnGroups(uint16_t shard, const std::vector<GroupStanding>& standings) {
  serving_->dispatcher_.bidding().OnGroups(shard, standings);
}
void ShardNews::OnQuarantine(const QuarantineNews& news) {
  quarantines_.Say(news, serving_->sources_.NameOf(news.standing.source),
                   serving_->context_.clock.Now());
}
void ShardNews::OnCrawlEmptied(uint16_t shard, const std::string& crawl_id) {
  serving_->crawls_->OnEmptied(shard, crawl_id);
}
void ShardNews::OnCrawlDeclassed(uint16_t shard, const std::string& crawl_id) {
  serving_->crawls_->OnDeclassed(shard, crawl_id);
}

Serving::Serving(const ServerConfig& config, Clock& clock, int connections, ShardNews& news,
                 Health& health, Door& door, LoadedStore loaded, End end)
    : config_(config),
      health_(health),
      door_(door),
      end_(Once(std::move(end))),
      audit_(std::move(loaded.audit)),
      cluster_(std::move(loaded.cluster)),
      forwarder_(std::move(loaded.forwarder)),
      frontier_calls_(FrontierCallsOf(config, door, clock, *loaded.forwarding, cluster_.get())),
      divisions_(PeersOf(config, door, clock, cluster_.get())),
      store_(std::move(loaded.store)),
      epochs_(std::move(loaded.pages.epochs)),
      shards_(std::move(loaded.pages.shards)),
      router_(Pointers(shards_), config.cluster.slots()),
      settings_(
          loaded.pages.globals.settings, loaded.pages.policy_name,
          [this](const Settings& settings, RuntimeSettings::Done done) {
            router_.SubmitAlways(Slot(), ChangeSettings{settings}, std::move(done));
          },
          config.politeness),
      sources_({.usual = config.items_per_second_per_source,
                .by_name = config.items_per_second_of_source}),
      crawls_(std::move(loaded.pages.crawls)),
      frontier_(std::move(loaded.frontier)),
      calls_(config, clock),
      // A server of a fleet has no rate until it is granted one.
      dispatcher_(router_, clock,
                  divisions_ != nullptr ? Rate() : RateOf(loaded.pages.globals.settings, config),
                  {.open_leases = static_cast<uint64_t>(config.max_open_leases),
                   .newcomer_leases = static_cast<uint64_t>(config.max_newcomer_leases),
                   .credit = static_cast<uint64_t>(config.max_credit)},
                  config.max_lateness, config.forced_share),
      plans_({.interval = config.epoch_interval}, router_, [this] { return dispatcher_.rate(); }),
      shared_rate_(MakeSharedRate(clock, loaded.pages.globals.settings)),
      own_rate_(dispatcher_, plans_),
      shared_settings_(divisions_ == nullptr
                           ? nullptr
                           : std::make_unique<SharedSettings>(
                                 SharedSettingsOptions{.division = config.cluster.slots(),
                                                       .generation = store_->generation()},
                                 clock, [this] { return cluster_->sure(); })),
      url_pages_(config, clock, router_, divisions_.get()),
      context_{{.config = config,
                .clock = clock,
                .streams = calls_.streams,
                .calls = calls_.stats,
                .authoriser = door.authoriser(),
                .request_ids = calls_.request_ids},
               {.counters = calls_.counters,
                .listings = calls_.listings,
                .audit = *audit_,
                .tracer = calls_.tracer},
               {.store = *store_,
                .router = router_,
                .dispatcher = dispatcher_,
                .sources = sources_,
                .crawls = *crawls_,
                .settings = settings_,
                .plans = plans_,
                .epochs = *epochs_,
                .url_pages = url_pages_,
                .rates = shared_rate_ == nullptr ? static_cast<RateSharing&>(own_rate_)
                                                 : static_cast<RateSharing&>(*shared_rate_),
                .frontier = frontier_.get()},
               {.background = work_.background, .upkeep = work_.upkeep, .upkeeps = work_.upkeeps},
               {.divisions = divisions_.get(),
                .shared_settings = shared_settings_.get(),
                .standbys = standbys_,
                .lendings = calls_.lendings,
                .cluster = cluster_ == nullptr ? std::function<ClusterStatus()>()
                                               : [this] { return cluster(); },
                .take_ping =
                    [this](const v1::TakePingRequest& request, auto answered) {
                      indexnow_.TakePassedOn(request, std::move(answered));
                    },
                .answer_ping =
                    [this](const v1::AnswerPingRequest& request, const Credentials& credentials,
                           auto answered) {
                      indexnow_.AnswerPassedOn(request, credentials, std::move(answered));
                    }},
               /*started=*/clock.Now(),
               /*address=*/[this] { return WithPort(config_.listen, port_); },
               /*end=*/[end = end_] { end("an operator drains this node", /*at_once=*/false); }},
      model_(divisions_ == nullptr ? nullptr : std::make_unique<SharedModel>(context_)),
      health_calls_(context_),
      switchboard_(&door.authoriser()),
      indexnow_(context_),
      grpc_port_(config, static_cast<size_t>(connections), door, clock) {
  for (const SourceRecord& source : loaded.pages.globals.sources) sources_.Add(source);
  TakeOverPause(loaded.pages.globals.settings);
  news.Tell(this);
  crawls_->Start(
      [this](size_t shard, Event event, std::function<void(Reply)> done) {
        router_.SubmitAlways(Slot(static_cast<uint16_t>(shard)), std::move(event), std::move(done));
      },
      [this](const std::vector<ClassTerms>& terms) { dispatcher_.SetShares(terms); });
  for (const auto& shard : shards_) shard->Start();
  Dispatcher::Turn ask_turn;
  if (cluster_ != nullptr) {
    ask_turn = [this] {
      const bool granted = shared_rate_ == nullptr || shared_rate_->MayHandOut();
      return granted ? cluster_->turn() : std::nullopt;
    };
  }
  dispatcher_.Start(std::move(ask_turn));
  if (frontier_ != nullptr) {
    frontier_->Start([this](const Status&) { ReportFailure(); });
  }
  if (loaded.pages.policy.plan) plans_.SetMethod(loaded.pages.policy.plan, nullptr);
}

Serving::~Serving() {
  door_.authoriser().SetListener(nullptr);
  if (divisions_ != nullptr) divisions_->Stop();
}

std::unique_ptr<SharedRate> Serving::MakeSharedRate(Clock& clock, const Settings& settings) {
  if (divisions_ == nullptr) return nullptr;
  const ClusterConfig& cluster = config_.cluster;
  return std::make_unique<SharedRate>(
      SharedRateOptions{.division = cluster.slots(),
                        .generation = store_->generation(),
                        .silence = cluster.silence,
                        .total = RateOf(settings, config_)},
      clock, router_, dispatcher_, plans_, *divisions_, [this] { return cluster_->sure(); },
      [this] { return cluster_->StandForRate(); });
}

void Serving::ReportFailure() {
  health_.ReportFailure();
  // No standby can take over as long as this server keeps its turn, so this server must end.
  if (cluster_ != nullptr) end_("its store takes nothing any more", /*at_once=*/false);
}

void Serving::TakeOverPause(const Settings& settings) {
  if (!settings.paused) return;
  dispatcher_.SetPaused(true, settings.pause_reason);
  spdlog::warn(
      "assignments are paused, as they were before the start{}{}; `freshet resume` ends the pause",
      settings.pause_reason.empty() ? "" : ": ", settings.pause_reason);
}

Status Serving::AddConfiguredSources() {
  for (const std::string& name : config_.sources) {
    // A source that an operator has retired stays retired.
    if (sources_.Knows(name)) continue;
    ASSIGN_OR_RETURN(const SourceRecord record, sources_.Propose(name));
    // The source must be durable before it is used, because signals are stored under its index.
    Changes changes;
    changes.sources.push_back(record);
    RETURN_IF_ERROR(store_->Commit(changes));
    sources_.Add(record);
  }
  return absl::OkStatus();
}

StatusOr<int> Serving::Open() {
  RETURN_IF_ERROR(AddConfiguredSources());
  // Ends the streams of callers that have lost access.
  door_.SetListener([this] { calls_.streams.CheckCallers(); });
  AuditRefusals(door_.authoriser(), *audit_);
  const std::vector<std::string> names = AddMethods();
  // Destroying the forwarder frees its port, which this server uses next.
  forwarder_ = nullptr;
  if (shared_settings_ != nullptr) shared_settings_->Start(context_);
  ASSIGN_OR_RETURN(const int port, grpc_port_.Start(switchboard_));
  watch_ = std::make_unique<Ticker>(kWatchInterval, [this] {
    grpc_port_.Cut(calls_.streams.Look(context_.clock.Now()));
    grpc_port_.Allow(calls_.streams.stats().calls);
    LookAtTurn(context_.clock.Now());
  });
  disk_watch_ =
      std::make_unique<Ticker>(kWatchInterval, [this] { LookAtDisk(context_.clock.Now()); });
  if (frontier_calls_ != nullptr) {
    RETURN_IF_ERROR(frontier_calls_->Start(
        [this](bool served) {
          health_calls_.Set(urlfrontier::URLFrontier::service_full_name(), served);
        },
        [this](const std::set<Peer>& peers) { grpc_port_.Cut(peers); }));
  }
  port_ = port;
  health_.Serve(&health_calls_, names);
  const std::string& address = config_.cluster.address;
  if (cluster_ != nullptr && !address.empty()) {
    cluster_->Serve(WithPortIfAny(address, port));
  }
  if (shared_rate_ != nullptr) shared_rate_->Start();
  console_ = std::make_unique<ConsoleCalls>(grpc_port_.server()->InProcessChannel({}));
  open_console_ = console_.get();
  return port;
}

std::vector<std::string> Serving::AddMethods() {
  switchboard_.Add(SchedulerMethods(context_));
  switchboard_.Add(IngestMethods(context_));
  switchboard_.Add(PagesMethods(context_));
  switchboard_.Add(AdminMethods(context_));
  switchboard_.Add(AuthMethods(context_));
  switchboard_.Add(FleetMethods(context_));
  switchboard_.Add(health_calls_.Methods());
  std::vector<std::string> names = ServiceNames();
  if (frontier_ != nullptr) {
    switchboard_.Add(UrlFrontierMethods(context_));
    names.emplace_back(urlfrontier::URLFrontier::service_full_name());
  }
  std::vector<std::string> reflected = names;
  reflected.emplace_back(v1::FleetService::service_full_name());
  reflected.emplace_back("grpc.health.v1.Health");
  reflected.emplace_back("grpc.reflection.v1alpha.ServerReflection");
  switchboard_.Add(ReflectionMethods(context_, std::move(reflected)));
  if (frontier_calls_ != nullptr) switchboard_.SetRest(frontier_calls_->service());
  return names;
}

ServerStatus Serving::Gather() const {
  ServerStatus status = GatherStatus(context_);
  status.connections = grpc_port_.connections();
  if (frontier_ != nullptr) status.frontier = frontier_->status();
  status.indexnow = indexnow_.stats();
  status.cluster = cluster();
  return status;
}

uint64_t Serving::pages() const {
  uint64_t pages = 0;
  for (const auto& shard : shards_) pages += shard->snapshot().counters.pages;
  return pages;
}

void Serving::WithoutWaitingForKafka(const std::function<void()>& work) {
  if (cluster_ == nullptr) return work();
  RunReporting({work}, kReportInterval, [this] {
    if (cluster_->log().Stats().waiting > 0) cluster_->log().StopWaiting();
  });
}

void Serving::AwaitStandbys() {
  if (cluster_ == nullptr) return;
  // While a standby loads the pages, it does not read the log and is not ready. If a standby is
  // ready now, HasSuccessor counts loading standbys too from now on.
  had_successor_ = HasSuccessor();
  standbys_.AskToLoad();
  Clock& clock = context_.clock;
  const Duration handover = config_.cluster.handover;
  const Instant latest = clock.Now() + handover;
  // A server that can no longer serve does not wait for standbys.
  const auto serves = [this] {
    return !health_.failed() && store_->health().ok() && cluster_->sure();
  };
  if (!serves() || standbys_.AwaitLoaded(clock, Duration())) return;
  spdlog::info(
      "serving until the standbys have loaded the pages, for at most {:g} s; a second signal ends "
      "the server at once",
      handover.seconds());
  while (clock.Now() < latest && serves()) {
    if (standbys_.AwaitLoaded(clock, kStandbysInterval)) return;
  }
  spdlog::warn("not all standbys have loaded the pages; ending anyway");
}

void Serving::StopServing() {
  // The port cannot close while a call waits for a commit.
  WithoutWaitingForKafka([this] { EndCalls(); });
}

bool Serving::HasSuccessor() const {
  const std::vector<v1::FleetStandby> standbys = standbys_.All(context_.clock.Now());
  return std::any_of(standbys.begin(), standbys.end(), [this](const v1::FleetStandby& standby) {
    return standby.ready() || (had_successor_ && standby.has_behind());
  });
}

void Serving::LookAtTurn(Instant now) {
  if (cluster_ == nullptr) return;
  // If Kafka is unreachable, the turn is not confirmed, and another server would have the same
  // problem.
  if (!cluster_->sure() || cluster_->log().Stats().waiting == 0) return waits_since_.reset();
  if (!waits_since_) waits_since_ = now;
  const Duration waited = now - *waits_since_;
  if (waited < config_.cluster.silence * kSilencesOfWaiting || !HasSuccessor()) return;
  end_(fmt::format("Kafka has taken no commit of this server for {:.0f} s, and a standby is ready",
                   waited.seconds()),
       /*at_once=*/false);
}

Serving::Calls::Calls(const ServerConfig& config, Clock& clock)
    : streams({.streams = static_cast<size_t>(config.max_streams),
               .streams_per_client = static_cast<size_t>(config.max_streams_per_client),
               .unacked_bytes = static_cast<size_t>(config.max_unacked_bytes)}),
      lendings(LendingsOf(config.cluster)),
      request_ids(clock.Now()),
      tracer(config.trace_share, clock) {}

void Serving::LookAtDisk(Instant now) {
  const Duration silence = disk_.Look(store_->writes(), now);
  if (cluster_ == nullptr || !cluster_->sure()) return;
  if (silence < config_.cluster.silence * kSilencesOfWaiting) return;
  // Once this server stops, it receives no more reports of standbys. A standby that was ready
  // before then still counts.
  if (!had_successor_ && !HasSuccessor()) return;
  // An orderly end would wait for the disk and keep the turn until then. No write is lost, because
  // the log has the writes that are not on the disk.
  end_(fmt::format("the disk has answered no write for {:.0f} s, and a standby is ready",
                   silence.seconds()),
       /*at_once=*/true);
}

void Serving::EndCalls() {
  if (cluster_ != nullptr) cluster_->Serve("");
  forwarder_ = nullptr;
  // The dispatcher stops first, because pages that were leased ahead must be returned while their
  // shards still run.
  dispatcher_.Stop();
  if (shared_rate_ != nullptr) shared_rate_->Stop();
  if (shared_settings_ != nullptr) shared_settings_->Stop();
  indexnow_.Stop();
  if (grpc_port_.server() == nullptr) return;
  // Workers may still report results for a while. Then every stream ends once everything that was
  // read from it is acknowledged.
  calls_.streams.NoticeDraining();
  // If another server takes over, workers can report to it instead. It serves only after this
  // server has ended, so the grace period is skipped.
  const Duration grace = config_.shutdown_grace;
  (void)calls_.streams.WaitUntilEmpty(HasSuccessor() ? Duration() : grace);
  calls_.streams.EndAll();
  if (frontier_calls_ != nullptr) frontier_calls_->Stop();
  if (divisions_ != nullptr) {
    (void)calls_.streams.WaitUntilEmpty(kDivisionsDeadline);
    divisions_->Stop();
  }
  for (const auto& shard : shards_) {
    (void)shard->Query(
        [](const ShardView& view) { view.epochs.Cancel(view.now, ServerIsStopping()); });
  }
  (void)calls_.streams.WaitUntilEmpty(kShutdownDeadline);
  // A policy change that still waits for its plan ends with an error.
  plans_.Stop();
  health_calls_.EndWatches();
  if (console_ != nullptr) console_->Stop();
  grpc_port_.Stop();
  watch_ = nullptr;
}

void Serving::StopShards() {
  WithoutWaitingForKafka([this] {
    for (const auto& shard : shards_) shard->Stop();
    if (frontier_ != nullptr) frontier_->Stop();
  });
}

Status Serving::Close() {
  dispatcher_.Stop();
  // After this, shards that are learning no longer wait for other divisions.
  if (divisions_ != nullptr) divisions_->Stop();
  if (shared_settings_ != nullptr) shared_settings_->Stop();
  url_pages_.Stop();
  indexnow_.Stop();
  plans_.Stop();
  // No requests can arrive any more.
  work_.background.Stop();
  work_.upkeep.Stop();
  StopShards();
  const Status health = store_->health();
  // From here on a slow disk delays no other server, because the log has all writes.
  disk_watch_ = nullptr;
  if (cluster_ != nullptr) cluster_->Leave();
  const Status closed = store_->Close();
  // A full disk is not an error here, because everything that was acknowledged is stored.
  return health.ok() || absl::IsResourceExhausted(health) ? closed : health;
}

}  // namespace freshet
