// Keeps a document of unknown size on disk while it is read.
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

// Returns the directory for temporary files: TMPDIR, or /tmp.
[[nodiscard]] std::string TemporaryDirectory();
// Returns ResourceExhausted for an action `done` that failed on a temporary file. The message names
// the directory.
[[nodiscard]] absl::Status TemporaryFileError(std::string_view done, std::string_view why);

// A file without a name in the directory for temporary files: it disappears with this object or the
// process. Errors: TemporaryFileError. Thread-compatible.
class Spool {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<Spool>> Create();
  ~Spool();
  Spool(const Spool&) = delete;
  Spool& operator=(const Spool&) = delete;

  [[nodiscard]] absl::Status Append(std::string_view bytes);
  // Removes the content.
  [[nodiscard]] absl::Status Clear();
  [[nodiscard]] size_t size() const { return size_; }

  // Reads the whole file from the beginning. Gzip is decompressed, even if it was compressed twice.
  // Only one reader may exist at a time, and none during Append.
  [[nodiscard]] std::unique_ptr<cli::ByteSource> Read() const;

 private:
  explicit Spool(int descriptor) : descriptor_(descriptor) {}

  const int descriptor_;
  size_t size_ = 0;
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_SPOOL_H_
