#include "storage/internal/wal_check.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "core/base/check.h"
#include "rocksdb/env.h"
#include "storage/internal/crc32c.h"
#include "storage/internal/rocksdb_status.h"
#include "storage/internal/sealing.h"

namespace freshet::storage {
namespace {

// RocksDB's log format: blocks of 32 KiB; in them records of a masked CRC-32C (4 bytes) over type
// and payload, the payload's length (2) and a type (1). A record never crosses a block: a longer
// one is cut into FIRST, MIDDLE, ..., LAST. Fewer than 7 bytes at the end of a block are zeros.
constexpr size_t kLogBlockBytes = 32768;
constexpr size_t kHeaderBytes = 7;
constexpr size_t kSectorBytes = 512;
enum RecordType : uint8_t { kZero = 0, kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };
// A logical record is a write batch: sequence number (8 bytes), number of changes (4), the changes.
constexpr size_t kBatchHeaderBytes = 12;

uint32_t Unmask(uint32_t masked) {
  const uint32_t rotated = masked - 0xA282EAD8U;
  return rotated >> 17 | rotated << 15;
}

template <typename T>
T ReadFixed(std::string_view bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// A physical record's header and what lies behind it in its block.
struct Header {
  uint32_t crc = 0;
  size_t length = 0;
  uint8_t type = 0;
  size_t room = 0;  // payload bytes up to the end of the block or file
  bool cut_by_file = false;
};

// Precondition: a whole header at `offset`, within its block.
Header ReadHeader(std::string_view log, size_t offset) {
  Header header;
  header.crc = Unmask(ReadFixed<uint32_t>(log.substr(offset)));
  header.length = ReadFixed<uint16_t>(log.substr(offset + 4));
  header.type = static_cast<uint8_t>(log[offset + 6]);
  const size_t block_end = (offset / kLogBlockBytes + 1) * kLogBlockBytes;
  header.cut_by_file = log.size() < block_end;
  header.room = std::min(block_end, log.size()) - offset - kHeaderBytes;
  return header;
}

std::string_view TypeAndPayload(std::string_view log, size_t offset, size_t length) {
  return log.substr(offset + kHeaderBytes - 1, 1 + length);
}

bool Intact(std::string_view log, size_t offset, const Header& header) {
  return header.type >= kFull && header.type <= kLast && header.length <= header.room &&
         Crc32c(0, TypeAndPayload(log, offset, header.length)) == header.crc;
}

bool AllZeros(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; });
}

// Another length than the stored one makes the checksum right: the length was damaged.
bool LengthWasDamaged(std::string_view log, size_t offset, const Header& header) {
  uint32_t crc = Crc32c(0, log.substr(offset + kHeaderBytes - 1, 1));
  for (size_t length = 0; length <= header.room; ++length) {
    if (crc == header.crc && length > 0) return true;
    if (length < header.room) crc = Crc32c(crc, log.substr(offset + kHeaderBytes + length, 1));
  }
  return false;
}

// An intact record of at least `smallest` bytes begins behind `offset`: what is bad at `offset` was
// followed by later writes.
bool IntactRecordBehind(std::string_view log, size_t offset, size_t smallest) {
  for (size_t at = offset + 1; at + kHeaderBytes <= log.size(); ++at) {
    const size_t block_rest = kLogBlockBytes - at % kLogBlockBytes;
    if (block_rest < kHeaderBytes) continue;
    const Header header = ReadHeader(log, at);
    if (header.type != kFull && header.type != kFirst) continue;
    if (header.length >= smallest && Intact(log, at, header)) return true;
  }
  return false;
}

// The file ends in zeros that begin in or before the last sector boundary behind `offset`: blocks
// that the file system had allocated but not written when the power went.
bool EndsInUnwrittenSectors(std::string_view log, size_t offset) {
  size_t zeros = log.size();
  while (zeros > offset && log[zeros - 1] == '\0') --zeros;
  const size_t first_sector = (zeros + kSectorBytes - 1) / kSectorBytes * kSectorBytes;
  return first_sector < log.size();
}

// Walks the physical records of one log. Owner thread only.
class WalWalker {
 public:
  WalWalker(std::string_view log, LogKind kind, std::atomic<uint64_t>* done = nullptr)
      : log_(log),
        kind_(kind),
        smallest_(kind == LogKind::kWal ? kBatchHeaderBytes : 1),
        done_(done) {}

