// The models of sites after an epoch.
#ifndef FRESHET_CORE_ESTIMATE_LEARNED_SITES_H_
#define FRESHET_CORE_ESTIMATE_LEARNED_SITES_H_

#include <bitset>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/id_limits.h"
#include "core/estimate/site.h"

namespace freshet {

// The result of an epoch of a SiteTable, ready to be installed. Value type, thread-compatible.
struct LearnedSites {
  SiteModel all;
  std::vector<std::pair<uint16_t, SiteModel>> models;  // by number of the site
  // Seats (core/estimate/site_table.h) that lose their host, by number. Each comes with the host
  // that gets the seat; empty = no host gets it.
  std::vector<std::pair<uint16_t, std::string>> vacated;
  // Slots with pages whose rates came from a notably different model (MovedNotably).
  std::bitset<limits::kSlots> moved;
  std::string text;  // SiteTable::Serialise after the installation
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_LEARNED_SITES_H_
