// Limits that follow from the width of ids in memory and in stored rows.
#ifndef FRESHET_CORE_BASE_ID_LIMITS_H_
#define FRESHET_CORE_BASE_ID_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace freshet::limits {

inline constexpr uint16_t kSlots = 4096;
inline constexpr size_t kMaxShards = 64;
// The queue of a rate plan may have to keep times of each page, and numbers pages by 28 bits.
inline constexpr uint64_t kMaxPagesPerShard = (uint64_t{1} << 28) - 1;
// Verification has all pages of a store in one shard; one page id is kept free.
inline constexpr uint64_t kMaxPageIds = (uint64_t{1} << 32) - 1;
static_assert(kMaxPagesPerShard <= kMaxPageIds);
// Max named signal sources. With four burst classes each, a (source, class) pair fits in one byte.
inline constexpr int kMaxSources = 32;
inline constexpr int kBurstClasses = 4;
static_assert(kMaxSources * kBurstClasses <= 256);
// Max crawl ids with pages or settings.
inline constexpr size_t kMaxCrawls = 65'535;
// Max classes of crawl ids, each a bit of a word. A crawl id with a share or a maximum of the crawl
// rate, or with its own workers, is a class. Each has its own index in every shard. All others are
// one class together.
inline constexpr size_t kMaxCrawlClasses = 64;

}  // namespace freshet::limits

#endif  // FRESHET_CORE_BASE_ID_LIMITS_H_
