// The entries of a document, held on disk until they are looked up and sent.
#ifndef FRESHET_TOOLS_SITEMAP_ENTRY_FILE_H_
#define FRESHET_TOOLS_SITEMAP_ENTRY_FILE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tools/sitemap/feed_parser.h"
#include "tools/sitemap/spool.h"

namespace freshet::sitemap {

// Reading a document can take long, because the site can be slow. Therefore a poller reads a
// document once, without holding the lock Turn, and then works from this file, in a time that
// depends only on the number of entries. Errors: TemporaryFileError. Thread-compatible.
class EntryFile {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<EntryFile>> Create();

  [[nodiscard]] absl::Status Clear();
  // Appends an entry; `row` is its number in the document. Stores its kind, URL, date and priority.
  // If the date is unreadable, stores only that there is one.
  [[nodiscard]] absl::Status Append(uint64_t row, const FeedEntry& entry);
  // Calls `take` for all entries in order until it fails. Returns the error of `take`.
  [[nodiscard]] absl::Status ForEach(
      const std::function<absl::Status(uint64_t, const FeedEntry&)>& take);

 private:
  explicit EntryFile(std::unique_ptr<Spool> spool) : spool_(std::move(spool)) {}
  [[nodiscard]] absl::Status Flush();

  const std::unique_ptr<Spool> spool_;
  std::string unwritten_;
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_ENTRY_FILE_H_
