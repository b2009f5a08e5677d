// The ids of change signals that were taken of late, so that one that is sent again counts once.
#ifndef FRESHET_CORE_SCHEDULE_SIGNAL_IDS_H_
#define FRESHET_CORE_SCHEDULE_SIGNAL_IDS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "core/base/limits.h"

namespace freshet {

// Owner thread only. A bounded set of hashes of ids: beyond `most` the one added first is forgotten
// for each that comes. They are not stored: after a restart all are forgotten.
class SignalIds {
 public:
  // Precondition: most > 0.
  explicit SignalIds(size_t most = limits::kMaxRememberedSignalIds);

  [[nodiscard]] bool Contains(uint64_t id) const { return ids_.contains(id); }
  // One that is in keeps its age.
  void Add(uint64_t id);
  [[nodiscard]] size_t size() const { return ids_.size(); }

 private:
  size_t most_;
  absl::flat_hash_set<uint64_t> ids_;
  std::vector<uint64_t> ring_;  // in the order in which they came; oldest at next_ once full
  size_t next_ = 0;
};

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SIGNAL_IDS_H_
