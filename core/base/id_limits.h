// Limits that follow from the width of ids, in memory and in stored rows.
#ifndef FRESHET_CORE_BASE_ID_LIMITS_H_
#define FRESHET_CORE_BASE_ID_LIMITS_H_

#include <cstddef>
#include <cstdint>

namespace freshet::limits {

inline constexpr uint16_t kSlots = 4096;
inline constexpr size_t kMaxShards = 64;
// The queue of a rate plan (core/plan/plan_queue.h) numbers pages with 28 bits.
inline constexpr uint64_t kMaxPagesPerShard = (uint64_t{1} << 28) - 1;
// A verification loads all pages of a store into one shard. One page id is reserved.
inline constexpr uint64_t kMaxPageIds = (uint64_t{1} << 32) - 1;
static_assert(kMaxPagesPerShard <= kMaxPageIds);
// Max named signal sources. Each source has four burst classes, so a (source, class) pair fits in
// one byte.
inline constexpr int kMaxSources = 32;
inline constexpr int kBurstClasses = 4;
static_assert(kMaxSources * kBurstClasses <= 256);
// Max crawl ids with pages or settings.
inline constexpr size_t kMaxCrawls = 65'535;
// Max classes of crawl ids. A class is one bit of a word, and has a separate index in every shard.
// A crawl id is a class if it has a share of the crawl rate, a maximum crawl rate or dedicated
// workers. All other crawl ids form one class together.
inline constexpr size_t kMaxCrawlClasses = 64;

}  // namespace freshet::limits

#endif  // FRESHET_CORE_BASE_ID_LIMITS_H_
