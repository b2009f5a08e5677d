// Lets a process of root continue as the owner of a directory.
#ifndef FRESHET_SERVER_BECOME_OWNER_H_
#define FRESHET_SERVER_BECOME_OWNER_H_

#include <string>

#include "core/base/status.h"

namespace freshet {

// Lets root continue as the owner of `directory`: files of root would keep a service from its
// store, and root could read what the service cannot. Returns the new user, such as "user 7, who
// owns /d"; empty = nothing changed: the process is not root's, or the directory is root's or
// missing. PermissionDenied: the system refuses. Thread-safe.
[[nodiscard]] StatusOr<std::string> BecomeOwnerOf(const std::string& directory);

}  // namespace freshet

#endif  // FRESHET_SERVER_BECOME_OWNER_H_
