// Attacks one server with each of the scripts and then with all at once, while honest clients use
// it.
#ifndef FRESHET_TESTS_HOSTILE_SIEGE_H_
#define FRESHET_TESTS_HOSTILE_SIEGE_H_

#include <string>
#include <vector>

#include "tests/hostile/scripts.h"

namespace freshet::hostile {

// Attacks a server, with its files in `directory`, for about `seconds`; reports progress on
// standard output. `guarded`: the server wants TLS and identities, which only honest clients have.
// Returns "" or "SCRIPT: FAULT", where SCRIPT is a name or `all`.
[[nodiscard]] std::string RunSiege(const std::string& directory, const std::vector<Script>& scripts,
                                   uint64_t seed, double seconds, bool guarded);

}  // namespace freshet::hostile

#endif  // FRESHET_TESTS_HOSTILE_SIEGE_H_
