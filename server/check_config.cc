#include "server/check_config.h"

#include <cstdio>
#include <string>
#include <utility>

#include "fmt/format.h"
#include "server/auth/identities.h"
#include "server/auth/tls_files.h"
#include "server/become_owner.h"
#include "server/config/describe.h"
#include "server/forward/serving_peer.h"
#include "server/logs/log_text.h"
#include "storage/directory.h"

namespace freshet {
namespace {

constexpr int kBadUsage = 2;

void CheckFiles(LoadedConfig* loaded) {
  const ServerConfig& config = loaded->config;
  const auto add = [loaded](const Status& status) {
    if (!status.ok()) loaded->problems.push_back({.text = std::string(status.message())});
  };
  if (!config.tls_certificate.empty() && !config.tls_key.empty()) {
    add(LoadTls({.certificate = config.tls_certificate,
                 .key = config.tls_key,
                 .client_ca = config.tls_client_ca})
            .status());
    add(ReadRoots(config).status());
  }
  if (config.auth_file.empty()) return;
  const StatusOr<std::string> text = ReadSettingsFile(config.auth_file, kMaxAuthFileBytes);
  add(WithKey("auth.file", text.status()));
  if (text.ok()) add(WithKey("auth.file", Identities::Parse(*text).status()));
}

int SayProblems(const LoadedConfig& loaded) {
  for (const ConfigProblem& problem : loaded.problems) {
    fmt::print(stderr, "freshetd: {}\n", LogText(loaded.Describe(problem)));
  }
  return loaded.problems.empty() ? 0 : kBadUsage;
}

// Warns about files that root can read, but that the owner of the data directory might not be able
// to read. The server usually runs as this owner. This is only a warning, because root may also
// start the server. Precondition: the configuration has no problems.
void WarnAsOwner(LoadedConfig loaded) {
  const StatusOr<std::string> data_dir = storage::AbsolutePath(loaded.config.data_dir);
  if (!data_dir.ok()) return;
  const StatusOr<std::string> owner = BecomeOwnerOf(*data_dir);
  if (!owner.ok() || owner->empty()) return;
  CheckFiles(&loaded);
  for (const ConfigProblem& problem : loaded.problems) {
    fmt::print(stderr, "freshetd: warning, for {}: {}\n", *owner,
               LogText(loaded.Describe(problem)));
  }
}

}  // namespace

int RunCheckConfig(LoadedConfig loaded) {
  CheckFiles(&loaded);
  if (const int code = SayProblems(loaded); code != 0) return code;
  WarnAsOwner(std::move(loaded));
  fmt::print("the configuration is good\n");
  return 0;
}

int RunPrintConfig(const LoadedConfig& loaded) {
  if (const int code = SayProblems(loaded); code != 0) return code;
  fmt::print("{}", ConfigText(loaded));
  return 0;
}

}  // namespace freshet
