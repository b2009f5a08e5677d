// Remembers pages that left later than planned. Delays of hosts and groups are planned from tick to
// tick, which equals departure to departure while pages leave at their ticks. After a stall of the
// process or the disk pages leave late, and the next ones on time. A page that would come too soon
// after a late one does not leave.
#ifndef FRESHET_SERVER_ENGINE_DEPARTURES_H_
#define FRESHET_SERVER_ENGINE_DEPARTURES_H_

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/schedule/host_groups.h"

namespace freshet {

// The delays between two departures of one host, and of one group of hosts. Value type,
// thread-compatible.
struct Spacing {
  Duration of_host;
  GroupKey group;  // 0 = none
  Duration of_group;
};

// The late departures. Owner thread only.
class Departures {
 public:
  // A page is on time up to this long after its tick.
  static constexpr Duration kOnTime = Duration::Millis(5);
  // Hosts, and groups, that are remembered; beyond this number a late page does not leave.
  static constexpr size_t kMost = 100'000;

  // Lets a page of `host` that was planned for `at` leave at `now`, if it may. Returns whether it
  // leaves.
  [[nodiscard]] bool Leave(const std::string& host, const Spacing& spacing, Instant at,
                           Instant now);
  // When the last page of the host left, if it left late and its delay may not be over; else none.
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
  // Makes room for one more entry. Returns whether there is room.
  template <typename Key>
  [[nodiscard]] static bool MakeRoom(LateOnes<Key>* late, size_t* purge_at, Instant now);

  static constexpr size_t kFirstPurge = 64;

  LateOnes<std::string> hosts_;
  LateOnes<GroupKey> groups_;
  // Entries whose delay is over are erased at this number.
  size_t purge_hosts_at_ = kFirstPurge;
  size_t purge_groups_at_ = kFirstPurge;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_DEPARTURES_H_
