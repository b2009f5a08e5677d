#include "server/monitor.h"

#include <filesystem>
#include <optional>
#include <utility>

#include "fmt/format.h"
#include "server/config.h"
#include "server/ports/http_credentials.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

constexpr Duration kSampleInterval = Duration::Seconds(1);
// If this server's time is further ahead of the machine's clock, the monitor logs a warning. The
// servers of a fleet do not accept clocks that differ by more (FleetRateOptions::clock_bound).
constexpr Duration kMuchAhead = Duration::Millis(500);
// A disk that answers no write for this long keeps clients waiting.
constexpr Duration kDiskSilence = Duration::Seconds(5);

}  // namespace

Monitor::Monitor(const ServerConfig& config, int connections, StartProgress& progress,
                 Health& health, Door& door, Clock& clock)
    : config_(config),
      progress_(progress),
      health_(health),
      door_(door),
      clock_(clock),
      pings_(config, door, clock, progress.forwarding, [&progress] { return progress.peer(); }),
      http_port_(Routes(), Options(connections)),
      watch_(health, [this](const Status& why) { serving_.load()->dispatcher().SetStalled(why); }),
      sampler_(kSampleInterval, [this] { Sample(); }) {}

StatusOr<int> Monitor::Start() { return http_port_.Start(config_.http_listen); }

HttpOptions Monitor::Options(int connections) {
  HttpOptions options;
  if (door_.tls() != nullptr) options.tls = [this] { return door_.tls(); };
  options.guard = MakeGuard(door_.authoriser(), config_.http_listen, config_.http_names);
  options.recognise = [this](HttpRequest* request) {
    const Credentials credentials = CredentialsOf(*request);
    request->client = door_.authoriser().ClientOf(credentials);
    request->admin = door_.authoriser().IsAdmin(credentials);
  };
  options.max_connections = static_cast<size_t>(connections);
  return options;
}

std::vector<HttpRoute> Monitor::Routes() {
  std::vector<HttpRoute> routes = MakeRoutes(Content(), config_.http_listen);
  for (HttpRoute& route : MakeConsoleRoutes(Console(), config_.http_listen)) {
    routes.push_back(std::move(route));
  }
  if (!config_.indexnow.enabled) return routes;
  for (const bool post : {false, true}) {
    routes.push_back({.path = kIndexNowPath,
                      .post = post,
                      .slow = true,
                      .lane = HttpLane::kPings,
                      .body_bytes = post ? config_.indexnow.max_body_bytes : 0,
                      .answer = [this](const HttpRequest& request) {
                        Serving* serving = serving_;
                        return serving != nullptr ? serving->indexnow().Answer(request)
                                                  : pings_.Answer(request);
                      }});
  }
  return routes;
}

HttpContent Monitor::Content() {
  return {.metrics =
              [this] {
                const Serving* serving = serving_;
                return serving == nullptr ? RenderMetrics(GatherStarting(), /*starting=*/true)
                                          : RenderMetrics(Gather(*serving));
              },
          .status_json = [this] { return StatusJson(); },
          .annotate = [this](const std::string& body) { return annotations_.Post(body); },
          .healthy = [this] { return !health_.failed(); },
          .not_ready = [this](bool standby_counts) { return NotReady(standby_counts); }};
}

ConsoleContent Monitor::Console() {
  return {.overview = [this] { return Overview(); },
          .history =
              [this](const HistoryQuery& query) {
                const Instant now = clock_.Now();
                return RenderHistory(history_.Read(now, query.window, query.since), now);
              },
          .workers =
              [this] {
                const Serving* serving = serving_;
                return RenderWorkers(serving == nullptr || console_is_open()
                                         ? std::vector<WorkerRecord>()
                                         : serving->dispatcher().workers(),
                                     clock_.Now());
              },
          .calls =
              [this] {
                const Serving* serving = serving_;
                return serving == nullptr ? nullptr : serving->console();
              },
          .guarded = [this] { return door_.authoriser().enabled(); }};
}

RecoveryStatus Monitor::Recovery() const {
  RecoveryStatus recovery = progress_.Recovery();
  recovery.ready = health_.serving();
  return recovery;
}

ServerStatus Monitor::GatherStarting() const {
  ServerStatus status;
  status.recovery = Recovery();
  status.cluster.name = config_.cluster.NameOf(config_.cluster.slots().division);
  status.cluster.log.rows_read = status.recovery.rows_taken_in;
  status.cluster.calls = progress_.Forwarded();
  return status;
}

