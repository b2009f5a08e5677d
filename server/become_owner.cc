#include "server/become_owner.h"

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "fmt/format.h"

namespace freshet {

StatusOr<std::string> BecomeOwnerOf(const std::string& directory) {
  struct stat found {};
  if (geteuid() != 0 || stat(directory.c_str(), &found) != 0 || found.st_uid == 0) {
    return std::string();
  }
  const std::string owner = fmt::format("user {}, who owns {}", found.st_uid, directory);
  if (setgroups(0, nullptr) == 0 && setgid(found.st_gid) == 0 && setuid(found.st_uid) == 0) {
    return owner;
  }
  return MakeStatus(absl::StatusCode::kPermissionDenied, "cannot become {}: {}", owner,
                    std::strerror(errno));
}

}  // namespace freshet
