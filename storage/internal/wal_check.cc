#include "storage/internal/wal_check.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <span>

#include "core/base/check.h"
#include "rocksdb/env.h"
#include "storage/internal/crc32c.h"
#include "storage/internal/file_copy.h"
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
// Bytes of a log that are read at a time: whole blocks, few enough to stay in the cache while their
// checksums are computed.
constexpr size_t kPieceBytes = 16 * kLogBlockBytes;
enum RecordType : uint8_t { kZero = 0, kFull = 1, kFirst = 2, kMiddle = 3, kLast = 4 };
// RocksDB writes the name of a MANIFEST into CURRENT, usually 16 bytes.
constexpr uint64_t kMostCurrentBytes = 64;
// Writes of the store are never larger than this.
constexpr size_t kMostRepeatedBytes = size_t{256} << 20;
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

// The header of a physical record, and the space that its block has after the header.
struct Header {
  uint32_t crc = 0;
  size_t length = 0;
  uint8_t type = 0;
  size_t room = 0;  // payload bytes up to the end of the block or file
  bool cut_by_file = false;
};

// Reads the header at the beginning of `rest`, which is the part of a log from `offset` on.
// Precondition: the whole header is in one block.
Header ReadHeader(std::string_view rest, size_t offset) {
  Header header;
  header.crc = Unmask(ReadFixed<uint32_t>(rest));
  header.length = ReadFixed<uint16_t>(rest.substr(4));
  header.type = static_cast<uint8_t>(rest[6]);
  const size_t block_rest = kLogBlockBytes - offset % kLogBlockBytes;
  header.cut_by_file = rest.size() < block_rest;
  header.room = std::min(block_rest, rest.size()) - kHeaderBytes;
  return header;
}

std::string_view TypeAndPayload(std::string_view rest, size_t length) {
  return rest.substr(kHeaderBytes - 1, 1 + length);
}

// Returns true if this can be the header of a record, apart from its checksum.
bool IsPossible(const Header& header) {
  return header.type >= kFull && header.type <= kLast && header.length <= header.room;
}

bool Intact(std::string_view rest, const Header& header) {
  return IsPossible(header) && Crc32c(0, TypeAndPayload(rest, header.length)) == header.crc;
}

bool AllZeros(std::string_view bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](char c) { return c == '\0'; });
}

// Returns true if a length other than the stored one makes the checksum right.
bool LengthWasDamaged(std::string_view rest, const Header& header) {
  uint32_t crc = Crc32c(0, rest.substr(kHeaderBytes - 1, 1));
  for (size_t length = 0; length <= header.room; ++length) {
    if (crc == header.crc && length > 0) return true;
    if (length < header.room) crc = Crc32c(crc, rest.substr(kHeaderBytes + length, 1));
  }
  return false;
}

// Returns, for each place of `text` up to `last`, how many bytes from that place on equal the first
// bytes of the text; 0 for place 0. Compares no byte more than twice (the Z function).
std::vector<uint32_t> SameAsBeginning(std::string_view text, size_t last) {
  CHECK(last < text.size() && text.size() <= UINT32_MAX, "{} of {} bytes", last, text.size());
  std::vector<uint32_t> same(last + 1);
  size_t from = 0;  // [from, to) is known to equal the beginning
  size_t to = 0;
  for (size_t at = 1; at <= last; ++at) {
    size_t length = at < to ? std::min<size_t>(to - at, same[at - from]) : 0;
    while (at + length < text.size() && text[length] == text[at + length]) ++length;
    same[at] = static_cast<uint32_t>(length);
    if (at + length <= to) continue;
    from = at;
    to = at + length;
  }
  return same;
}

// Returns true if the file ends in zeros that begin at or before the last sector boundary after
// `offset`. After a power cut, blocks that the file system had allocated but not written are zeros.
bool EndsInUnwrittenSectors(std::string_view log, size_t offset) {
  size_t zeros = log.size();
  while (zeros > offset && log[zeros - 1] == '\0') --zeros;
  const size_t first_sector = (zeros + kSectorBytes - 1) / kSectorBytes * kSectorBytes;
  return first_sector < log.size();
}

