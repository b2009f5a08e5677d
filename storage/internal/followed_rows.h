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

// Collects the changes that rows make. Owner thread only.
class FollowedRows {
 public:
  void Add(const LogRow& row);
  // Returns the changes that all rows since the last call make, in no particular order.
  [[nodiscard]] FollowedChanges Take();
  // Returns true if any row so far was damaged or makes a change that FollowedChanges cannot
  // express. The follower must then load everything again. Rows of leases, sources and the
  // frontier, and the store's bookkeeping in `meta`, do not count: they are read when the store is
  // open.
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
