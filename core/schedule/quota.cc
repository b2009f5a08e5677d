#include "core/schedule/quota.h"

#include <algorithm>

namespace freshet {

bool TakenPlaces::Use(const Quota* quota) {
  const auto it = std::find_if(quotas_.begin(), quotas_.end(),
                               [quota](const auto& taken) { return taken.get() == quota; });
  if (it == quotas_.end()) return false;
  std::swap(*it, quotas_.back());
  quotas_.pop_back();
  return true;
}

void TakenPlaces::Return() {
  for (const auto& quota : quotas_) quota->Give(1);
  quotas_.clear();
}

}  // namespace freshet
