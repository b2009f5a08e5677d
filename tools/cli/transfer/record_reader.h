// Reads pages from what Freshet or another crawler has written.
#ifndef FRESHET_TOOLS_CLI_TRANSFER_RECORD_READER_H_
#define FRESHET_TOOLS_CLI_TRANSFER_RECORD_READER_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/cli/lines.h"
#include "tools/cli/transfer/imported_page.h"

namespace freshet::cli {

// What wrote an input.
enum class ImportFormat { kAuto, kFreshet, kFrontier, kNutch, kStorm };

// Longest line of an import: what a search index returns at a time may be one.
inline constexpr size_t kMaxRecordBytes = size_t{16} << 20;

// Pages of one input, one by one, in memory that does not grow with it. Owner thread only.
class RecordReader {
 public:
  RecordReader() = default;
  virtual ~RecordReader() = default;
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  // The next page; false at the end. InvalidArgument, "row N: " in front, for one that cannot be
  // understood: the next call goes on behind it. Any other error is the end.
  virtual absl::StatusOr<bool> Next(ImportedPage* page) = 0;
};

// Opens an input. kAuto tells the format from its first line. InvalidArgument if that is none.
[[nodiscard]] absl::StatusOr<std::unique_ptr<RecordReader>> OpenRecords(
    std::unique_ptr<ByteSource> bytes, ImportFormat format, const ImportOptions& options);

// The readers by themselves. `options` outlives them.
//   JSON lines of `freshet export`, and rows as `freshet upsert` and `report` take them together.
[[nodiscard]] std::unique_ptr<RecordReader> ReadFreshetJson(std::unique_ptr<ByteSource> bytes,
                                                            const ImportOptions& options);
[[nodiscard]] std::unique_ptr<RecordReader> ReadFreshetRows(std::unique_ptr<ByteSource> bytes,
                                                            const ImportOptions& options);
//   JSON lines of the crawl-frontier API's URLItem, as its command line exports them.
[[nodiscard]] std::unique_ptr<RecordReader> ReadFrontierJson(std::unique_ptr<ByteSource> bytes,
                                                             const ImportOptions& options);
//   `nutch readdb DB -dump DIR`, plain, and with -format csv or json.
[[nodiscard]] std::unique_ptr<RecordReader> ReadNutchText(std::unique_ptr<ByteSource> bytes,
                                                          const ImportOptions& options);
[[nodiscard]] std::unique_ptr<RecordReader> ReadNutchCsv(std::unique_ptr<ByteSource> bytes,
                                                         const ImportOptions& options);
[[nodiscard]] std::unique_ptr<RecordReader> ReadNutchJson(std::unique_ptr<ByteSource> bytes,
                                                          const ImportOptions& options);
//   Documents of StormCrawler's status index, a line each, or hits of a search a line; and its SQL
//   table as CSV or TSV with a header.
[[nodiscard]] std::unique_ptr<RecordReader> ReadStormJson(std::unique_ptr<ByteSource> bytes,
                                                          const ImportOptions& options);
[[nodiscard]] std::unique_ptr<RecordReader> ReadStormTable(std::unique_ptr<ByteSource> bytes,
                                                           const ImportOptions& options);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TRANSFER_RECORD_READER_H_
