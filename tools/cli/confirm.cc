#include "tools/cli/confirm.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "tools/cli/cells.h"
#include "tools/cli/lines.h"

namespace freshet::cli {

ExitCode Confirm(const Session& session, bool yes, std::string_view what) {
  if (yes) return kAccepted;
  if (!session.screen()) {
    session.Complain(fmt::format(
        "{}? Standard input is not a terminal, so nobody can answer: give --yes to confirm", what));
    return kBadUsage;
  }
  session.out() << what << "? [y/N] " << std::flush;
  LineSource lines(ByteSource::FromDescriptor(session.input()));
  std::string answer;
  const absl::StatusOr<bool> read = lines.Next(&answer);
  const std::string said(Trimmed(answer));
  if (read.ok() && *read &&
      (absl::EqualsIgnoreCase(said, "y") || absl::EqualsIgnoreCase(said, "yes"))) {
    return kAccepted;
  }
  session.Complain("nothing was changed");
  return kRefused;
}

void AddYes(CLI::App& command, bool& yes) {
  command.add_flag("--yes", yes,
                   "Do not ask for confirmation; needed in scripts, where nobody can answer");
}

}  // namespace freshet::cli