// Reads the physical records of a log, a piece at a time, while they are intact. Owner thread only.
class LogScan {
 public:
  enum class End : uint8_t {
    kOfPiece,     // end of the piece; everything so far is intact
    kBadBytes,    // neither an intact physical record nor the padding of a block
    kOutOfOrder,  // a part of a record that cannot follow here
    kNoBatch,     // a record that is too short for a write batch
  };

  // Starts at `start`, which must be the beginning of a record.
  explicit LogScan(LogKind kind, size_t start = 0)
      : smallest_(kind == LogKind::kWal ? kBatchHeaderBytes : 1), offset_(start) {}

  // `piece` directly follows the piece of the previous call. All pieces but the last must end at
  // the end of a block. Must not be called after a result other than kOfPiece.
  End Scan(std::string_view piece) {
    const size_t base = offset_;
    while (offset_ - base < piece.size()) {
      const size_t block_rest = kLogBlockBytes - offset_ % kLogBlockBytes;
      if (block_rest < kHeaderBytes) {
        offset_ += block_rest;
        continue;
      }
      const std::string_view rest = piece.substr(offset_ - base);
      if (rest.size() < kHeaderBytes) return End::kBadBytes;
      const Header header = ReadHeader(rest, offset_);
      if (!Intact(rest, header)) return End::kBadBytes;
      const End end = Take(header, TypeAndPayload(rest, header.length).substr(1));
      if (end != End::kOfPiece) return end;
    }
    return End::kOfPiece;
  }

  // The current place in the log.
  [[nodiscard]] size_t offset() const { return offset_; }
  // Returns true if the place is inside a record, so that more parts of the record must follow.
  [[nodiscard]] bool in_record() const { return in_record_; }
  // The offset at which the current logical record begins.
  [[nodiscard]] size_t start() const { return in_record_ ? record_start_ : offset_; }
  [[nodiscard]] const WalContents& contents() const { return contents_; }

 private:
  End Take(const Header& header, std::string_view payload) {
    const bool starts = header.type == kFull || header.type == kFirst;
    if (starts == in_record_) return End::kOutOfOrder;
    if (starts) {
      record_start_ = offset_;
      batch_header_.clear();
    }
    // The header of the batch can cross the end of a block.
    batch_header_ += payload.substr(0, kBatchHeaderBytes - batch_header_.size());
    const bool ends = header.type == kFull || header.type == kLast;
    if (ends && smallest_ == kBatchHeaderBytes) {
      if (batch_header_.size() < kBatchHeaderBytes) return End::kNoBatch;
      NoteBatch(batch_header_);
    }
    if (ends) ++contents_.records;
    in_record_ = !ends;
    offset_ += kHeaderBytes + header.length;
    return End::kOfPiece;
  }

  void NoteBatch(std::string_view header) {
    const auto sequence = ReadFixed<uint64_t>(header);
    if (contents_.records == 0) contents_.first_sequence = sequence;
    contents_.next_sequence = sequence + ReadFixed<uint32_t>(header.substr(sizeof(sequence)));
  }

  const size_t smallest_;  // minimum payload of a record
  WalContents contents_;
  size_t offset_;
  bool in_record_ = false;  // between FIRST and LAST
  size_t record_start_ = 0;
  std::string batch_header_;  // first bytes of the current record's batch
};

// Reads a log that is in memory, and judges its first bad place. Owner thread only.
class LogJudge {
 public:
  LogJudge(std::string_view log, LogKind kind, const OpenProgress* progress)
      : log_(log),
        kind_(kind),
        progress_(progress),
        smallest_(kind == LogKind::kWal ? kBatchHeaderBytes : 1),
        scan_(kind) {}

  WalReading Read() {
    switch (scan_.Scan(log_)) {
      case LogScan::End::kOfPiece:
        if (scan_.in_record()) Torn("the last parts of a record are missing");
        break;
      case LogScan::End::kBadBytes:
        JudgeBadBytes();
        break;
      case LogScan::End::kOutOfOrder:
        Damaged("a record's parts are out of order");
        break;
      case LogScan::End::kNoBatch:
        Damaged("a record holds no write batch");
        break;
    }
    reading_.contents = scan_.contents();
    return std::move(reading_);
  }

