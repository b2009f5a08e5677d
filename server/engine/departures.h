// Remembers pages that left (were handed out) later than planned. The delay of a host or group is
// planned as the time between two ticks. This is also the time between the two departures, as long
// as pages leave at their ticks. After a stall of the process or the disk, a page can leave late
// and the next one on time, too soon after it. This class holds back the second page.
#ifndef FRESHET_SERVER_ENGINE_DEPARTURES_H_
#define FRESHET_SERVER_ENGINE_DEPARTURES_H_

#include <algorithm>
#include <cstddef>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "core/base/units.h"
#include "core/schedule/host_groups.h"

namespace freshet {

// The minimum times between two departures of one host, and between two of one group of hosts.
// Value type, thread-compatible.
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
  // The maximum number of hosts, and of groups, that are remembered. When that many are
  // remembered, further late pages are held back.
  static constexpr size_t kMost = 100'000;

  // Decides whether a page of `host` that was planned for `at` may leave at `now`, and notes a late
  // departure. Returns true if the page leaves.
  [[nodiscard]] bool Leave(const std::string& host, const Spacing& spacing, Instant at,
                           Instant now);
  // When the host's last page left, if it left late and the host's delay may still be running; else
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
  // Erases entries whose delay has ended if the table is large. Returns true if there is room for
  // one more.
  template <typename Key>
  [[nodiscard]] static bool MakeRoom(LateOnes<Key>* late, size_t* purge_at, Instant now);

  static constexpr size_t kFirstPurge = 64;

  LateOnes<std::string> hosts_;
  LateOnes<GroupKey> groups_;
  // When a table has this many entries, those whose delay has ended are erased.
  size_t purge_hosts_at_ = kFirstPurge;
  size_t purge_groups_at_ = kFirstPurge;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ENGINE_DEPARTURES_H_
