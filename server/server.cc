#include "server/server.h"

#include <memory>
#include <utility>

#include "core/base/check.h"
#include "server/auth/door.h"
#include "server/base/host_port.h"
#include "server/monitor.h"
#include "server/ports/descriptors.h"
#include "server/ports/listen.h"
#include "server/reload.h"
#include "server/serving.h"
#include "server/starting.h"
#include "spdlog/spdlog.h"
#include "sync/mutex.h"

namespace freshet {

class Server::Impl {
 public:
  Impl(ServerConfig config, Clock& clock, rocksdb::Env* env)
      : config_(std::move(config)), clock_(clock), env_(env) {}

  StatusOr<ServingInfo> Start();
  Status Stop();
  void RequestStop() { progress_.RequestStop(); }
  void WhenReplaced(std::function<void()> end) { on_replaced_ = std::move(end); }
  void WhenToEnd(Serving::End end) { on_end_ = std::move(end); }
  void Reload(const ServerConfig* config) FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    if (config != nullptr && reloader_ != nullptr) reloader_->Take(*config);
    if (door_ != nullptr) door_->Reload();
  }
  [[nodiscard]] std::string http_address() const FRESHET_EXCLUDES(mutex_) {
    const MutexLock lock(mutex_);
    return http_address_;
  }

  [[nodiscard]] std::string forwarding_address() const {
    const int port = progress_.forwarding_port;
    return port == 0 ? "" : WithPort(config_.listen, port);
  }

 private:
  // Listens for probes.
  Status AnswerProbes(int connections);

  ServerConfig config_;  // Reload changes its Live fields
  Clock& clock_;
  rocksdb::Env* const env_;
  bool stopped_ = false;
  StartProgress progress_;
  std::function<void()> on_replaced_;
  Serving::End on_end_;
  ShardNews news_;
  Health health_;
  mutable Mutex mutex_;
  std::string http_address_ FRESHET_GUARDED_BY(mutex_);
  // Set once by Start. Start sets it under the mutex, because Reload can be called at the same
  // time.
  std::unique_ptr<Door> door_;
  std::unique_ptr<Reloader> reloader_;  // set while the server serves
  // The results of Start. Each is either complete or nullptr.
  std::unique_ptr<Serving> serving_;
  std::unique_ptr<Monitor> monitor_;  // shows serving_
};

// --- Starting

StatusOr<ServingInfo> Server::Impl::Start() {
  CHECK(monitor_ == nullptr && !stopped_, "started already");
  const Instant begun = clock_.Now();
  ASSIGN_OR_RETURN(std::unique_ptr<Door> door, Door::Open(config_, clock_));
  {
    const MutexLock lock(mutex_);
    door_ = std::move(door);
  }
  ASSIGN_OR_RETURN(const DescriptorPlan descriptors, ShareDescriptors(config_));
  RETURN_IF_ERROR(AnswerProbes(descriptors.http_connections));
  RETURN_IF_ERROR(progress_.GoOn());
  Starter starter(config_, clock_, *door_, begun, progress_, news_, on_replaced_);
  ASSIGN_OR_RETURN(LoadedStore loaded, starter.Load(env_, descriptors));
  serving_ = std::make_unique<Serving>(config_, clock_, descriptors.connections, news_, health_,
                                       *door_, std::move(loaded), on_end_);
  monitor_->Show(serving_.get());
  ASSIGN_OR_RETURN(const int port, serving_->Open());
  {
    const MutexLock lock(mutex_);
    reloader_ = std::make_unique<Reloader>(config_, *door_, *serving_);
  }
  return ServingInfo{.grpc_address = WithPort(config_.listen, port),
                     .http_address = http_address(),
                     .pages = serving_->pages(),
                     .recovered_seconds = (clock_.Now() - begun).seconds()};
}

Status Server::Impl::AnswerProbes(int connections) {
  monitor_ = std::make_unique<Monitor>(config_, connections, progress_, health_, *door_, clock_);
  const StatusOr<int> port = monitor_->Start();
  RETURN_IF_ERROR(WithKey("http_listen", port.status()));
  // Checks the gRPC address now, because loading the store takes a long time.
  RETURN_IF_ERROR(WithKey("listen", CheckListen(config_.listen)));
  const std::string address = WithPort(config_.http_listen, *port);
  spdlog::info("answering probes at {}://{}/readyz, opening {}",
               door_->tls() != nullptr ? "https" : "http", address, config_.data_dir);
  const MutexLock lock(mutex_);
  http_address_ = address;
  return absl::OkStatus();
}

// --- Stopping

Status Server::Impl::Stop() {
  if (std::exchange(stopped_, true)) return absl::OkStatus();
  if (serving_ != nullptr) serving_->AwaitStandbys();
  health_.Stop();
  {
    const MutexLock lock(mutex_);
    reloader_ = nullptr;
  }
  if (door_ != nullptr) door_->Stop();
  if (serving_ != nullptr) serving_->StopServing();
  if (monitor_ != nullptr) monitor_->Stop();
  return serving_ != nullptr ? serving_->Close() : absl::OkStatus();
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

void Server::Reload() { impl_->Reload(nullptr); }

void Server::Reload(const ServerConfig& config) { impl_->Reload(&config); }

void Server::WhenReplaced(std::function<void()> end) { impl_->WhenReplaced(std::move(end)); }

void Server::WhenToEnd(std::function<void(std::string_view why, bool at_once)> end) {
  impl_->WhenToEnd(std::move(end));
}

void Server::RequestStop() { impl_->RequestStop(); }

std::string Server::http_address() const { return impl_->http_address(); }

std::string Server::forwarding_address() const { return impl_->forwarding_address(); }

}  // namespace freshet
