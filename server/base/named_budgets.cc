#include "server/base/named_budgets.h"

namespace freshet {
namespace {

// MakeRoom visits all buckets. This minimum interval prevents a client that invents names from
// triggering it at every call.
constexpr Duration kBetweenRooms = Duration::Seconds(1);

}  // namespace

std::shared_ptr<ItemBudget> NamedBudgets::Of(const std::string& name, std::optional<double> own,
                                             Instant now) {
  const double rate = own.value_or(usual_);
  if (rate <= 0) return nullptr;
  const MutexLock lock(mutex_);
  if (const auto it = by_name_.find(name); it != by_name_.end()) {
    if (it->second->per_second() != rate) it->second = std::make_shared<ItemBudget>(rate);
    return it->second;
  }
  if (by_name_.size() >= most_ && now >= made_room_ + kBetweenRooms) MakeRoom(now);
  // Names with their own rates come from the configuration, so their number is bounded.
  if (own || by_name_.size() < most_) {
    return by_name_.try_emplace(name, std::make_shared<ItemBudget>(rate)).first->second;
  }
  if (others_ == nullptr || others_->per_second() != rate) {
    others_ = std::make_shared<ItemBudget>(rate);
  }
  return others_;
}

void NamedBudgets::MakeRoom(Instant now) {
  made_room_ = now;
  absl::erase_if(by_name_, [now](const auto& entry) {
    return entry.second.use_count() == 1 && entry.second->Full(now);
  });
}

size_t NamedBudgets::size() const {
  const MutexLock lock(mutex_);
  return by_name_.size();
}

}  // namespace freshet
