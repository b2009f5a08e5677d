#include "storage/directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "rocksdb/env.h"
#include "storage/format.h"
#include "storage/internal/file_copy.h"
#include "storage/internal/rocksdb_status.h"

namespace freshet::storage {
namespace {

// Returns true if RocksDB's text contains the system's message for this error number. RocksDB
// appends the message to its own text, but does not keep the number.
bool Says(const std::string& text, int error) {
  return text.find(std::generic_category().message(error)) != std::string::npos;
}

bool MayUse(const std::string& path, int mode) {
  return faccessat(AT_FDCWD, path.c_str(), mode, AT_EACCESS) == 0;
}

Status NoPermission(const std::string& dir) {
  for (size_t end = dir.find('/', 1); end != std::string::npos; end = dir.find('/', end + 1)) {
    const std::string above = dir.substr(0, end);
    if (MayUse(above, X_OK)) continue;
    return MakeStatus(absl::StatusCode::kPermissionDenied,
                      "{}: user {} has no permission to enter {}", dir, geteuid(), above);
  }
  return MakeStatus(absl::StatusCode::kPermissionDenied, "{}: user {} has no permission to read it",
                    dir, geteuid());
}

}  // namespace

StatusOr<std::string> AbsolutePath(std::string_view path) {
  std::error_code error;
  std::filesystem::path absolute(path);
  if (absolute.is_relative()) {
    const std::filesystem::path working = std::filesystem::current_path(error);
    if (error) {
      return MakeStatus(absl::StatusCode::kUnavailable,
                        "{}: is relative to the working directory, which cannot be found out: {}",
                        path, error.message());
    }
    absolute = working / absolute;
  }
  std::string text;
  for (const std::filesystem::path& part : absolute.relative_path()) {
    if (!part.empty() && part != ".") text += "/" + part.string();
  }
  return text.empty() ? std::string("/") : text;
}

Status CheckDirectory(const std::string& dir) {
  struct stat its {};
  const bool there = stat(dir.c_str(), &its) == 0;
  if (there && !S_ISDIR(its.st_mode)) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "{}: is not a directory", dir);
  }
  if (there && MayUse(dir, R_OK | X_OK)) return absl::OkStatus();
  if (errno == EACCES) return NoPermission(dir);
  if (errno == ENOENT) return NotFound("{}: does not exist", dir);
  return MakeStatus(absl::StatusCode::kUnavailable, "{}: {}", dir,
                    std::generic_category().message(errno));
}

Status LockDirectory(rocksdb::Env* env, const std::string& dir, rocksdb::FileLock** lock) {
  const std::string path = fmt::format("{}/{}", dir, kLockFileName);
  // A link is refused first, because LockFile would create the file that the link names.
  RETURN_IF_ERROR(CheckIsFile(path));
  const rocksdb::Status status = env->LockFile(path, lock);
  if (status.ok()) return absl::OkStatus();
  *lock = nullptr;
  const std::string text = status.ToString();
  if (text.find("lock hold by current process") != std::string::npos) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "{} is in use by this process", dir);
  }
  if (Says(text, EAGAIN)) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition, "{} is in use by another process",
                      dir);
  }
  if (Says(text, EACCES) || Says(text, EPERM)) {
    return MakeStatus(absl::StatusCode::kPermissionDenied,
                      "no permission to write in {}: locking {}: {}", dir, path, text);
  }
  return FromRocksDb(status, "locking " + path);
}

}  // namespace freshet::storage
