#include "core/index/band_lines.h"

#include <algorithm>
#include <limits>

namespace freshet {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void BandLines::Reserve(size_t lines) {
  if (lines + kLinePadding <= base.size()) return;
  const size_t room = 2 * lines + kLinePadding;
  base.resize(room, -kInfinity);
  slope.resize(room);
  slot.resize(room);
}

void BandLines::Clear() {
  std::fill_n(base.begin(), size, -kInfinity);
  size = 0;
}

}  // namespace freshet
