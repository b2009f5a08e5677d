#include "server/auth/door.h"

#include <utility>

#include "core/base/counted.h"
#include "server/config.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

// The log warns this long before a certificate expires, so that an operator can renew it by hand.
constexpr Duration kEndIsNear = Duration::Days(14);

}  // namespace

Door::Door(const ServerConfig& config, Clock& clock)
    : config_(config),
      clock_(clock),
      authoriser_(config.auth_open, !config.tls_client_ca.empty(),
                  config.items_per_second_per_client, &clock),
      paths_(PathsIn(config)) {}

Door::Paths Door::PathsIn(const ServerConfig& config) {
  return {.certificate = config.tls_certificate,
          .key = config.tls_key,
          .client_ca = config.tls_client_ca,
          .identities = config.auth_file};
}

void Door::Take(const ServerConfig& config) {
  const MutexLock lock(reloading_);
  paths_ = PathsIn(config);
  authoriser_.SetOpen(config.auth_open);
  authoriser_.SetUsualItems(config.items_per_second_per_client);
}

StatusOr<std::unique_ptr<Door>> Door::Open(const ServerConfig& config, Clock& clock) {
  std::unique_ptr<Door> door(new Door(config, clock));
  {
    const MutexLock lock(door->reloading_);
    RETURN_IF_ERROR(door->ReadTls());
    RETURN_IF_ERROR(door->ReadIdentities().status());
  }
  if (!config.tls_certificate.empty() || !config.auth_file.empty()) {
    door->ticker_ =
        std::make_unique<Ticker>(config.reload_interval, [d = door.get()] { d->Reload(); });
  }
  return door;
}

std::shared_ptr<const TlsMaterial> Door::tls() const {
  const MutexLock lock(mutex_);
  return tls_;
}

bool Door::client_certificate_required() const { return config_.tls_client_certificate_required; }

void Door::Reload() {
  const MutexLock lock(reloading_);
  Count(ReadTls(), &tls_fault_);
  const StatusOr<bool> changed = ReadIdentities();
  Count(changed.status(), &identities_fault_);
  if (changed.ok() && *changed && changed_) changed_();
}

void Door::SetListener(std::function<void()> changed) {
  const MutexLock lock(reloading_);
  changed_ = std::move(changed);
}

void Door::Stop() {
  if (ticker_ != nullptr) ticker_->Stop();
  SetListener(nullptr);
}

Status Door::ReadTls() {
  if (paths_.certificate.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(TlsMaterial read, LoadTls({.certificate = paths_.certificate,
                                              .key = paths_.key,
                                              .client_ca = paths_.client_ca}));
  const std::shared_ptr<const TlsMaterial> old = tls();
  if (old != nullptr && old->certificate == read.certificate && old->key == read.key &&
      old->client_ca == read.client_ca) {
    return absl::OkStatus();
  }
  read.version = old == nullptr ? 1 : old->version + 1;
  WarnOfEnd(read);
  if (old != nullptr)
    Logger(LogModule::kAuth)
        .info("tls: certificate and key files were read again; new connections use them");
  const MutexLock lock(mutex_);
  if (old != nullptr) ++reloads_;
  tls_ = std::make_shared<const TlsMaterial>(std::move(read));
  return absl::OkStatus();
}

StatusOr<bool> Door::ReadIdentities() {
  if (paths_.identities.empty()) return false;
  StatusOr<std::string> text = ReadSettingsFile(paths_.identities, kMaxAuthFileBytes);
  RETURN_IF_ERROR(WithKey("auth.file", text.status()));
  const bool first = authoriser_.generation() == 0;
  if (!first && *text == identities_text_) return false;
  StatusOr<Identities> identities = Identities::Parse(*text);
  RETURN_IF_ERROR(WithKey("auth.file", identities.status()));
  Logger(LogModule::kAuth)
      .info("auth.file: has {}", Counted(identities->size(), "identity", "identities"));
  authoriser_.SetIdentities(*std::move(identities));
  identities_text_ = *std::move(text);
  if (first) return true;
  const MutexLock lock(mutex_);
  ++reloads_;
  return true;
}

void Door::Count(const Status& status, Status* last) {
  const bool said = status == *last;
  *last = status;
  if (status.ok() || said) return;
  Logger(LogModule::kAuth)
      .error("{}; the earlier content of the file stays in use", std::string(status.message()));
  const MutexLock lock(mutex_);
  ++failed_reloads_;
}

void Door::WarnOfEnd(const TlsMaterial& material) const {
  const Instant now = clock_.Now();
  const auto warn = [now](std::string_view setting, Instant end) {
    if (end > now + kEndIsNear) return;
    Logger(LogModule::kAuth)
        .warn("{}: {} {:.1f} days", setting, end > now ? "expires in" : "has been expired for",
              std::abs((end - now).seconds()) / 86400);
  };
  warn("tls.certificate", material.not_after);
  if (!material.client_ca.empty()) warn("tls.client_ca", material.client_ca_not_after);
}

DoorStats Door::stats() const {
  DoorStats stats;
  stats.auth = authoriser_.stats();
  const MutexLock lock(mutex_);
  stats.reloads = reloads_;
  stats.failed_reloads = failed_reloads_;
  if (tls_ == nullptr) return stats;
  stats.tls = true;
  stats.certificate_not_after = tls_->not_after;
  stats.client_ca = !tls_->client_ca.empty();
  stats.client_ca_not_after = tls_->client_ca_not_after;
  return stats;
}

}  // namespace freshet