 private:
  void JudgeBadBytes() {
    const size_t offset = scan_.offset();
    const std::string_view rest = log_.substr(offset);
    if (rest.size() < kHeaderBytes) return Torn("a record's header is cut off");
    if (AllZeros(rest)) return Torn("nothing but zeros follows");
    const Header header = ReadHeader(rest, offset);
    if (IsRepeated(header)) return Torn("a write that failed, and was repeated");
    const bool cut_off = header.length > header.room && header.cut_by_file;
    if (!cut_off && !EndsInUnwrittenSectors(log_, offset)) {
      return Damaged(header.length > header.room ? "a record's length is impossible"
                                                 : "a record's checksum is wrong");
    }
    if (LengthWasDamaged(rest, header)) return Damaged("a record's length is wrong");
    if (IntactRecordBehind(offset)) return Damaged("a record before intact ones is bad");
    Torn(cut_off ? "a record is cut off" : "a record's end was never written");
  }

  // Returns true if a failed write was repeated: the bytes from the current record up to the bad
  // part appear again directly after it, and without the first copy the log is intact.
  [[nodiscard]] bool IsRepeated(const Header& header) const {
    const size_t start = scan_.start();
    const std::string_view tail = log_.substr(start);
    // `again` is the length of the first copy, which the repetition repeats from its beginning. The
    // first copy cannot include the whole bad part or a bad header, because then the repetition
    // would be bad too. This limits its length.
    const size_t good = scan_.offset() - start;
    const size_t bad = kHeaderBytes + (IsPossible(header) ? header.length : 0);
    const size_t longest = std::min({tail.size() / 2, good + bad - 1, kMostRepeatedBytes});
    const std::vector<uint32_t> same = SameAsBeginning(tail.substr(0, 2 * longest), longest);
    for (size_t again = 1; again <= longest && !Cancelled(); ++again) {
      if (same[again] < again) continue;
      LogScan scan(kind_, start);
      if (scan.Scan(tail.substr(again)) == LogScan::End::kOfPiece && !scan.in_record()) return true;
    }
    return false;
  }

  // Returns true if later writes follow the bad place at `offset`. On crafted junk this can take
  // minutes, because each checksum can cover a whole block.
  [[nodiscard]] bool IntactRecordBehind(size_t offset) const {
    for (size_t at = offset + 1; at + kHeaderBytes <= log_.size(); ++at) {
      const size_t block_rest = kLogBlockBytes - at % kLogBlockBytes;
      if (block_rest < kHeaderBytes) continue;
      const std::string_view rest = log_.substr(at);
      const Header header = ReadHeader(rest, at);
      if (header.type != kFull && header.type != kFirst) continue;
      if (header.length < smallest_ || !IsPossible(header) || !MayBeBatch(rest)) continue;
      if (Cancelled()) return false;
      if (Intact(rest, header)) return true;
    }
    return false;
  }

  // Sequence numbers have 56 bits, so their highest byte is zero. This rules out most junk without
  // computing a checksum.
  [[nodiscard]] bool MayBeBatch(std::string_view rest) const {
    return kind_ != LogKind::kWal || rest[kHeaderBytes + sizeof(uint64_t) - 1] == '\0';
  }

  // Returns true if the opening was cancelled, so that the result is not needed.
  [[nodiscard]] bool Cancelled() const { return progress_ != nullptr && progress_->cancelled; }

  void Torn(std::string what) { Fault(true, std::move(what)); }
  void Damaged(std::string what) { Fault(false, std::move(what)); }
  void Fault(bool torn, std::string what) {
    reading_.faulty = true;
    reading_.fault = {.file = {},
                      .offset = scan_.start(),
                      .bytes = log_.size() - scan_.start(),
                      .torn = torn,
                      .what = std::move(what)};
  }