  WalReading Walk() {
    while (offset_ < log_.size() && !reading_.faulty) {
      const size_t before = offset_;
      Step();
      if (done_ != nullptr) done_->fetch_add(offset_ - before, std::memory_order_relaxed);
    }
    if (!reading_.faulty && in_record_)
      Torn(record_start_, "the last parts of a record are missing");
    return std::move(reading_);
  }

 private:
  void Step() {
    const size_t block_rest = kLogBlockBytes - offset_ % kLogBlockBytes;
    if (block_rest < kHeaderBytes) {
      offset_ += block_rest;
      return;
    }
    if (log_.size() - offset_ < kHeaderBytes) return Torn(Start(), "a record's header is cut off");
    const Header header = ReadHeader(log_, offset_);
    if (Intact(log_, offset_, header)) return Take(header);
    if (AllZeros(log_.substr(offset_))) return Torn(Start(), "nothing but zeros follows");
    Judge(header);
  }

  // The bytes at `start` are the beginning of those that follow, and without them the log is
  // intact.
  [[nodiscard]] bool IsRepeated(size_t start) const {
    const std::string_view tail = log_.substr(start);
    for (size_t again = 1; again <= tail.size() / 2; ++again) {
      if (tail.substr(again, again) != tail.substr(0, again)) continue;
      const std::string without = std::string(log_.substr(0, start)).append(tail.substr(again));
      WalWalker walker(without, kind_);
      walker.judging_ = false;
      if (!walker.Walk().faulty) return true;
    }
    return false;
  }

  // Where the logical record at hand begins.
  [[nodiscard]] size_t Start() const { return in_record_ ? record_start_ : offset_; }

  void Take(const Header& header) {
    const bool starts = header.type == kFull || header.type == kFirst;
    if (starts == in_record_) return Damaged("a record's parts are out of order");
    if (starts) {
      record_start_ = offset_;
      batch_header_.clear();
    }
    // The batch's header itself may lie across the end of a block.
    const std::string_view payload = TypeAndPayload(log_, offset_, header.length).substr(1);
    batch_header_ += payload.substr(0, kBatchHeaderBytes - batch_header_.size());
    const bool ends = header.type == kFull || header.type == kLast;
    if (ends && !NoteSequence(batch_header_)) return Damaged("a record holds no write batch");
    in_record_ = header.type == kFirst || header.type == kMiddle;
    if (!in_record_) {
      ++reading_.contents.records;
      reading_.contents.next_sequence = next_sequence_;
    }
    offset_ += kHeaderBytes + header.length;
  }

  // False: too short.
  bool NoteSequence(std::string_view payload) {
    if (smallest_ < kBatchHeaderBytes) return true;
    if (payload.size() < kBatchHeaderBytes) return false;
    const auto sequence = ReadFixed<uint64_t>(payload);
    next_sequence_ = sequence + ReadFixed<uint32_t>(payload.substr(sizeof(sequence)));
    if (reading_.contents.records == 0) reading_.contents.first_sequence = sequence;
    return true;
  }

  void Judge(const Header& header) {
    if (!judging_) return Damaged("bad");
    if (IsRepeated(Start())) return Torn(Start(), "a write that failed, and was repeated");
    const bool cut_off = header.length > header.room && header.cut_by_file;
    if (!cut_off && !EndsInUnwrittenSectors(log_, offset_)) {
      return Damaged(header.length > header.room ? "a record's length is impossible"
                                                 : "a record's checksum is wrong");
    }
    if (LengthWasDamaged(log_, offset_, header)) return Damaged("a record's length is wrong");
    if (IntactRecordBehind(log_, offset_, smallest_))
      return Damaged("a record before intact ones is bad");
    Torn(Start(), cut_off ? "a record is cut off" : "a record's end was never written");
  }

  void Torn(size_t offset, std::string what) { Fault(offset, true, std::move(what)); }
  void Damaged(std::string what) { Fault(Start(), false, std::move(what)); }
  void Fault(size_t offset, bool torn, std::string what) {
    reading_.faulty = true;
    reading_.fault = {.file = {},
                      .offset = offset,
                      .bytes = log_.size() - offset,
                      .torn = torn,
                      .what = std::move(what)};
    // A fault in the first record of the log leaves no first sequence behind.
    if (reading_.contents.records == 0) reading_.contents = WalContents();
  }

