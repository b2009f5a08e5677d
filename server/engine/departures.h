// When pages left that left later than they were planned for. Delays of hosts and groups are
// planned from tick to tick, which is from departure to departure as long as each page leaves at
// its tick. After a stall of the process or the disk pages leave late, and those that come after
// them at their time: what would come too soon does not leave.
#ifndef FRESHET_SERVER_ENGINE_DEPARTURES_H_
#define FRESHET_SERVER_ENGINE_DEPARTURES_H_

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/schedule/host_groups.h"

namespace freshet {

// What lies between two departures of one host, and of one group of hosts. Value type,
// thread-compatible.
struct Spacing {
  Duration of_host;
  GroupKey group;  // 0: none
  Duration of_group;
};

// Owner thread only.
class Departures {
 public:
  // A page that leaves no later than this after its tick is on time.
  static constexpr Duration kOnTime = Duration::Millis(5);
  // Of hosts and of groups that are remembered; beyond that a page that is late does not leave.
  static constexpr size_t kMost = 100'000;

  // Whether a page of `host` that was planned for `at` may leave at `now`. If so, it does.
  [[nodiscard]] bool Leave(const std::string& host, const Spacing& spacing, Instant at,
                           Instant now);
  // When the last page of the host left, if it was late and its delay is not known to be over; else
  // none.
  [[nodiscard]] Instant LeftAt(const std::string& host) const;

 private:
  struct Late {
    Instant left;
    Instant free_at;
  };
  template <typename Key>
  using LateOnes = absl::flat_hash_map<Key, Late>;

  template <typename Key>
  [[nodiscard]] static bool IsFree(const LateOnes<Key>& late, const Key& key, Instant now);
  // Makes room for one more; whether there is.
  template <typename Key>
  [[nodiscard]] static bool MakeRoom(LateOnes<Key>* late, size_t* purge_at, Instant now);

  static constexpr size_t kFirstPurge = 64;

  LateOnes<std::string> hosts_;
  LateOnes<GroupKey> groups_;
  // Those whose delay is over are forgotten when there are so many.
  size_t purge_hosts_at_ = kFirstPurge;
  size_t purge_groups_at_ = kFirstPurge;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_DEPARTURES_H_
