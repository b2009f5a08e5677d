// Sends pages from another source to a server.
#ifndef FRESHET_TOOLS_CLI_TRANSFER_IMPORTER_H_
#define FRESHET_TOOLS_CLI_TRANSFER_IMPORTER_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tools/cli/item_batch.h"
#include "tools/cli/session.h"
#include "tools/cli/tally.h"
#include "tools/cli/transfer/imported_page.h"
#include "tools/cli/upload.h"

namespace freshet::cli {

// The counts of an import so far. Value type, thread-compatible.
struct ImportCounts {
  uint64_t pages = 0;       // pages that the server accepted
  uint64_t refused = 0;     // pages that are unreadable or not accepted
  uint64_t results = 0;     // sent crawls
  uint64_t signals = 0;     // sent signals
  uint64_t incomplete = 0;  // crawls, signals and rechecks that the server did not accept
  uint64_t histories_left_out = 0;
  uint64_t undated = 0;  // pages whose last crawl has no known time
};

// The maximum number of signals of one kind that are sent for a page. More would add no
// information.
inline constexpr uint32_t kMaxSignalsOfAKind = 100;

// The maximum number of sources that an input can add, because the server keeps sources for ever.
inline constexpr size_t kMostNewSources = 8;

// Sends chunks of pages: their settings, then their crawls, then signals and rechecks since the
// last crawl. A chunk is acknowledged before the next is sent, and sending a chunk again does no
// harm. Owner thread only.
class Importer {
 public:
  // All arguments outlive the importer, which updates `counts`.
  Importer(Session& session, Progress& progress, ImportCounts& counts);
  ~Importer();
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  // Sends pages of an input. `input` is its name in messages about refusals. Not OK: the connection
  // was lost, perhaps after some pages were accepted.
  grpc::Status Send(const std::vector<ImportedPage>& pages, const std::string& input);

 private:
  template <typename Request, typename Response>
  struct Stream;
  using Pages = std::vector<ImportedPage>;

  grpc::Status SendPages(const Pages& pages);
  grpc::Status SendResults(const Pages& pages);
  grpc::Status SendSignals(const Pages& pages);
  grpc::Status SendRechecks(const Pages& pages);
  // Asks the server for its sources.
  void LearnSources();
  // Registers the sources of signals with the server, up to kMostNewSources of them.
  void AddSources(const ImportedPage& page);
  // Reports why the server refused a part of the page at this place of the chunk.
  void Refuse(uint64_t place, const std::string& name, const v1::ItemError& error);

  Session& session_;
  Progress& progress_;
  ImportCounts& counts_;
  std::unique_ptr<Stream<v1::UpsertPagesRequest, v1::UpsertPagesResponse>> upserts_;
  std::unique_ptr<Stream<v1::ReportCrawlsRequest, v1::ReportCrawlsResponse>> reports_;
  std::unique_ptr<Stream<v1::SignalChangesRequest, v1::SignalChangesResponse>> signals_;
  std::set<std::string> sources_;  // known to the server
  size_t most_sources_ = 0;        // 0 = the server was not asked yet
  bool said_too_many_ = false;
  // State of the chunk that is being sent.
  const Pages* chunk_ = nullptr;
  std::string input_;
  std::vector<bool> not_taken_;  // pages that were not accepted
};

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TRANSFER_IMPORTER_H_