  const std::string_view log_;
  const LogKind kind_;
  const OpenProgress* const progress_;  // nullptr = none
  const size_t smallest_;               // minimum payload of a record
  LogScan scan_;
  WalReading reading_;
};

StatusOr<std::string> ReadFile(rocksdb::Env* env, const std::string& path) {
  std::string bytes;
  RETURN_IF_ERROR(FromRocksDb(rocksdb::ReadFileToString(env, path, &bytes), "reading " + path));
  return bytes;
}

// Reads the next bytes. Fills `buffer`, except at the end of the file.
StatusOr<std::string_view> ReadPiece(rocksdb::SequentialFile& file, const std::string& path,
                                     std::span<char> buffer) {
  size_t filled = 0;
  while (filled < buffer.size()) {
    rocksdb::Slice read;
    char* const into = buffer.data() + filled;
    RETURN_IF_ERROR(FromRocksDb(file.Read(buffer.size() - filled, &read, into), "reading " + path));
    if (read.empty()) break;
    if (read.data() != into) std::memmove(into, read.data(), read.size());
    filled += read.size();
  }
  return std::string_view(buffer.data(), filled);
}

// Like ReadLog, for a file, which is read into memory as a whole.
StatusOr<WalReading> ReadWholeLog(rocksdb::Env* env, const std::string& path, LogKind kind,
                                  const OpenProgress* progress) {
  ASSIGN_OR_RETURN(const std::string bytes, ReadFile(env, path));
  WalReading reading = LogJudge(bytes, kind, progress).Read();
  RETURN_IF_ERROR(GoOn(progress));
  return reading;
}

// Like ReadLog, for a file that is a write-ahead log. Holds one piece of the log in memory, or the
// whole log if it is not intact.
StatusOr<WalReading> ReadWalFile(rocksdb::Env* env, const std::string& path,
                                 OpenProgress* progress) {
  std::unique_ptr<rocksdb::SequentialFile> file;
  RETURN_IF_ERROR(
      FromRocksDb(env->NewSequentialFile(path, &file, rocksdb::EnvOptions()), "reading " + path));
  std::vector<char> buffer(kPieceBytes);
  LogScan scan(LogKind::kWal);
  while (true) {
    RETURN_IF_ERROR(GoOn(progress));
    ASSIGN_OR_RETURN(const std::string_view piece, ReadPiece(*file, path, buffer));
    if (scan.Scan(piece) != LogScan::End::kOfPiece) break;
    if (progress != nullptr) progress->checked_log_bytes += piece.size();
    if (piece.size() == buffer.size()) continue;
    if (scan.in_record()) break;
    return WalReading{.contents = scan.contents()};
  }
  return ReadWholeLog(env, path, LogKind::kWal, progress);
}

uint64_t BytesOf(rocksdb::Env* env, const std::vector<std::string>& paths) {
  uint64_t sum = 0;
  for (const std::string& path : paths) {
    uint64_t bytes = 0;
    if (env->GetFileSize(path, &bytes).ok()) sum += bytes;
  }
  return sum;
}

// Lists the logs in `dir` in the order in which they were written.
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
  // RocksDB refuses FileSystem::Truncate, so the file itself is cut.
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

Status NamesNoManifest(const std::string& dir) {
  return MakeStatus(absl::StatusCode::kDataLoss, "{}/CURRENT: does not name a MANIFEST", dir);
}

// Returns true if CURRENT names a MANIFEST in its own directory.
bool NamesManifest(std::string_view current) {
  constexpr std::string_view kBegin = "MANIFEST-";
  if (!current.starts_with(kBegin) || current.back() != '\n') return false;
  current.remove_prefix(kBegin.size());
  current.remove_suffix(1);
  return !current.empty() && current.find_first_not_of("0123456789") == std::string_view::npos;
}

