// What a server that serves takes from a configuration that was read again: each key that differs
// is taken, or said to need a restart.
#ifndef FRESHET_SERVER_RELOAD_H_
#define FRESHET_SERVER_RELOAD_H_

#include <map>
#include <set>
#include <string>

#include "server/auth/door.h"
#include "server/serving.h"

namespace freshet {

struct ServerConfig;

// Owner thread only.
class Reloader {
 public:
  // `config` is what the server was started with, and what its parts read while it runs: of it only
  // what is Live is changed. All outlive this.
  Reloader(ServerConfig& config, Door& door, Serving& serving);

  // Takes what differs from what was taken before. `fresh` is valid. The log says what became of
  // each key that differs.
  void Take(const ServerConfig& fresh);

 private:
  using Names = std::set<std::string, std::less<>>;

  // Keys of which not the value needs a restart but whether there is one.
  [[nodiscard]] bool NeedsRestart(const std::string& name, const ServerConfig& fresh) const;
  void TakeRates(const ServerConfig& fresh) const;
  // What operators can set as well: theirs wins.
  void TakeSettings(const ServerConfig& fresh, const Names& names) const;

  ServerConfig& config_;
  Door& door_;
  const ServerContext& context_;
  // Of every key, as it was taken last.
  std::map<std::string, std::string, std::less<>> in_force_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_RELOAD_H_
