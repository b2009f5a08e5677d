// A temporary directory for one test.
#ifndef FRESHET_TESTS_SUPPORT_TEMP_DIR_H_
#define FRESHET_TESTS_SUPPORT_TEMP_DIR_H_

#include <string>

namespace freshet {

// Creates an empty directory in the system's directory for temporary files. The destructor removes
// it with its content. Thread-compatible.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  // A path inside the directory; creates nothing.
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_TEMP_DIR_H_
