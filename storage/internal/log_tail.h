// The last rows that a store has read from one partition of a log. If the log loses these rows and
// then grows, it has other rows at the same offsets. This reveals the loss. Internal to storage/.
#ifndef FRESHET_STORAGE_INTERNAL_LOG_TAIL_H_
#define FRESHET_STORAGE_INTERNAL_LOG_TAIL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

#include "storage/change_log.h"

namespace freshet::storage {

// Owner thread only.
class LogTail {
 public:
  // Adds a row. `next` is the offset after it.
  void Add(const LogRow& row, uint64_t next);
  // The offset of the first of these rows; nullopt = there are none.
  [[nodiscard]] std::optional<uint64_t> first() const;
  // Returns true if the store has read a different row at this offset.
  [[nodiscard]] bool Contradicts(const LogRow& row, uint64_t next) const;

 private:
  struct Seen {
    uint64_t next = 0;
    uint64_t digest = 0;
  };
  // The maximum number of rows. One row might not reveal a rewritten log, because some offsets
  // between transactions hold no rows.
  static constexpr size_t kMost = 16;

  std::deque<Seen> rows_;  // by ascending offset
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_LOG_TAIL_H_
