// Reads pages from files of Freshet or another crawler.
#ifndef FRESHET_TOOLS_CLI_TRANSFER_RECORD_READER_H_
#define FRESHET_TOOLS_CLI_TRANSFER_RECORD_READER_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "tools/cli/lines.h"
#include "tools/cli/transfer/imported_page.h"

namespace freshet::cli {

// The program that wrote an input; kAuto = detect it.
enum class ImportFormat { kAuto, kFreshet, kFrontier, kNutch, kStorm };

// The maximum length of a line. Lines can be long, because an answer of a search index can be one
// line.
inline constexpr size_t kMaxRecordBytes = size_t{16} << 20;

// Reads the pages of one input, one by one. Memory does not grow with the input. Owner thread only.
class RecordReader {
 public:
  RecordReader() = default;
  virtual ~RecordReader() = default;
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  // Reads the next page. Returns false at the end. InvalidArgument, beginning with "row N: ": the
  // page cannot be understood, and the next call continues after it. Any other error ends the
  // input.
  virtual absl::StatusOr<bool> Next(ImportedPage* page) = 0;
};

// Opens an input. kAuto detects the format by the first line. InvalidArgument: the format is
// unknown.
[[nodiscard]] absl::StatusOr<std::unique_ptr<RecordReader>> OpenRecords(
    std::unique_ptr<ByteSource> bytes, ImportFormat format, const ImportOptions& options);

// The functions below make readers of single formats. `options` outlives the readers.
//
// ReadFreshetJson reads JSON lines of `freshet export`. ReadFreshetRows reads combined rows of
// `freshet upsert` and `freshet report`.
[[nodiscard]] std::unique_ptr<RecordReader> ReadFreshetJson(std::unique_ptr<ByteSource> bytes,
                                                            const ImportOptions& options);
[[nodiscard]] std::unique_ptr<RecordReader> ReadFreshetRows(std::unique_ptr<ByteSource> bytes,
                                                            const ImportOptions& options);
// JSON lines of the crawl-frontier API's URLItem, as its command line exports them.
[[nodiscard]] std::unique_ptr<RecordReader> ReadFrontierJson(std::unique_ptr<ByteSource> bytes,
                                                             const ImportOptions& options);
// These three read the output of `nutch readdb DB -dump DIR`: plain, with -format csv, and with
// -format json.
[[nodiscard]] std::unique_ptr<RecordReader> ReadNutchText(std::unique_ptr<ByteSource> bytes,
                                                          const ImportOptions& options);
[[nodiscard]] std::unique_ptr<RecordReader> ReadNutchCsv(std::unique_ptr<ByteSource> bytes,
                                                         const ImportOptions& options);
[[nodiscard]] std::unique_ptr<RecordReader> ReadNutchJson(std::unique_ptr<ByteSource> bytes,
                                                          const ImportOptions& options);
// ReadStormJson reads documents of StormCrawler's status index, one per line, or answers to
// searches, one per line with all hits. ReadStormTable reads StormCrawler's SQL table as CSV or TSV
// with a header.
[[nodiscard]] std::unique_ptr<RecordReader> ReadStormJson(std::unique_ptr<ByteSource> bytes,
                                                          const ImportOptions& options);
[[nodiscard]] std::unique_ptr<RecordReader> ReadStormTable(std::unique_ptr<ByteSource> bytes,
                                                           const ImportOptions& options);

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TRANSFER_RECORD_READER_H_