// RocksDB treats every bad end of the MANIFEST as a torn tail, and would then forget tables whose
// logs are already deleted. RocksDB itself reports a missing MANIFEST.
Status CheckManifest(rocksdb::Env* env, const std::string& dir,
                     const std::function<void(char, std::string_view)>& log,
                     const OpenProgress* progress) {
  ASSIGN_OR_RETURN(std::string current, ReadFile(env, dir + "/CURRENT"));
  if (!NamesManifest(current)) return NamesNoManifest(dir);
  current.pop_back();
  const std::string path = dir + "/" + current;
  if (!env->FileExists(path).ok()) {
    return MakeStatus(absl::StatusCode::kDataLoss, "{}/CURRENT names {}, which is missing", dir,
                      Printable(current));
  }
  ASSIGN_OR_RETURN(WalReading reading, ReadWholeLog(env, path, LogKind::kManifest, progress));
  if (!reading.faulty) return absl::OkStatus();
  reading.fault.file = path;
  return reading.fault.torn ? CutLog(env, reading.fault, log) : DamagedLog(reading.fault);
}

// Checks logs one after another, each against the previous one. Owner thread only.
class WalChecker {
 public:
  WalChecker(rocksdb::Env* env, WalPolicy policy,
             const std::function<void(char, std::string_view)>& log, OpenProgress* progress)
      : env_(env), policy_(policy), log_(log), progress_(progress) {}

  Status Check(const std::string& path) {
    if (cut_) return SetAside(path);
    ASSIGN_OR_RETURN(WalReading reading, ReadWalFile(env_, path, progress_));
    if (torn_ && reading.contents.records > 0) {
      // If the sequence does not continue in this log, the tail of the previous log was damage and
      // not torn.
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
  // `next`: the log after the damaged one, if it was already read; empty = not read.
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
  OpenProgress* const progress_;  // nullptr = none
  std::optional<WalFault> torn_;  // torn end of the previous log, not confirmed yet
  uint64_t next_sequence_ = 0;    // 0 = no record read yet
  bool cut_ = false;              // damage was cut off, so all later logs are renamed
};

}  // namespace

StatusOr<bool> DatabaseExists(rocksdb::Env* env, const std::string& dir) {
  std::vector<std::string> children;
  RETURN_IF_ERROR(FromRocksDb(env->GetChildren(dir, &children), "listing " + dir));
  // This check must come before anything opens one of the files.
  RETURN_IF_ERROR(CheckAreFiles(env, dir));
  if (std::find(children.begin(), children.end(), "CURRENT") != children.end()) {
    uint64_t bytes = 0;
    RETURN_IF_ERROR(
        FromRocksDb(env->GetFileSize(dir + "/CURRENT", &bytes), "looking at " + dir + "/CURRENT"));
    // RocksDB reads the whole file when it opens the database.
    if (bytes > kMostCurrentBytes) return NamesNoManifest(dir);
    return true;
  }
  for (const std::string& name : children) {
    if (name.ends_with(".sst") || name.ends_with(".log")) {
      return MakeStatus(absl::StatusCode::kDataLoss, "{}: holds {}, but CURRENT is missing", dir,
                        name);
    }
  }
  return false;
}

WalReading ReadLog(std::string_view bytes, LogKind kind) {
  return LogJudge(bytes, kind, nullptr).Read();
}

Status CheckLogs(rocksdb::Env* env, const std::string& dir, WalPolicy policy,
                 const std::function<void(char, std::string_view)>& log, OpenProgress* progress) {
  RETURN_IF_ERROR(CheckManifest(env, dir, log, progress));
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, ListWals(env, dir));
  if (progress != nullptr) {
    progress->checked_log_bytes = progress->replayed_log_bytes = 0;
    progress->log_bytes = BytesOf(env, paths);
    progress->stage = OpenStage::kCheckingLogs;
  }
  WalChecker checker(env, policy, log, progress);
  for (const std::string& path : paths) {
    RETURN_IF_ERROR(GoOn(progress));
    RETURN_IF_ERROR(checker.Check(path));
  }
  return checker.Finish();
}

StatusOr<uint64_t> WalBytes(rocksdb::Env* env, const std::string& dir) {
  ASSIGN_OR_RETURN(const std::vector<std::string> paths, ListWals(env, dir));
  return BytesOf(env, paths);
}

}  // namespace freshet::storage
