#include "storage/internal/log_tail.h"

#include <xxhash.h>

#include <algorithm>

namespace freshet::storage {
namespace {

uint64_t DigestOf(const LogRow& row) {
  const XXH64_hash_t key = XXH3_64bits_withSeed(row.key.data(), row.key.size(),
                                                static_cast<XXH64_hash_t>(IndexOf(row.family)));
  if (!row.value) return key;
  return XXH3_64bits_withSeed(row.value->data(), row.value->size(), key);
}

}  // namespace

void LogTail::Add(const LogRow& row, uint64_t next) {
  if (rows_.size() == kMost) rows_.pop_front();
  rows_.push_back({.next = next, .digest = DigestOf(row)});
}

std::optional<uint64_t> LogTail::first() const {
  return rows_.empty() ? std::nullopt : std::optional(rows_.front().next - 1);
}

bool LogTail::Contradicts(const LogRow& row, uint64_t next) const {
  const auto at = std::lower_bound(rows_.begin(), rows_.end(), next,
                                   [](const Seen& seen, uint64_t to) { return seen.next < to; });
  return at != rows_.end() && at->next == next && at->digest != DigestOf(row);
}

}  // namespace freshet::storage
