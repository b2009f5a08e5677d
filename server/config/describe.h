// What the table of keys says, for people and programs: the values in force, a schema for editors,
// the reference, the example file.
//
// All functions are thread-safe.
#ifndef FRESHET_SERVER_CONFIG_DESCRIBE_H_
#define FRESHET_SERVER_CONFIG_DESCRIBE_H_

#include <string>

#include "server/config/loading.h"

namespace freshet {

// All values as a file that would give them, with where each comes from. Nothing in it is secret:
// a configuration has paths of secrets only.
[[nodiscard]] std::string ConfigText(const LoadedConfig& loaded);

// deploy/freshet.schema.json: JSON Schema, draft 7.
[[nodiscard]] std::string ConfigSchema();
// docs/configuration.md.
[[nodiscard]] std::string ConfigReference();
// deploy/freshet.example.yaml.
[[nodiscard]] std::string ConfigExample();

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_DESCRIBE_H_
