// The progress of an import or export, in a file from which the next run continues.
#ifndef FRESHET_TOOLS_CLI_TRANSFER_RESUME_STATE_H_
#define FRESHET_TOOLS_CLI_TRANSFER_RESUME_STATE_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tools/cli/transfer/importer.h"

namespace freshet::cli {

// The position of an import: the last page up to which the server has acknowledged all pages. Value
// type, thread-compatible.
struct ImportState {
  uint64_t input = 0;  // number of the input, from 0
  std::string name;    // name of the input
  uint64_t row = 0;    // 0 = nothing is acknowledged yet
  std::string url;
  bool complete = false;  // no rows follow
  // The options of the import; unset = the file comes from a release that did not store them.
  std::optional<std::string> options;
  ImportCounts counts;
};

// The part of an export that is in its file. Value type, thread-compatible.
struct ExportState {
  std::string token;  // page token to continue from
  uint64_t bytes = 0;
  uint64_t pages = 0;
  std::string request;  // the only request for which the token is valid
};

// Reads a file that Save wrote; nullopt = there is no such file. InvalidArgument: the file is of
// another kind.
[[nodiscard]] absl::StatusOr<std::optional<ImportState>> LoadImportState(const std::string& path);
[[nodiscard]] absl::StatusOr<std::optional<ExportState>> LoadExportState(const std::string& path);

// Replaces the whole file durably: after a crash it has this state or the previous one.
[[nodiscard]] absl::Status Save(const ImportState& state, const std::string& path);
[[nodiscard]] absl::Status Save(const ExportState& state, const std::string& path);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TRANSFER_RESUME_STATE_H_