  const std::string_view log_;
  const LogKind kind_;
  const size_t smallest_;  // payload of a record
  std::atomic<uint64_t>* const done_;
  bool judging_ = true;  // else any bad place will do
  WalReading reading_;
  size_t offset_ = 0;
  bool in_record_ = false;  // between FIRST and LAST
  size_t record_start_ = 0;
  std::string batch_header_;  // of the record at hand, as far as it was read
  uint64_t next_sequence_ = 0;
};

StatusOr<std::string> ReadFile(rocksdb::Env* env, const std::string& path) {
  std::string bytes;
  RETURN_IF_ERROR(FromRocksDb(rocksdb::ReadFileToString(env, path, &bytes), "reading " + path));
  return bytes;
}

uint64_t BytesOf(rocksdb::Env* env, const std::vector<std::string>& paths) {
  uint64_t sum = 0;
  for (const std::string& path : paths) {
    uint64_t bytes = 0;
    if (env->GetFileSize(path, &bytes).ok()) sum += bytes;
  }
  return sum;
}

// Paths of the logs in `dir`, in the order in which they were written.
StatusOr<std::vector<std::string>> ListWals(rocksdb::Env* env, const std::string& dir) {
  std::vector<std::string> children;
  RETURN_IF_ERROR(FromRocksDb(env->GetChildren(dir, &children), "listing " + dir));
  std::vector<std::pair<uint64_t, std::string>> logs;
  constexpr std::string_view kSuffix = ".log";
  for (const std::string& name : children) {
    const std::string digits = name.substr(0, name.find('.'));
    if (name != digits + std::string(kSuffix) || digits.empty() || digits.size() > 18 ||
        digits.find_first_not_of("0123456789") != std::string::npos) {
      continue;
    }
    logs.emplace_back(std::stoull(digits), dir + "/" + name);
  }
  std::sort(logs.begin(), logs.end());
  std::vector<std::string> paths;
  for (auto& [number, path] : logs) paths.push_back(std::move(path));
  return paths;
}

std::string Describe(const WalFault& fault) {
  return fmt::format("{}, offset {}: {} ({} bytes to the end of the file)", fault.file,
                     fault.offset, fault.what, fault.bytes);
}

Status CutLog(rocksdb::Env* env, const WalFault& fault,
              const std::function<void(char, std::string_view)>& log) {
  if (log) log('W', fmt::format("cutting off the end of {}", Describe(fault)));
  // The file system's own Truncate is not implemented by RocksDB.
  std::unique_ptr<rocksdb::WritableFile> file;
  rocksdb::Status status = env->ReopenWritableFile(fault.file, &file, rocksdb::EnvOptions());
  if (status.ok()) status = file->Truncate(fault.offset);
  if (status.ok()) status = file->Sync();
  if (status.ok()) status = file->Close();
  return FromRocksDb(status, "cutting " + fault.file);
}

Status DamagedLog(const WalFault& fault) {
  return MakeStatus(absl::StatusCode::kDataLoss, "log is damaged: {}", Describe(fault));
}

// RocksDB takes a bad end of the MANIFEST for a torn tail, whatever it is, and would forget tables
// whose logs are gone. A MANIFEST that is not there is for RocksDB to report.
Status CheckManifest(rocksdb::Env* env, const std::string& dir,
                     const std::function<void(char, std::string_view)>& log) {
  ASSIGN_OR_RETURN(std::string current, ReadFile(env, dir + "/CURRENT"));
  if (current.empty() || current.back() != '\n') {
    return MakeStatus(absl::StatusCode::kDataLoss, "{}/CURRENT: does not name a MANIFEST", dir);
  }
  current.pop_back();
  const std::string path = dir + "/" + current;
  if (!env->FileExists(path).ok()) {
    return MakeStatus(absl::StatusCode::kDataLoss, "{}/CURRENT names {}, which is missing", dir,
                      Printable(current));
  }
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(env, path));
  WalReading reading = ReadLog(bytes, LogKind::kManifest);
  if (!reading.faulty) return absl::OkStatus();
  reading.fault.file = path;
  return reading.fault.torn ? CutLog(env, reading.fault, log) : DamagedLog(reading.fault);
}

