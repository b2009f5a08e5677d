#include "tests/support/temp_dir.h"

#include <stdlib.h>

#include <filesystem>

#include "core/base/check.h"

namespace freshet {

TempDir::TempDir() {
  std::string path = (std::filesystem::temp_directory_path() / "freshet-XXXXXX").string();
  CHECK(mkdtemp(path.data()) != nullptr, "{}", path);
  path_ = path;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace freshet
