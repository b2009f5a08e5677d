// Reads politeness rules in a configuration: `politeness.rules` and `politeness.by_address`.
#ifndef FRESHET_SERVER_CONFIG_POLITENESS_H_
#define FRESHET_SERVER_CONFIG_POLITENESS_H_

#include <string>
#include <vector>

#include "core/base/status.h"
#include "core/schedule/host_group.h"
#include "core/schedule/host_rules.h"

namespace YAML {  // NOLINT(readability-identifier-naming): theirs
class Node;
}  // namespace YAML

namespace freshet {

// Both functions read a YAML value and replace the contents of their last argument with it. Not OK:
// InvalidArgument, which begins with the wrong key and names the line. The functions do not check
// rules against each other: HostRules::Make does.
[[nodiscard]] Status ReadHostRules(const std::string& key, const YAML::Node& node,
                                   std::vector<HostRule>* rules);
[[nodiscard]] Status ReadGroupTerms(const std::string& key, const YAML::Node& node,
                                    GroupTerms* terms);

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_POLITENESS_H_
