#include "lab/sim/commands.h"

#include <fstream>
#include <iostream>

namespace freshet {

Status WithInput(const std::string& path, const std::function<Status(std::istream&)>& body) {
  if (path == "-") return body(std::cin);
  std::ifstream file(path);
  if (!file) return NotFound("{}: cannot be opened", path);
  return body(file);
}

}  // namespace freshet