// Carries what was seen from one log to the next. Owner thread only.
class WalChecker {
 public:
  WalChecker(rocksdb::Env* env, WalPolicy policy,
             const std::function<void(char, std::string_view)>& log, std::atomic<uint64_t>* done)
      : env_(env), policy_(policy), log_(log), done_(done) {}

  Status Check(const std::string& path) {
    if (cut_) return SetAside(path);
    ASSIGN_OR_RETURN(const std::string bytes, ReadFile(env_, path));
    WalReading reading = ReadLog(bytes, LogKind::kWal, done_);
    if (torn_ && reading.contents.records > 0) {
      // The torn tail of the log before was no loss only if nothing is missing here.
      if (reading.contents.first_sequence > next_sequence_ && next_sequence_ != 0) {
        return Damage(*torn_, path);
      }
      RETURN_IF_ERROR(Cut(*torn_));
      torn_.reset();
    }
    if (reading.contents.records > 0) next_sequence_ = reading.contents.next_sequence;
    if (!reading.faulty) return absl::OkStatus();
    reading.fault.file = path;
    if (!reading.fault.torn) return Damage(reading.fault, {});
    if (torn_) RETURN_IF_ERROR(Cut(*torn_));
    torn_ = std::move(reading.fault);
    return absl::OkStatus();
  }

  Status Finish() { return torn_ ? Cut(*torn_) : absl::OkStatus(); }

 private:
  // `next`: a log that was looked at already and lies behind the damage; may be empty.
  Status Damage(const WalFault& fault, const std::string& next) {
    if (policy_ == WalPolicy::kRefuse) {
      return DamagedLog(fault);
    }
    RETURN_IF_ERROR(Cut(fault));
    torn_.reset();
    cut_ = true;
    return next.empty() ? absl::OkStatus() : SetAside(next);
  }

  Status Cut(const WalFault& fault) { return CutLog(env_, fault, log_); }

  Status SetAside(const std::string& path) {
    if (log_) log_('W', fmt::format("setting aside {}: the log before it is damaged", path));
    return FromRocksDb(env_->RenameFile(path, path + ".lost"), "setting aside " + path);
  }

  rocksdb::Env* const env_;
  const WalPolicy policy_;
  const std::function<void(char, std::string_view)>& log_;
  std::atomic<uint64_t>* const done_;  // may be null
  std::optional<WalFault> torn_;       // of the log before, not decided yet
  uint64_t next_sequence_ = 0;         // zero: no record seen yet
  bool cut_ = false;                   // damage was cut: everything behind goes too
};

}  // namespace

StatusOr<bool> DatabaseExists(rocksdb::Env* env, const std::string& dir) {
  std::vector<std::string> children;
  RETURN_IF_ERROR(FromRocksDb(env->GetChildren(dir, &children), "listing " + dir));
  if (std::find(children.begin(), children.end(), "CURRENT") != children.end()) return true;
  for (const std::string& name : children) {
    if (name.ends_with(".sst") || name.ends_with(".log")) {
      return MakeStatus(absl::StatusCode::kDataLoss, "{}: holds {}, but CURRENT is missing", dir,
                        name);
    }
  }
  return false;
}

WalReading ReadLog(std::string_view bytes, LogKind kind, std::atomic<uint64_t>* done) {
  return WalWalker(bytes, kind, done).Walk();
}

Status CheckLogs(rocksdb::Env* env, const std::string& dir, WalPolicy policy,
                 const std::function<void(char, std::string_view)>& log, OpenProgress* progress) {
  RETURN_IF_ERROR(CheckManifest(env, dir, log));
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, ListWals(env, dir));
  if (progress != nullptr) {
    progress->checked_log_bytes = progress->replayed_log_bytes = 0;
    progress->log_bytes = BytesOf(env, paths);
    progress->stage = OpenStage::kCheckingLogs;
  }
  WalChecker checker(env, policy, log,
                     progress == nullptr ? nullptr : &progress->checked_log_bytes);
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(GoOn(progress));
    RETURN_IF_ERROR(checker.Check(path));
  }
  return checker.Finish();
}

}  // namespace freshet::storage
