#include "server/monitor.h"

#include <utility>

namespace freshet {
namespace {

constexpr Duration kSampleInterval = Duration::Seconds(1);

}  // namespace

Monitor::Monitor(const ServerConfig& config, int connections, const StartProgress& progress,
                 const Metrics& metrics, Health& health, Door& door)
    : config_(config),
      progress_(progress),
      metrics_(metrics),
      health_(health),
      door_(door),
      http_port_(Routes(), Options(connections)),
      watch_(health, [this](const Status& why) { serving_.load()->dispatcher().SetStalled(why); }),
      sampler_(kSampleInterval, [this] { Sample(); }) {}

HttpOptions Monitor::Options(int connections) {
  HttpOptions options;
  if (door_.tls() != nullptr) options.tls = [this] { return door_.tls(); };
  options.guard = MakeGuard(door_.authoriser());
  options.max_connections = static_cast<size_t>(connections);
  return options;
}

std::vector<HttpRoute> Monitor::Routes() {
  std::vector<HttpRoute> routes = MakeRoutes(Content(), config_.http_listen);
  if (!config_.indexnow.enabled) return routes;
  for (const bool post : {false, true}) {
    routes.push_back({.path = kIndexNowPath,
                      .post = post,
                      .slow = true,
                      .apart = true,
                      .body_bytes = post ? config_.indexnow.max_body_bytes : 0,
                      .answer = [this](const HttpRequest& request) {
                        Serving* serving = serving_;
                        if (serving != nullptr) return serving->indexnow().Answer(request);
                        HttpResponse response = TextResponse(503, "the server is starting");
                        response.fields.emplace_back("Retry-After", "10");
                        return response;
                      }});
  }
  return routes;
}

HttpContent Monitor::Content() {
  return {.metrics =
              [this] {
                const Serving* serving = serving_;
                return serving == nullptr
                           ? Metrics::RenderStarting(Recovery())
                           : metrics_.Render(Gather(*serving), annotations_.values());
              },
          .status_json = [this] { return StatusJson(); },
          .annotate = [this](const std::string& body) { return annotations_.Post(body); },
          .healthy = [this] { return !health_.failed(); },
          .not_ready = [this] { return NotReady(); }};
}

RecoveryStatus Monitor::Recovery() const {
  RecoveryStatus recovery = progress_.Recovery();
  recovery.ready = health_.serving();
  return recovery;
}

ServerStatus Monitor::Gather(const Serving& serving) const {
  ServerStatus status = serving.Gather();
  status.recovery = Recovery();
  status.http = http_port_.stats();
  status.door = door_.stats();
  return status;
}

std::string Monitor::NotReady() const {
  if (health_.failed()) return "the store has failed";
  if (health_.stopping() || progress_.stop_requested) return "stopping";
  if (health_.full()) return "the disk is full: nothing can be written until there is space";
  return health_.serving() ? "" : Describe(Recovery());
}

std::string Monitor::StatusJson() const {
  Serving* serving = serving_;
  if (serving == nullptr) return RenderStartingJson(Recovery());
  return RenderStatusJson(Gather(*serving), history_.samples(), serving->dispatcher().recent(),
                          annotations_.values());
}

void Monitor::Sample() {
  Serving* serving = serving_;
  if (serving == nullptr) return;
  // When readiness keeps all traffic away, nobody commits anything and finds out.
  if (health_.full()) serving->store().TryResume().IgnoreError();
  const ServerStatus status = Gather(*serving);
  // Background work may fail while nobody commits anything.
  watch_.Look(status.stall, status.store, status.now);
  history_.Add(status, annotations_.values());
}

void Monitor::Stop() {
  http_port_.Stop();
  sampler_.Stop();
}

}  // namespace freshet
