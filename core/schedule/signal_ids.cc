#include "core/schedule/signal_ids.h"

#include <utility>

#include "core/base/check.h"

namespace freshet {

SignalIds::SignalIds(size_t most) : most_(most) { CHECK(most > 0, "nothing is remembered"); }

void SignalIds::Add(uint64_t id) {
  if (!ids_.insert(id).second) return;
  if (ring_.size() < most_) {
    ring_.push_back(id);
    return;
  }
  ids_.erase(std::exchange(ring_[next_], id));
  next_ = (next_ + 1) % most_;
  CHECK(ids_.size() == ring_.size(), "{} ids, {} in order", ids_.size(), ring_.size());
}

}  // namespace freshet
