// Frozen numbers of the stored format. Every value here is on some disk, so values may be added but
// never changed. docs/storage-format.md describes the bytes, and tests/golden holds examples.
#ifndef FRESHET_STORAGE_FORMAT_H_
#define FRESHET_STORAGE_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace freshet::storage {

// Version of the whole database: which column families exist and what their keys mean. A store of
// an older version is migrated when it is opened (storage/internal/migrate.h). A store of a newer
// version is refused.
inline constexpr uint32_t kFormatVersion = 5;
// The oldest format of log rows that this program reads.
inline constexpr uint32_t kOldestLogFormat = 3;

// The maximum total size in bytes of the key and value of one row. A log accepts a million bytes,
// including its overhead.
inline constexpr size_t kMaxRowBytes = 900'000;

// Version byte of each value, in its first byte.
inline constexpr uint8_t kPageVersion = 1;
inline constexpr uint8_t kHostVersion = 1;
inline constexpr uint8_t kLeaseVersion = 1;
inline constexpr uint8_t kHeldLeaseVersion = 2;    // adds the clients of leases
inline constexpr uint8_t kOrphanLeaseVersion = 3;  // adds leases whose page was removed
inline constexpr uint8_t kSourceVersion = 1;
inline constexpr uint8_t kMetaVersion = 1;

// Column families are opened by name; the number seeds the checksums of the rows.
enum class Family : uint8_t {
  kMeta = 0,     // RocksDB's own `default`, which every database has
  kPages = 1,    // page number -> everything that is known about the page
  kHosts = 2,    // (slot, host) -> host serial, politeness
  kLeases = 3,   // (shard, sequence) -> the entries of one commit about leases
  kSources = 4,  // source index -> name
  // The crawl frontier (storage/internal/frontier_rows.h). Before format 5 only stores of a cluster
  // had these families, and a single server kept these rows in a separate database.
  kFrontierMeta = 5,
  kFrontierItems = 6,
  kFrontierDue = 7,
  kFrontierLeases = 8,
  kFrontierQueues = 9,
  // Exists only in a log. A row of this family removes all rows of the families kFrontierItems to
  // kFrontierQueues whose keys begin with its key, because removing many rows one by one would be
  // too expensive.
  kFrontierGone = 10,
};
inline constexpr size_t kFamilies = 10;     // column families of a store
inline constexpr size_t kLogFamilies = 11;  // families that a row of a log can name
inline constexpr std::array<std::string_view, kFamilies> kFamilyNames = {
    "default",       "pages",          "hosts",        "leases",          "sources",
    "frontier_meta", "frontier_items", "frontier_due", "frontier_leases", "frontier_queues"};
// Families of formats 1 and 2, which were never released and are not read any more.
inline constexpr std::array<std::string_view, 4> kRetiredFamilyNames = {"urls", "texts", "states",
                                                                        "details"};

constexpr size_t IndexOf(Family family) { return static_cast<size_t>(family); }
constexpr std::string_view NameOf(Family family) { return kFamilyNames[IndexOf(family)]; }

// First part of every key in `meta`. A key has one record, or one per shard, slot or crawl id.
enum class MetaKey : uint8_t {
  kFormat = 1,      // format version of the database
  kGeneration = 2,  // number of times that the database was opened
  kSettings = 3,    // Settings
  kEpoch = 4,       // + shard (2 bytes): EpochRecord
  kLayout = 5,      // number of shards of the last run
  kNextSerial = 6,  // + slot (2 bytes): lower bound of serials not used yet
  kSecret = 7,      // secret of the fingerprints of URLs; never logged
  kCrawl = 8,       // + crawl id: CrawlRecord
  kLogOffset = 9,   // + partition (2 bytes): log offset up to which the store has all rows
  kLogTime = 10,    // when the store last had all rows of its log, Unix seconds
  kLogFormat = 11,  // + partition (2 bytes): kFormatVersion of rows in a log; also a row in the log
  kLogName = 12,    // XXH3-64 of the name of the store's log
  kLogOwners = 13,  // + partition (2 bytes): increases with each new owner; also a row in the log
  kLogBirth = 14,  // + partition (2 bytes): random number of the first owner; also a row in the log
  kEpochPart = 15,  // + shard (2 bytes) part (2 bytes): further parts of kEpoch, format 4
};

// The process that uses the directory locks this file. RocksDB locks its own LOCK file too late: by
// then, Freshet has examined the logs and cut off torn tails.
inline constexpr std::string_view kLockFileName = "FRESHET_LOCK";

// The size of the checksum, which ends every value.
inline constexpr size_t kChecksumBytes = 4;

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_FORMAT_H_
