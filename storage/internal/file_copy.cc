#include "storage/internal/file_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>
#include <system_error>

#include "rocksdb/env.h"
#include "storage/internal/rocksdb_status.h"

namespace freshet::storage {
namespace {

constexpr size_t kCopyBytes = 1 << 20;
// Sparse files are refused: at least kLargeFileBytes long, with less than 1/kLeastStored of the
// bytes stored on disk. No database has such files, so someone has crafted them. A copy would store
// the holes too, and could fill the disk.
constexpr int64_t kLargeFileBytes = int64_t{64} << 20;
constexpr int64_t kLeastStored = 64;

bool BelongsToDatabase(std::string_view name) {
  return name == "CURRENT" || name == "IDENTITY" || name.starts_with("MANIFEST-") ||
         name.ends_with(".sst") || name.ends_with(".log");
}

Status NoFile(const std::string& path) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "{}: is not a file of a database, but a link, a pipe, a device or a directory",
                    path);
}

// The file that is copied. Owner thread only.
class Source {
 public:
  explicit Source(std::string path) : path_(std::move(path)) {}
  ~Source() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  Status Open() {
    // Merely opening a device or a pipe can have side effects.
    RETURN_IF_ERROR(CheckIsFile(path_));
    descriptor_ = open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    struct stat its {};
    if (descriptor_ < 0 || fstat(descriptor_, &its) != 0) return Failed();
    // Another file might have replaced this one since the check.
    if (!S_ISREG(its.st_mode)) return NoFile(path_);
    if (its.st_size >= kLargeFileBytes && its.st_blocks * 512 < its.st_size / kLeastStored) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition,
                        "{}: {} bytes are mostly holes, which no file of a database has", path_,
                        its.st_size);
    }
    left_ = static_cast<size_t>(its.st_size);
    return absl::OkStatus();
  }
  [[nodiscard]] size_t left() const { return left_; }
  // Returns the next bytes; empty = end. The end is where the file ended when it was opened.
  StatusOr<rocksdb::Slice> Read() {
    ssize_t got = 0;
    do {
      got = read(descriptor_, buffer_.data(), std::min(buffer_.size(), left_));
    } while (got < 0 && errno == EINTR);
    if (got < 0) return Failed();
    left_ -= static_cast<size_t>(got);
    return rocksdb::Slice(buffer_.data(), static_cast<size_t>(got));
  }

 private:
  [[nodiscard]] Status Failed() const {
    return MakeStatus(
        errno == EACCES ? absl::StatusCode::kPermissionDenied : absl::StatusCode::kUnavailable,
        "reading {}: {}", path_, std::generic_category().message(errno));
  }

  const std::string path_;
  std::string buffer_ = std::string(kCopyBytes, '\0');
  int descriptor_ = -1;
  size_t left_ = 0;
};

Status CopyFile(rocksdb::Env* env, const std::string& from, const std::string& to) {
  Source in(from);
  RETURN_IF_ERROR(in.Open());
  uint64_t free_bytes = 0;
  if (env->GetFreeSpace(to.substr(0, to.rfind('/')), &free_bytes).ok() && free_bytes < in.left()) {
    return MakeStatus(absl::StatusCode::kResourceExhausted,
                      "copying {} needs {} bytes, and {} are free", from, in.left(), free_bytes);
  }
  std::unique_ptr<rocksdb::WritableFile> out;
  RETURN_IF_ERROR(
      FromRocksDb(env->NewWritableFile(to, &out, rocksdb::EnvOptions()), "writing " + to));
  while (true) {
    ASSIGN_OR_RETURN(const rocksdb::Slice part, in.Read());
    if (part.empty()) break;
    RETURN_IF_ERROR(FromRocksDb(out->Append(part), "writing " + to));
  }
  rocksdb::Status status = out->Sync();
  if (status.ok()) status = out->Close();
  return FromRocksDb(status, "writing " + to);
}

