#include "storage/restore.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "rocksdb/env.h"
#include "storage/directory.h"
#include "storage/frontier_store.h"
#include "storage/internal/file_copy.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/wal_check.h"

namespace freshet::storage {
namespace {

StatusOr<VerifyReport> OpenAndVerify(const std::string& dir, StoreOptions options) {
  options.generation_step = kSkippedGenerations;
  options.alone = true;
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, Store::Open(dir, options));
  RETURN_IF_ERROR(store->CheckAge());
  ASSIGN_OR_RETURN(VerifyReport report, store->Verify());
  RETURN_IF_ERROR(store->Close());
  return report;
}

// Copies a database that is not in use, for example a server's data directory. Locks the database
// against writers meanwhile.
Status CopyAtRest(rocksdb::Env* env, const std::string& from, const std::string& to) {
  if (!env->FileExists(from + "/" + std::string(kLockFileName)).ok()) {
    return CopyDatabase(env, from, to);
  }
  rocksdb::FileLock* lock = nullptr;
  RETURN_IF_ERROR(LockDirectory(env, from, &lock));
  Status status = CopyDatabase(env, from, to);
  status.Update(FromRocksDb(env->UnlockFile(lock), "unlocking " + from));
  return status;
}

// Removes the files of a failed restore. Precondition: the directory was empty before the restore.
void Empty(rocksdb::Env* env, const std::string& dir) {
  const std::string frontier = FrontierDirectory(dir);
  if (env->FileExists(frontier).ok()) {
    RemoveFiles(env, frontier);
    env->DeleteDir(frontier).PermitUncheckedError();
  }
  RemoveFiles(env, dir);
}

// `looked`: the result of CheckDirectory for `dir`. A new disk counts as empty even if its file
// system has made a lost+found directory.
Status CheckEmpty(rocksdb::Env* env, const std::string& dir, const Status& looked) {
  RETURN_IF_ERROR(looked);
  std::vector<std::string> names;
  RETURN_IF_ERROR(FromRocksDb(env->GetChildren(dir, &names), "listing " + dir));
  std::erase_if(names, [&](const std::string& name) {
    std::error_code error;
    return name == "." || name == ".." ||
           (name == "lost+found" &&
            std::filesystem::symlink_status(dir + "/" + name, error).type() ==
                std::filesystem::file_type::directory);
  });
  if (names.empty()) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kAlreadyExists, "{}: is not empty: it holds {}", dir,
                    names.front());
}

// Copies the crawl frontier that a server before format 5 kept next to its store. Opening the store
// then moves the frontier into the store.
Status CopyFrontier(rocksdb::Env* env, const std::string& checkpoint, const std::string& to) {
  const std::string from = FrontierDirectory(checkpoint);
  std::error_code error;
  if (std::filesystem::is_symlink(from, error)) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: is a link, and may lead to another store", from);
  }
  return env->FileExists(from).ok() ? CopyDatabase(env, from, FrontierDirectory(to))
                                    : absl::OkStatus();
}

}  // namespace

StatusOr<VerifyReport> Restore(const std::string& checkpoint_dir, const std::string& data_dir,
                               const StoreOptions& options) {
  ASSIGN_OR_RETURN(const std::string checkpoint, AbsolutePath(checkpoint_dir));
  ASSIGN_OR_RETURN(const std::string to, AbsolutePath(data_dir));
  rocksdb::Env* env = options.env != nullptr ? options.env : rocksdb::Env::Default();
  RETURN_IF_ERROR(CheckDirectory(checkpoint));
  const StatusOr<bool> exists = DatabaseExists(env, checkpoint);
  if (!exists.ok() || !*exists) {
    return NotFound("{}: holds no checkpoint{}", checkpoint,
                    exists.ok() ? "" : ": " + std::string(exists.status().message()));
  }
  const Status target = CheckDirectory(to);
  const bool missing = absl::IsNotFound(target);
  RETURN_IF_ERROR(missing ? absl::OkStatus() : CheckEmpty(env, to, target));
  Status copied = CopyAtRest(env, checkpoint, to);
  if (copied.ok()) copied = CopyFrontier(env, checkpoint, to);
  StatusOr<VerifyReport> report =
      copied.ok() ? OpenAndVerify(to, options) : StatusOr<VerifyReport>(copied);
  if (!report.ok() || !report->ok()) {
    Empty(env, to);
    if (missing) env->DeleteDir(to).PermitUncheckedError();
  }
  return report;
}

}  // namespace freshet::storage
