#include "tools/cli/sparkline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "absl/strings/ascii.h"

namespace freshet::cli {
namespace {

constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
constexpr std::array<std::string_view, 8> kShades = {".", ":", "-", "=", "+", "*", "%", "#"};

}  // namespace

bool TerminalTakesUtf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(name);
    if (value == nullptr || value[0] == '\0') continue;
    const std::string locale = absl::AsciiStrToLower(value);
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

std::string Sparkline(const std::vector<double>& values, double low, double high, bool utf8) {
  std::string line;
  for (const double value : values) {
    if (std::isnan(value)) {
      line += ' ';
      continue;
    }
    const double share = high > low ? std::clamp((value - low) / (high - low), 0.0, 1.0) : 0;
    const auto level = static_cast<size_t>(std::lround(share * (kBlocks.size() - 1)));
    line += utf8 ? kBlocks[level] : kShades[level];
  }
  return line;
}

}  // namespace freshet::cli
