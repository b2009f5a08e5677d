// Limits in a configuration: the rates of sources, and all of them as a list.
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

// A map from names of sources to items a second. Takes the place of what was read before.
// InvalidArgument begins with the key at fault.
[[nodiscard]] Status ReadItemRates(const std::string& key, const YAML::Node& node,
                                   std::map<std::string, double>* rates);

// Value type, thread-compatible.
struct LimitInForce {
  std::string name;  // the key, without `limits.`
  double most = 0;   // seconds of spans
};
// What holds, in the order of docs/limits.md; limits that are switched off are left out.
[[nodiscard]] std::vector<LimitInForce> LimitsOf(const ServerConfig& config);

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_LIMITS_H_
