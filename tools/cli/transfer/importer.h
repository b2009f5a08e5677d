// Sends pages that were read elsewhere to a server.
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

// What an import has come to. Value type, thread-compatible.
struct ImportCounts {
  uint64_t pages = 0;       // that the server has
  uint64_t refused = 0;     // that cannot be read, or that the server does not take
  uint64_t results = 0;     // crawls that were sent
  uint64_t signals = 0;     // signals that were sent
  uint64_t incomplete = 0;  // crawls, signals and rechecks that the server does not take
  uint64_t histories_left_out = 0;
  uint64_t undated = 0;  // pages of which nothing says when they were crawled
};

// Most signals of one kind that are sent for a page: more say nothing more.
inline constexpr uint32_t kMaxSignalsOfAKind = 100;

// Sources that an input may add: the server keeps them for ever.
inline constexpr size_t kMostNewSources = 8;

// Sends chunks of pages: their settings, then their crawls, then what waits for a crawl. A chunk is
// acknowledged before the next is sent, and sending one again does no harm. Owner thread only.
class Importer {
 public:
  // All outlive it; `counts` is kept up to date.
  Importer(Session& session, Progress& progress, ImportCounts& counts);
  ~Importer();
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;

  // Sends pages of an input, which is named in what is said of those that are refused. Not OK when
  // the connection is lost: some of them may have been taken.
  grpc::Status Send(const std::vector<ImportedPage>& pages, const std::string& input);

 private:
  template <typename Request, typename Response>
  struct Stream;
  using Pages = std::vector<ImportedPage>;

  grpc::Status SendPages(const Pages& pages);
  grpc::Status SendResults(const Pages& pages);
  grpc::Status SendSignals(const Pages& pages);
  grpc::Status SendRechecks(const Pages& pages);
  // Asks for the sources that the server knows.
  void LearnSources();
  // Has the server know the sources of signals, up to kMostNewSources of them.
  void AddSources(const ImportedPage& page);
  // Says why the server does not take something of the page at this place of the chunk.
  void Refuse(uint64_t place, const std::string& name, const v1::ItemError& error);

  Session& session_;
  Progress& progress_;
  ImportCounts& counts_;
  std::unique_ptr<Stream<v1::UpsertPagesRequest, v1::UpsertPagesResponse>> upserts_;
  std::unique_ptr<Stream<v1::ReportCrawlsRequest, v1::ReportCrawlsResponse>> reports_;
  std::unique_ptr<Stream<v1::SignalChangesRequest, v1::SignalChangesResponse>> signals_;
  std::set<std::string> sources_;  // that the server knows, or was told of
  size_t most_sources_ = 0;        // none: the server was not asked yet
  bool said_too_many_ = false;
  // Of the chunk that is being sent.
  const Pages* chunk_ = nullptr;
  std::string input_;
  std::vector<bool> not_taken_;  // pages
};

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_TRANSFER_IMPORTER_H_
