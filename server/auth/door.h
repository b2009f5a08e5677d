// Holds the certificates and the identities of a server. Reads their files again when the files
// change, or on request. A faulty file changes nothing.
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
  uint64_t reloads = 0;         // changed files that were loaded
  uint64_t failed_reloads = 0;  // changed files that were not loaded because of a fault
  AuthStats auth;
};

// Thread-safe.
class Door {
 public:
  // `config` and `clock` outlive the door. InvalidArgument or NotFound: the message names the
  // setting at fault.
  [[nodiscard]] static StatusOr<std::unique_ptr<Door>> Open(const ServerConfig& config,
                                                            Clock& clock);
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  // The certificates and the key in use; nullptr = the ports speak plain text. TLS is never
  // switched on or off while the server runs.
  [[nodiscard]] std::shared_ptr<const TlsMaterial> tls() const FRESHET_EXCLUDES(mutex_);
  [[nodiscard]] bool client_certificate_required() const;
  [[nodiscard]] Authoriser& authoriser() { return authoriser_; }

  // Takes three things from `config`: the paths of the files, auth.open, and the item rate of a
  // client. Reads no file. Precondition: `config` has a certificate, a client CA and an auth file
  // exactly if the earlier configuration had them.
  void Take(const ServerConfig& config) FRESHET_EXCLUDES(reloading_);
  // Reads the files at once.
  void Reload() FRESHET_EXCLUDES(reloading_);
  // Calls `changed` after each change of the identities, until Stop.
  void SetListener(std::function<void()> changed) FRESHET_EXCLUDES(reloading_);
  // Stops reading the files and calling the listener. Idempotent.
  void Stop() FRESHET_EXCLUDES(reloading_);

  [[nodiscard]] DoorStats stats() const FRESHET_EXCLUDES(mutex_);

 private:
  Door(const ServerConfig& config, Clock& clock);
  // Reads the certificates, and uses them from now on if they have changed. Not OK: a file is
  // faulty.
  Status ReadTls() FRESHET_REQUIRES(reloading_) FRESHET_EXCLUDES(mutex_);
  // Reads the identities, and uses them from now on if they have changed. Returns true if they
  // have.
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
  // The last fault of each file, kept so that a fault is reported only once.
  Status tls_fault_ FRESHET_GUARDED_BY(reloading_);
  Status identities_fault_ FRESHET_GUARDED_BY(reloading_);
  std::function<void()> changed_ FRESHET_GUARDED_BY(reloading_);
  mutable Mutex mutex_;
  std::shared_ptr<const TlsMaterial> tls_ FRESHET_GUARDED_BY(mutex_);
  uint64_t reloads_ FRESHET_GUARDED_BY(mutex_) = 0;
  uint64_t failed_reloads_ FRESHET_GUARDED_BY(mutex_) = 0;
  std::unique_ptr<Ticker> ticker_;  // last: its thread uses the other members
};

}  // namespace freshet

#endif  // FRESHET_SERVER_AUTH_DOOR_H_
