// One server, attacked by scripts in turn and then by all at once, with honest clients beside them.
#ifndef FRESHET_TESTS_HOSTILE_SIEGE_H_
#define FRESHET_TESTS_HOSTILE_SIEGE_H_

#include <string>
#include <vector>

#include "tests/hostile/scripts.h"

namespace freshet::hostile {

// `guarded`: the server wants TLS and identities, which honest clients have and hostile ones do
// not. Plays for about `seconds`, on a server whose files are in `directory`, and says on standard
// output how it went. Empty, or which script (a name, or `all`) and what went wrong, as "SCRIPT:
// WHAT".
[[nodiscard]] std::string RunSiege(const std::string& directory, const std::vector<Script>& scripts,
                                   uint64_t seed, double seconds, bool guarded);

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_SIEGE_H_
