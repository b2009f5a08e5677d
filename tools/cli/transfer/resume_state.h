// How far an import or export is, kept in a file so that the next run goes on there.
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

// The last page of an import that the server has acknowledged with all before it. Value type,
// thread-compatible.
struct ImportState {
  uint64_t input = 0;  // which of the inputs it is of, from 0
  std::string name;    // of that input
  uint64_t row = 0;    // 0: nothing is acknowledged yet
  std::string url;
  bool complete = false;  // there was nothing after it
  // What the import was asked to do; unset: of a release that did not keep it.
  std::optional<std::string> options;
  ImportCounts counts;
};

// What of an export is in its file. Value type, thread-compatible.
struct ExportState {
  std::string token;  // the page token to go on with
  uint64_t bytes = 0;
  uint64_t pages = 0;
  std::string request;  // what was asked for, for a token is of one request alone
};

// Reads what Save wrote; nothing if there is no such file. InvalidArgument if it is something else.
[[nodiscard]] absl::StatusOr<std::optional<ImportState>> LoadImportState(const std::string& path);
[[nodiscard]] absl::StatusOr<std::optional<ExportState>> LoadExportState(const std::string& path);

// Replaces the file as a whole, durably: a crash leaves this state or the one before.
[[nodiscard]] absl::Status Save(const ImportState& state, const std::string& path);
[[nodiscard]] absl::Status Save(const ExportState& state, const std::string& path);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TRANSFER_RESUME_STATE_H_
