// Texts made from the table of keys: the values in force, a schema for editors, the reference, the
// example file.
//
// All functions are thread-safe.
#ifndef FRESHET_SERVER_CONFIG_DESCRIBE_H_
#define FRESHET_SERVER_CONFIG_DESCRIBE_H_

#include <string>

#include "server/config/loading.h"

namespace freshet {

// Writes all values, each with its origin, as a file that would set them. The text holds no
// secrets: secret values of cluster.properties are hidden, and for files with secrets the text has
// only the paths.
[[nodiscard]] std::string ConfigText(const LoadedConfig& loaded);

// Makes deploy/freshet.schema.json: JSON Schema, draft 7.
[[nodiscard]] std::string ConfigSchema();
// Makes docs/configuration.md.
[[nodiscard]] std::string ConfigReference();
// Makes deploy/freshet.example.yaml.
[[nodiscard]] std::string ConfigExample();

}  // namespace freshet

#endif  // FRESHET_SERVER_CONFIG_DESCRIBE_H_