ServerStatus Monitor::Gather(const Serving& serving) const {
  ServerStatus status = serving.Gather();
  status.recovery = Recovery();
  status.cluster.calls = progress_.Forwarded();
  status.http = http_port_.stats();
  status.door = door_.stats();
  status.annotations = annotations_.values();
  return status;
}

bool Monitor::stopping() const {
  // A serving server with standbys continues to serve for a while after a stop was requested.
  return health_.stopping() || (progress_.stop_requested && !health_.serving());
}

std::string Monitor::NotReady(bool standby_counts) const {
  if (health_.failed()) return "the store has failed";
  if (stopping()) return "stopping";
  if (health_.full()) return "the disk is full: nothing can be written until there is space";
  if (!health_.serving()) {
    const RecoveryStatus recovery = Recovery();
    const bool stands_by = recovery.stage == OpenStage::kFollowing;
    return standby_counts && stands_by ? "" : Describe(recovery);
  }
  const Serving* serving = serving_;
  const ClusterStatus cluster = serving == nullptr ? ClusterStatus() : serving->cluster();
  const bool waits = !cluster.name.empty() && (!cluster.sure || cluster.log.waiting > 0);
  if (waits) return "waiting for Kafka: nothing can be acknowledged";
  const Duration silence = serving == nullptr ? Duration() : serving->disk_silence();
  if (silence >= kDiskSilence) {
    return fmt::format("the disk has answered no write for {:.0f} s", silence.seconds());
  }
  return cluster.rate.cut_off ? fmt::format(
                                    "no part of the fleet's crawl rate for {:.0f} s: the "
                                    "server that shares it out is not reached, or clocks "
                                    "differ",
                                    cluster.rate.ungranted.seconds())
                              : "";
}

ConsoleState Monitor::State() const {
  const Serving* serving = serving_;
  if (health_.failed()) return {"failed", "nothing can be stored any more"};
  if (stopping()) return {"stopping", ""};
  if (health_.full()) return {"full", "nothing can be written until there is space"};
  if (serving == nullptr || !health_.serving()) return {"starting", Describe(Recovery())};
  const std::optional<std::string> pause = serving->dispatcher().pause();
  return pause ? ConsoleState{"paused", *pause} : ConsoleState{"serving", ""};
}

std::string Monitor::Overview() const {
  const Serving* serving = serving_;
  ConsoleState state = State();
  if (serving == nullptr) return RenderStartingOverview(state, GatherStarting());
  const ServerStatus status = Gather(*serving);
  if (state.word == "failed") state.detail = status.failure.ToString();
  return RenderOverview(state, status, Recent(*serving));
}

bool Monitor::console_is_open() const {
  return door_.authoriser().enabled() && door_.authoriser().IsOpen("console");
}

std::vector<RecentAssignment> Monitor::Recent(const Serving& serving) const {
  if (console_is_open()) return {};
  return serving.dispatcher().recent();
}

void Monitor::Show(Serving* serving) {
  history_.Open((std::filesystem::path(config_.data_dir) / "history").string(), clock_.Now());
  serving_ = serving;
}

std::string Monitor::StatusJson() const {
  Serving* serving = serving_;
  if (serving == nullptr) return RenderStartingJson(GatherStarting());
  return RenderStatusJson(Gather(*serving), history_.Seconds(), Recent(*serving));
}

void Monitor::Sample() {
  Serving* serving = serving_;
  if (serving == nullptr) return;
  // A server with a full disk is not ready and gets no traffic, so no commit would notice that the
  // disk has space again.
  if (health_.full()) serving->store().TryResume().IgnoreError();
  const ServerStatus status = Gather(*serving);
  // Background work of the store can fail even if there are no commits.
  watch_.Look(status.stall, status.store, status.now);
  SayIfAhead(status.now);
  history_.Add(status.now, figures_.Make(status));
}

void Monitor::SayIfAhead(Instant now) {
  const Duration ahead = clock_.ahead();
  if (ahead <= kMuchAhead) return;
  if (const auto more = log_ahead_.Admit(now)) {
    spdlog::warn(
        "the time of this server is {:.1f} s ahead of the machine's clock, which was set back; it "
        "runs slower until they agree{}",
        ahead.seconds(), *more);
  }
}

void Monitor::Stop() {
  pings_.Stop();
  http_port_.Stop();
  sampler_.Stop();
  history_.Flush();
}

}  // namespace freshet
