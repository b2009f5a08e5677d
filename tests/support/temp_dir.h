// A directory of its own for one test.
#ifndef FRESHET_TESTS_SUPPORT_TEMP_DIR_H_
#define FRESHET_TESTS_SUPPORT_TEMP_DIR_H_

#include <string>

namespace freshet {

// Created empty under the system's directory for temporary files, removed with all that is in it.
// Thread-compatible.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // A path inside; nothing is created there.
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_TEMP_DIR_H_
