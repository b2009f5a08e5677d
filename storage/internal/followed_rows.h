// Translates rows of a log that a follower reads into changes of pages and hosts. Internal to
// storage/.
#ifndef FRESHET_STORAGE_INTERNAL_FOLLOWED_ROWS_H_
#define FRESHET_STORAGE_INTERNAL_FOLLOWED_ROWS_H_

#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/schedule/followed_changes.h"
#include "storage/change_log.h"

namespace freshet::storage {

// Collects changes of rows. Owner thread only.
class FollowedRows {
 public:
  void Add(const LogRow& row);
  // Returns the changes of all rows since the last call, in no order.
  [[nodiscard]] FollowedChanges Take();
  // Whether any row so far was damaged, or changed more than FollowedChanges can express, so that
  // the follower must load again. Leases, sources and marks do not count: the store reads them at
  // the end.
  [[nodiscard]] bool beyond() const { return beyond_; }

 private:
  void AddPage(const LogRow& row);
  void AddHost(const LogRow& row);

  absl::flat_hash_map<PageNumber, std::optional<PageRecord>> pages_;  // nullopt = removed
  absl::flat_hash_map<std::string, std::optional<HostRecord>> hosts_;
  bool beyond_ = false;
};

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_FOLLOWED_ROWS_H_
