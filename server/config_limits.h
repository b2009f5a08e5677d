// Limits in a configuration: the item rates of sources, and a list of all limits in force.
//
// All functions are thread-safe.
#ifndef FRESHET_SERVER_CONFIG_LIMITS_H_
#define FRESHET_SERVER_CONFIG_LIMITS_H_

#include <map>
#include <string>
#include <vector>

#include "core/base/status.h"

namespace YAML {  // NOLINT(readability-identifier-naming): theirs
class Node;
}  // namespace YAML

namespace freshet {

struct ServerConfig;

// Reads a map from source names to items per second, and replaces `rates` with it. Not OK:
// InvalidArgument, which begins with the wrong key.
[[nodiscard]] Status ReadItemRates(const std::string& key, const YAML::Node& node,
                                   std::map<std::string, double>* rates);

// A limit in force. Value type, thread-compatible.
struct LimitInForce {
  std::string name;  // the key, without `limits.`
  double most = 0;   // the limit; durations in seconds
};
// All limits in force, in the order of docs/limits.md.
[[nodiscard]] std::vector<LimitInForce> LimitsOf(const ServerConfig& config);

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_LIMITS_H_
