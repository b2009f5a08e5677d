// The entries of a document that was read, held on disk until they are looked up and sent.
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

// Reading a document takes as long as its site likes. A poller reads it once, by itself, and goes
// through this file whenever it needs the entries: that takes as long as there are entries. Errors
// are TemporaryFileError. Thread-compatible.
class EntryFile {
 public:
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<EntryFile>> Create();

  [[nodiscard]] absl::Status Clear();
  // `row` is the number of the entry in its document. Kept are kind, URL, date and priority; of a
  // date that cannot be read no more than that.
  [[nodiscard]] absl::Status Append(uint64_t row, const FeedEntry& entry);
  // Calls for all in their order until `take` fails, and returns its error.
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