// Returns true if no other user may change the file. If others may, a hard link would let them
// change the copy too.
bool IsOwnAlone(const std::string& path) {
  struct stat its {};
  return lstat(path.c_str(), &its) == 0 && S_ISREG(its.st_mode) && its.st_uid == geteuid() &&
         (its.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

// Returns false if the file must be copied instead.
bool LinkTable(rocksdb::Env* env, const std::string& from, const std::string& to) {
  if (!env->LinkFile(from, to).ok()) return false;
  // Checks the link itself, because the other name might lead to another file by now.
  if (IsOwnAlone(to)) return true;
  env->DeleteFile(to).PermitUncheckedError();
  return false;
}

}  // namespace

Status SyncDirectory(rocksdb::Env* env, const std::string& dir) {
  std::unique_ptr<rocksdb::Directory> directory;
  rocksdb::Status status = env->NewDirectory(dir, &directory);
  if (status.ok()) status = directory->Fsync();
  return FromRocksDb(status, "syncing " + dir);
}

Status CheckIsFile(const std::string& path) {
  struct stat its {};
  return lstat(path.c_str(), &its) != 0 || S_ISREG(its.st_mode) ? absl::OkStatus() : NoFile(path);
}

Status CheckAreFiles(rocksdb::Env* env, const std::string& dir) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, DatabaseFiles(env, dir));
  for (const std::string& name : names) RETURN_IF_ERROR(CheckIsFile(dir + "/" + name));
  // RocksDB opens its own lock file too.
  return CheckIsFile(dir + "/LOCK");
}

StatusOr<std::vector<std::string>> DatabaseFiles(rocksdb::Env* env, const std::string& dir) {
  std::vector<std::string> names;
  RETURN_IF_ERROR(FromRocksDb(env->GetChildren(dir, &names), "listing " + dir));
  std::erase_if(names, [](const std::string& name) { return !BelongsToDatabase(name); });
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return std::pair(a == "CURRENT", std::string_view(a)) <
           std::pair(b == "CURRENT", std::string_view(b));
  });
  return names;
}

Status CopyDatabase(rocksdb::Env* env, const std::string& from, const std::string& to) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, DatabaseFiles(env, from));
  RETURN_IF_ERROR(FromRocksDb(env->CreateDirIfMissing(to), "creating " + to));
  for (const std::string& name : names) {
    const std::string source = from + "/" + name;
    const std::string target = to + "/" + name;
    // The bytes of a linked table are durable already. The sync of the directory makes the link's
    // name durable.
    if (name.ends_with(".sst") && LinkTable(env, source, target)) continue;
    if (name == "CURRENT") RETURN_IF_ERROR(SyncDirectory(env, to));
    RETURN_IF_ERROR(CopyFile(env, source, target));
  }
  return SyncDirectory(env, to);
}

void RemoveFiles(rocksdb::Env* env, const std::string& dir) {
  std::vector<std::string> names;
  if (!env->GetChildren(dir, &names).ok()) return;
  for (const std::string& name : names) {
    if (name != "." && name != "..") env->DeleteFile(dir + "/" + name).PermitUncheckedError();
  }
}

Status MoveDatabase(rocksdb::Env* env, const std::string& from, const std::string& to,
                    bool current_last) {
  ASSIGN_OR_RETURN(std::vector<std::string> names, DatabaseFiles(env, from));
  if (!current_last) std::reverse(names.begin(), names.end());
  RETURN_IF_ERROR(FromRocksDb(env->CreateDirIfMissing(to), "creating " + to));
  for (const std::string& name : names) {
    const std::string target = to + "/" + name;
    // If CURRENT is moved last, the moves of all other files are made durable first.
    if (name == "CURRENT" && current_last) RETURN_IF_ERROR(SyncDirectory(env, to));
    RETURN_IF_ERROR(FromRocksDb(env->RenameFile(from + "/" + name, target), "moving to " + target));
    if (name != "CURRENT") continue;
    // If CURRENT is moved first, its move is made durable before other files are moved.
    RETURN_IF_ERROR(SyncDirectory(env, to));
    RETURN_IF_ERROR(SyncDirectory(env, from));
  }
  RETURN_IF_ERROR(SyncDirectory(env, to));
  return SyncDirectory(env, from);
}

}  // namespace freshet::storage
