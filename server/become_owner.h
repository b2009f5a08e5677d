// Root that goes on as the user of a directory.
#ifndef FRESHET_SERVER_BECOME_OWNER_H_
#define FRESHET_SERVER_BECOME_OWNER_H_

#include <string>

#include "core/base/status.h"

namespace freshet {

// Lets root go on as the owner of `directory`: files of root would keep a service from its store,
// and root reads what the service cannot. Returns who that is, such as "user 7, who owns /d"; empty
// where nothing changed: this process is not root's, the directory is root's or is not there.
// PermissionDenied: the system does not let it. Thread-safe.
[[nodiscard]] StatusOr<std::string> BecomeOwnerOf(const std::string& directory);

}  // namespace freshet

#endif  // FRESHET_SERVER_BECOME_OWNER_H_
