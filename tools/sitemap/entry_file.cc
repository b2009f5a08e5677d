#include "tools/sitemap/entry_file.h"

#include <cstring>
#include <type_traits>

#include "core/base/status.h"

namespace freshet::sitemap {
namespace {

constexpr size_t kWriteBytes = 64 << 10;

enum class DateKind : uint8_t { kNone, kUnreadable, kRead };

// The fixed-size part of an entry, which the URL follows. Its first byte differs from that of a
// gzip file, because a spool would decompress a file that begins like gzip.
struct FixedPart {
  uint8_t mark = 'e';
  FeedKind kind = FeedKind::kUnknown;
  DateKind date = DateKind::kNone;
  bool has_priority = false;
  uint32_t url_bytes = 0;
  uint64_t row = 0;
  int64_t told = 0, earliest = 0, latest = 0;  // microseconds
  double priority = 0;
};
static_assert(std::is_trivially_copyable_v<FixedPart>);

FixedPart FixedPartOf(uint64_t row, const FeedEntry& entry) {
  FixedPart fixed;
  fixed.kind = entry.kind;
  fixed.url_bytes = static_cast<uint32_t>(entry.url.size());
  fixed.row = row;
  if (entry.modified.ok()) {
    fixed.date = DateKind::kRead;
    fixed.told = entry.modified->told.micros();
    fixed.earliest = entry.modified->earliest.micros();
    fixed.latest = entry.modified->latest.micros();
  } else if (!absl::IsNotFound(entry.modified.status())) {
    fixed.date = DateKind::kUnreadable;
  }
  fixed.has_priority = entry.priority.has_value();
  fixed.priority = entry.priority.value_or(0);
  return fixed;
}

FeedEntry EntryOf(const FixedPart& fixed, std::string url) {
  FeedEntry entry{.kind = fixed.kind, .url = std::move(url)};
  if (fixed.date == DateKind::kRead) {
    entry.modified = FeedDate{Instant::FromMicros(fixed.told), Instant::FromMicros(fixed.earliest),
                              Instant::FromMicros(fixed.latest)};
  } else if (fixed.date == DateKind::kUnreadable) {
    entry.modified = absl::InvalidArgumentError("the date cannot be read");
  }
  if (fixed.has_priority) entry.priority = fixed.priority;
  return entry;
}

}  // namespace

absl::StatusOr<std::unique_ptr<EntryFile>> EntryFile::Create() {
  ASSIGN_OR_RETURN(std::unique_ptr<Spool> spool, Spool::Create());
  return std::unique_ptr<EntryFile>(new EntryFile(std::move(spool)));
}

absl::Status EntryFile::Clear() {
  unwritten_.clear();
  return spool_->Clear();
}

absl::Status EntryFile::Append(uint64_t row, const FeedEntry& entry) {
  const FixedPart fixed = FixedPartOf(row, entry);
  unwritten_.append(reinterpret_cast<const char*>(&fixed), sizeof(fixed));
  unwritten_.append(entry.url);
  return unwritten_.size() < kWriteBytes ? absl::OkStatus() : Flush();
}

absl::Status EntryFile::Flush() {
  RETURN_IF_ERROR(spool_->Append(unwritten_));
  unwritten_.clear();
  return absl::OkStatus();
}

absl::Status EntryFile::ForEach(
    const std::function<absl::Status(uint64_t, const FeedEntry&)>& take) {
  RETURN_IF_ERROR(Flush());
  const std::unique_ptr<cli::ByteSource> bytes = spool_->Read();
  std::string read;
  size_t at = 0;
  bool more = true;
  // Returns false if the file ends before this many bytes.
  const auto holds = [&](size_t count) -> absl::StatusOr<bool> {
    while (read.size() - at < count && more) {
      read.erase(0, std::exchange(at, 0));
      const absl::StatusOr<bool> got = bytes->Read(&read);
      if (!got.ok()) return TemporaryFileError("read", std::string(got.status().message()));
      more = *got;
    }
    return read.size() - at >= count;
  };
  while (true) {
    FixedPart fixed;
    ASSIGN_OR_RETURN(const bool another, holds(sizeof(fixed)));
    if (!another) return absl::OkStatus();
    std::memcpy(&fixed, read.data() + at, sizeof(fixed));
    at += sizeof(fixed);
    ASSIGN_OR_RETURN(const bool whole, holds(fixed.url_bytes));
    if (!whole) return TemporaryFileError("read", "it is shorter than what was written");
    const FeedEntry entry = EntryOf(fixed, read.substr(at, fixed.url_bytes));
    at += fixed.url_bytes;
    RETURN_IF_ERROR(take(fixed.row, entry));
  }
}

}  // namespace freshet::sitemap
