// Rows of a log that a follower takes in, as what they change of pages and hosts. Internal to
// storage/.
#ifndef FRESHET_STORAGE_INTERNAL_FOLLOWED_ROWS_H_
#define FRESHET_STORAGE_INTERNAL_FOLLOWED_ROWS_H_

#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/schedule/followed_changes.h"
#include "storage/change_log.h"

namespace freshet::storage {

// Owner thread only.
class FollowedRows {
 public:
  void Add(const LogRow& row);
  // What the rows since the last call come to, in no order.
  [[nodiscard]] FollowedChanges Take();
  // Whether one of all rows has changed more than FollowedChanges can say, or is damaged: whoever
  // follows has to load anew. Leases, sources and marks do not count: those are read at the end.
  [[nodiscard]] bool beyond() const { return beyond_; }

 private:
  void AddPage(const LogRow& row);
  void AddHost(const LogRow& row);

  absl::flat_hash_map<PageNumber, std::optional<PageRecord>> pages_;  // none: removed
  absl::flat_hash_map<std::string, std::optional<HostRecord>> hosts_;
  bool beyond_ = false;
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_FOLLOWED_ROWS_H_
