// A document of unknown size, held on disk while it is looked at.
#ifndef FRESHET_TOOLS_SITEMAP_SPOOL_H_
#define FRESHET_TOOLS_SITEMAP_SPOOL_H_

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/cli/lines.h"

namespace freshet::sitemap {

// The directory for temporary files: TMPDIR, or /tmp.
[[nodiscard]] std::string TemporaryDirectory();
// ResourceExhausted, which names that directory: a file there cannot be `done`.
[[nodiscard]] absl::Status TemporaryFileError(std::string_view done, std::string_view why);

// A file without a name in the directory for temporary files: it is gone when the object is, or the
// process. Errors are TemporaryFileError. Thread-compatible.
class Spool {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Spool>> Create();
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  [[nodiscard]] absl::Status Append(std::string_view bytes);
  // Forgets what it holds.
  [[nodiscard]] absl::Status Clear();
  [[nodiscard]] size_t size() const { return size_; }

  // All of it from the beginning, decompressed if it is gzip: a gzip file may be compressed once
  // more on its way. At most one reader at a time, and none while something is appended.
  [[nodiscard]] std::unique_ptr<cli::ByteSource> Read() const;

 private:
  explicit Spool(int descriptor) : descriptor_(descriptor) {}

  const int descriptor_;
  size_t size_ = 0;
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_SPOOL_H_
