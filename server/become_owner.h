// Lets a process that runs as root continue as the owner of a directory.
#ifndef FRESHET_SERVER_BECOME_OWNER_H_
#define FRESHET_SERVER_BECOME_OWNER_H_

#include <string>

#include "core/base/status.h"

namespace freshet {

// If the process runs as root, makes it continue as the owner of `directory`. A process that stays
// root would create files in the store that the service cannot use, and would read files that the
// service cannot read. Returns the new user, for example "user 7, who owns /d". Empty = no change:
// the process does not run as root, or root owns the directory, or the directory is missing. Not
// OK: PermissionDenied if the system refuses.
[[nodiscard]] StatusOr<std::string> BecomeOwnerOf(const std::string& directory);

}  // namespace freshet

#endif  // FRESHET_SERVER_BECOME_OWNER_H_
