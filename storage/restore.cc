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

// A copy of what may be the directory of a server, into which nobody may write meanwhile.
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

void DeleteFiles(rocksdb::Env* env, const std::string& dir) {
  std::vector<std::string> names;
  if (!env->GetChildren(dir, &names).ok()) return;
  for (const std::string& name : names) {
    if (name != "." && name != "..") env->DeleteFile(dir + "/" + name).PermitUncheckedError();
  }
}

// Precondition: the directory was empty before.
void Empty(rocksdb::Env* env, const std::string& dir) {
  const std::string frontier = FrontierDirectory(dir);
  if (env->FileExists(frontier).ok()) {
    DeleteFiles(env, frontier);
    env->DeleteDir(frontier).PermitUncheckedError();
  }
  DeleteFiles(env, dir);
}

// `looked`: CheckDirectory's of `dir`. A disk of its own is empty when it is new, but for what its
// file system keeps there for damaged files.
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

// What the crawl-frontier API keeps, if the checkpoint has any, so that it opens.
Status RestoreFrontier(const std::string& checkpoint, const std::string& to,
                       const StoreOptions& options, rocksdb::Env* env) {
  const std::string from = FrontierDirectory(checkpoint);
  std::error_code error;
  if (std::filesystem::is_symlink(from, error)) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "{}: is a link, and may lead to another store", from);
  }
  if (!env->FileExists(from).ok()) return absl::OkStatus();
  const std::string target = FrontierDirectory(to);
  RETURN_IF_ERROR(CopyDatabase(env, from, target));
  ASSIGN_OR_RETURN(const auto opened, FrontierStore::Open(target, options));
  return opened->Close();
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
  const Status copied = CopyAtRest(env, checkpoint, to);
  StatusOr<VerifyReport> report =
      copied.ok() ? OpenAndVerify(to, options) : StatusOr<VerifyReport>(copied);
  // That of a cluster's server is in its store.
  if (report.ok() && report->ok() && !options.leave_log) {
    const Status frontier = RestoreFrontier(checkpoint, to, options, env);
    if (!frontier.ok()) report = frontier;
  }
  if (!report.ok() || !report->ok()) {
    Empty(env, to);
    if (missing) env->DeleteDir(to).PermitUncheckedError();
  }
  return report;
}

}  // namespace freshet::storage
