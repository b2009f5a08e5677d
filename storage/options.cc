#include "storage/options.h"

#include "core/base/check.h"

namespace freshet {

StatusOr<Durability> ParseDurability(std::string_view name) {
  for (const Durability durability : {Durability::kSync, Durability::kWal, Durability::kNone}) {
    if (name == DurabilityName(durability)) return durability;
  }
  return InvalidArgument("durability: '{}' is none of sync, wal, none", name);
}

std::string_view DurabilityName(Durability durability) {
  switch (durability) {
    case Durability::kSync:
      return "sync";
    case Durability::kWal:
      return "wal";
    case Durability::kNone:
      return "none";
  }
  CHECK(false, "durability {}", static_cast<int>(durability));
}

}  // namespace freshet
