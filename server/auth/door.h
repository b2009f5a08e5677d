// What stands between the network and a server: its certificate and its identities, which are read
// again when their files change, or when somebody asks for it. Files that are no good change
// nothing.
#ifndef FRESHET_SERVER_AUTH_DOOR_H_
#define FRESHET_SERVER_AUTH_DOOR_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/base/status.h"
#include "server/auth/authoriser.h"
#include "server/auth/tls_files.h"
#include "server/base/system_clock.h"
#include "server/base/ticker.h"
#include "sync/mutex.h"

namespace freshet {

struct ServerConfig;

// Value type, thread-compatible.
struct DoorStats {
  bool tls = false;
  Instant certificate_not_after;
  bool client_ca = false;
  Instant client_ca_not_after;
  uint64_t reloads = 0;         // of changed files that came into use
  uint64_t failed_reloads = 0;  // that were no good
  AuthStats auth;
};

// Thread-safe.
class Door {
 public:
  // InvalidArgument or NotFound names the setting at fault. Both outlive the door.
  [[nodiscard]] static StatusOr<std::unique_ptr<Door>> Open(const ServerConfig& config,
                                                            Clock& clock);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // nullptr: the ports speak plain text. Whether it is one stays as it is.
  [[nodiscard]] std::shared_ptr<const TlsMaterial> tls() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] bool client_certificate_required() const;
  [[nodiscard]] Authoriser& authoriser() { return authoriser_; }

  // Takes what is set in `config` for files, what is open and the rate of a client; the rest of it
  // stays as it was. Looks at no file. Whether there is a certificate, a client CA and an auth file
  // must be as before.
  void Take(const ServerConfig& config) FRESHET_EXCLUDES(reloading_);
  // Looks at the files at once.
  void Reload() FRESHET_EXCLUDES(reloading_);
  // `changed` is called after the identities have changed, until Stop.
  void SetListener(std::function<void()> changed) FRESHET_EXCLUDES(reloading_);
  // Looks at no file by itself any more, and calls nobody. Idempotent.
  void Stop() FRESHET_EXCLUDES(reloading_);

  [[nodiscard]] DoorStats stats() const FRESHET_EXCLUDES(mutex_);

 private:
  Door(const ServerConfig& config, Clock& clock);
  // Reads all; sets what has changed. Errors are those of the files.
  Status ReadTls() FRESHET_REQUIRES(reloading_) FRESHET_EXCLUDES(mutex_);
  // Whether the identities have changed.
  StatusOr<bool> ReadIdentities() FRESHET_REQUIRES(reloading_);
  void Count(const Status& status, Status* last) FRESHET_REQUIRES(reloading_)
      FRESHET_EXCLUDES(mutex_);
  void WarnOfEnd(const TlsMaterial& material) const;

  struct Paths {
    std::string certificate;
    std::string key;
    std::string client_ca;
    std::string identities;
  };
  [[nodiscard]] static Paths PathsIn(const ServerConfig& config);

  const ServerConfig& config_;
  Clock& clock_;
  Authoriser authoriser_;
  Mutex reloading_;
  Paths paths_ FRESHET_GUARDED_BY(reloading_);
  std::string identities_text_ FRESHET_GUARDED_BY(reloading_);
  // What was wrong last, so that it is said once.
  Status tls_fault_ FRESHET_GUARDED_BY(reloading_);
  Status identities_fault_ FRESHET_GUARDED_BY(reloading_);
  std::function<void()> changed_ FRESHET_GUARDED_BY(reloading_);
  mutable Mutex mutex_;
  std::shared_ptr<const TlsMaterial> tls_ FRESHET_GUARDED_BY(mutex_);
  uint64_t reloads_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t failed_reloads_ FRESHET_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<Ticker> ticker_;  // last: it uses all of them
};

}  // namespace freshet

#endif  // FRESHET_SERVER_AUTH_DOOR_H_
