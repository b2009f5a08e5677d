// Takes a changed configuration into a serving server: each changed key is taken, or needs a
// restart.
#ifndef FRESHET_SERVER_RELOAD_H_
#define FRESHET_SERVER_RELOAD_H_

#include <map>
#include <set>
#include <string>

#include "server/auth/door.h"
#include "server/serving.h"

namespace freshet {

struct ServerConfig;

// Takes changes. Owner thread only.
class Reloader {
 public:
  // `config` is the configuration of the start, which the server's parts read while it runs: only
  // Live fields are changed. All references outlive this.
  Reloader(ServerConfig& config, Door& door, Serving& serving);

  // Takes the changes since the last time. `fresh` is valid. Logs the outcome of each changed key.
  void Take(const ServerConfig& fresh);

 private:
  using Names = std::set<std::string, std::less<>>;

  // Keys that need a restart only when their value appears or disappears.
  [[nodiscard]] bool NeedsRestart(const std::string& name, const ServerConfig& fresh) const;
  void TakeRates(const ServerConfig& fresh) const;
  // Settings of operators win over these.
  void TakeSettings(const ServerConfig& fresh, const Names& names) const;

  ServerConfig& config_;
  Door& door_;
  const ServerContext& context_;
  // The last value taken of every key.
  std::map<std::string, std::string, std::less<>> in_force_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_RELOAD_H_
