// A temporary directory for one measurement.
#ifndef FRESHET_LAB_BENCH_SCRATCH_DIR_H_
#define FRESHET_LAB_BENCH_SCRATCH_DIR_H_

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <system_error>
#include <utility>

#include "core/base/status.h"

namespace freshet {

// A directory under $TMPDIR. The destructor removes it with its contents. Movable,
// thread-compatible.
class ScratchDir {
 public:
  // Creates the directory. Unavailable: it cannot be created.
  static StatusOr<ScratchDir> Make(const std::string& name) {
    std::error_code error;
    std::string path = (std::filesystem::temp_directory_path(error) / (name + ".XXXXXX")).string();
    if (error || mkdtemp(path.data()) == nullptr) {
      return MakeStatus(absl::StatusCode::kUnavailable, "cannot make a directory {}", path);
    }
    return ScratchDir(std::move(path));
  }
  ScratchDir(ScratchDir&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  ScratchDir& operator=(ScratchDir&&) = delete;
  ~ScratchDir() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  explicit ScratchDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace freshet

#endif  // FRESHET_LAB_BENCH_SCRATCH_DIR_H_
