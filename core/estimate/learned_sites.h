// What the models of sites become after an epoch.
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

// What a table learned in an epoch, ready to be installed. Value type, thread-compatible.
struct LearnedSites {
  SiteModel all;
  std::vector<std::pair<uint16_t, SiteModel>> models;     // of sites, by number
  std::vector<std::pair<uint16_t, std::string>> vacated;  // and who gets the seat; empty: nobody
  // Slots some of whose pages were filed by another model than they now have (MovedNotably).
  std::bitset<limits::kSlots> moved;
  std::string text;  // of the table, once it is installed; see Serialise
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_LEARNED_SITES_H_
