// The last rows that a store has taken in of one partition of a log: a log that has lost them, and
// has grown since, has others in their place. Internal to storage/.
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
  // The row lies before the offset `next`.
  void Add(const LogRow& row, uint64_t next);
  // Where the first of the rows lies; nullopt: there are none.
  [[nodiscard]] std::optional<uint64_t> first() const;
  // Whether another row was there.
  [[nodiscard]] bool Contradicts(const LogRow& row, uint64_t next) const;

 private:
  struct Seen {
    uint64_t next = 0;
    uint64_t digest = 0;
  };
  // Between the rows of two transactions lies something that is none: of one row alone a log that
  // was written anew may not tell.
  static constexpr size_t kMost = 16;

  std::deque<Seen> rows_;  // by rising offset
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_LOG_TAIL_H_
