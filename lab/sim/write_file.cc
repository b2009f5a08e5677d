#include "lab/sim/write_file.h"

#include <fstream>

namespace freshet {

Status WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return MakeStatus(absl::StatusCode::kDataLoss, "{}: cannot be written", path);
  return {};
}

}  // namespace freshet
