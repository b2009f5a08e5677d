// Applies a changed configuration to a serving server. Each changed key is either applied or needs
// a restart.
#ifndef FRESHET_SERVER_RELOAD_H_
#define FRESHET_SERVER_RELOAD_H_

#include <map>
#include <set>
#include <string>

#include "server/auth/door.h"
#include "server/serving.h"

namespace freshet {

struct ServerConfig;

// Applies changes. Owner thread only.
class Reloader {
 public:
  // `config` is the configuration with which the server started. Other threads read it, so only its
  // Live fields are changed. All references outlive this object.
  Reloader(ServerConfig& config, Door& door, Serving& serving);

  // Applies the changes since the last call. Logs the outcome of each changed key. Precondition:
  // `fresh` is valid.
  void Take(const ServerConfig& fresh);

 private:
  using Names = std::set<std::string, std::less<>>;

  // Returns true if a key of TLS or authentication has changed in a way that needs a restart: a
  // value was set for the first time or removed.
  [[nodiscard]] bool NeedsRestart(const std::string& name, const ServerConfig& fresh) const;
  void TakeRates(const ServerConfig& fresh) const;
  // Applies the settings that operators can also change at run time. The operators' values take
  // precedence.
  void TakeSettings(const ServerConfig& fresh, const Names& names) const;

  ServerConfig& config_;
  Door& door_;
  const ServerContext& context_;
  // The value in force of every key.
  std::map<std::string, std::string, std::less<>> in_force_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_RELOAD_H_
