// Frozen numbers of the stored format. Every value here is on disk somewhere: it may be added to,
// never changed. docs/storage-format.md describes the bytes, tests/golden holds examples of them.
#ifndef FRESHET_STORAGE_FORMAT_H_
#define FRESHET_STORAGE_FORMAT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace freshet::storage {

// Version of the whole database: which column families there are and what their keys mean. A store
// of an older version is migrated at opening (storage/internal/migrate.h), one of a newer version
// refused.
inline constexpr uint32_t kFormatVersion = 4;
// The oldest version of rows of a log that this program takes in.
inline constexpr uint32_t kOldestLogFormat = 3;

// The most that the key and the value of one row have together: a log takes a million bytes, of
// which it needs some itself.
inline constexpr size_t kMaxRowBytes = 900'000;

// Version byte of each value, in its first byte.
inline constexpr uint8_t kPageVersion = 1;
inline constexpr uint8_t kHostVersion = 1;
inline constexpr uint8_t kLeaseVersion = 1;
inline constexpr uint8_t kHeldLeaseVersion = 2;    // of leases that say whose they are
inline constexpr uint8_t kOrphanLeaseVersion = 3;  // and of leases whose page was removed
inline constexpr uint8_t kSourceVersion = 1;
inline constexpr uint8_t kMetaVersion = 1;

// Column families are opened by name; the number seeds the checksums of the rows.
enum class Family : uint8_t {
  kMeta = 0,     // RocksDB's own `default`, which every database has
  kPages = 1,    // page number -> all that is known of the page
  kHosts = 2,    // (slot, host) -> host serial, politeness
  kLeases = 3,   // (shard, sequence) -> what one commit says of leases
  kSources = 4,  // source index -> name
  // Of caches of a log alone: what a cluster keeps of the crawl frontier, with the keys and values
  // that its own database has else (storage/internal/frontier_rows.h).
  kFrontierMeta = 5,
  kFrontierItems = 6,
  kFrontierDue = 7,
  kFrontierLeases = 8,
  kFrontierQueues = 9,
  // In a log alone: all rows of the four families before whose keys begin with this key are gone,
  // where they are too many to be removed one by one.
  kFrontierGone = 10,
};
inline constexpr size_t kFamilies = 5;      // that every store has
inline constexpr size_t kLogFamilies = 11;  // that rows of a log are of
inline constexpr std::array<std::string_view, kFamilies> kFamilyNames = {
    "default", "pages", "hosts", "leases", "sources"};
// Those that a cache has besides, from kFrontierMeta on.
inline constexpr std::array<std::string_view, 5> kFrontierFamilyNames = {
    "frontier_meta", "frontier_items", "frontier_due", "frontier_leases", "frontier_queues"};
// Those of formats 1 and 2, which were never released and are not read any more.
inline constexpr std::array<std::string_view, 4> kRetiredFamilyNames = {"urls", "texts", "states",
                                                                        "details"};

constexpr size_t IndexOf(Family family) { return static_cast<size_t>(family); }
constexpr std::string_view NameOf(Family family) { return kFamilyNames[IndexOf(family)]; }

// First part of every key in `meta`. Keys of one record each, or of one per shard, slot
// or crawl id.
enum class MetaKey : uint8_t {
  kFormat = 1,      // format version of the database
  kGeneration = 2,  // number of times that the database was opened
  kSettings = 3,    // Settings
  kEpoch = 4,       // + shard (2 bytes): EpochRecord
  kLayout = 5,      // number of shards of the last run
  kNextSerial = 6,  // + slot (2 bytes): lower bound of serials not used yet
  kSecret = 7,      // of the fingerprints in `states`; never logged
  kCrawl = 8,       // + crawl id: CrawlRecord
  kLogOffset = 9,   // + partition (2 bytes): to where the store is complete, of one with a log
  kLogTime = 10,    // when that was written last, Unix seconds
  kLogFormat = 11,  // + partition (2 bytes): kFormatVersion of the rows in a log, and a row of it
  kLogName = 12,    // of one with a log: XXH3-64 of the log's name
  kLogOwners = 13,  // + partition (2 bytes): rises with its owners, and a row of it
  kLogBirth = 14,   // + partition (2 bytes): random, of its first owner, and a row of it
  kEpochPart = 15,  // + shard (2 bytes) part (2 bytes): more of what is learned, format 4
};

// Locked by the process that has the directory. RocksDB's own LOCK is taken too late: logs are
// examined, and torn tails cut, before that.
inline constexpr std::string_view kLockFileName = "FRESHET_LOCK";

// Bytes that end every value: the checksum.
inline constexpr size_t kChecksumBytes = 4;

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_FORMAT_H_
