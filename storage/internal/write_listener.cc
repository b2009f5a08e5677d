#include "storage/internal/write_listener.h"

#include <memory>

namespace freshet::storage {
namespace {

// Makes RocksDB begin a new log, because it ends the process if it writes to a log that has failed
// before. RocksDB begins a new log only in a flush of rows in memory, so this first writes an
// existing row again. RocksDB abandons the failed log only in Resume.
rocksdb::Status StartNewLog(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family,
                            const std::string& key) {
  rocksdb::PinnableSlice value;
  const rocksdb::Status read = db.Get(rocksdb::ReadOptions(), family, key, &value);
  if (!read.ok()) return read;
  rocksdb::WriteOptions write;
  write.disableWAL = true;
  const rocksdb::Status put = db.Put(write, family, key, value);
  if (!put.ok()) return put;
  const rocksdb::Status flushed = db.Flush(rocksdb::FlushOptions(), family);
  return flushed.ok() || flushed.IsNoSpace() ? flushed : db.Resume();
}

std::string ProbePath(const std::string& dir) { return dir + "/FRESHET_PROBE"; }

// Appends zeros to a new file until it has `bytes` bytes.
rocksdb::Status WriteZeros(rocksdb::Env& env, const std::string& path, uint64_t bytes) {
  std::unique_ptr<rocksdb::WritableFile> file;
  rocksdb::Status status = env.NewWritableFile(path, &file, rocksdb::EnvOptions());
  const std::string zeros(size_t{64} << 10, '\0');
  for (uint64_t written = 0; status.ok() && written < bytes; written += zeros.size()) {
    status = file->Append(zeros);
  }
  return status.ok() ? file->Close() : status;
}

}  // namespace

rocksdb::Status ProbeSpace(rocksdb::Env& env, const std::string& dir, uint64_t bytes) {
  const rocksdb::Status status = WriteZeros(env, ProbePath(dir), bytes);
  RemoveProbe(env, dir);
  return status;
}

void RemoveProbe(rocksdb::Env& env, const std::string& dir) {
  const std::string path = ProbePath(dir);
  if (env.FileExists(path).ok()) env.DeleteFile(path).PermitUncheckedError();
}

rocksdb::Status ResumeWriting(rocksdb::DB& db, WriteListener& listener, bool has_log,
                              rocksdb::ColumnFamilyHandle* family, const std::string& key) {
  listener.SetResumes(true);
  rocksdb::Status status = db.Resume();
  if (status.ok() && has_log) status = StartNewLog(db, family, key);
  listener.SetResumes(false);
  return status;
}

}  // namespace freshet::storage
