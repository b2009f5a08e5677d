// Polls the documents of sites, and sends their news (new pages and changes) to the server.
#ifndef FRESHET_TOOLS_SITEMAP_POLLER_H_
#define FRESHET_TOOLS_SITEMAP_POLLER_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/units.h"
#include "tools/sitemap/document_news.h"
#include "tools/sitemap/document_report.h"
#include "tools/sitemap/entry_file.h"
#include "tools/sitemap/feed_parser.h"
#include "tools/sitemap/fetch.h"
#include "tools/sitemap/intervals.h"
#include "tools/sitemap/site_turn.h"
#include "tools/sitemap/site_url.h"
#include "tools/sitemap/spool.h"
#include "tools/sitemap/state.h"
#include "tools/sitemap/turn.h"

namespace freshet::sitemap {

// The maximum number of documents that one argument can lead to. The report counts further ones.
inline constexpr size_t kMaxDocuments = 10'000;
// The maximum depth of nested indexes: an index may name other indexes, but those may only name
// sitemaps.
inline constexpr int kMaxIndexDepth = 2;
// The maximum number of documents of other hosts that one poll of an argument fetches, so that a
// site cannot make the poller flood another one. Later polls fetch the rest.
inline constexpr size_t kMaxForeignDocuments = 50;

// Options of a poller. Value type, thread-compatible.
struct PollerOptions {
  // The options of each fetch. If `cancelled` returns true, the poll ends, too.
  FetchOptions fetch;
  // Decides when a document is due again.
  IntervalRule intervals;
  bool robots = false;       // reads the robots.txt of every site; false = only if a URL names just
                             // a site
  bool other_hosts = false;  // documents may name pages and documents of other hosts
  size_t max_documents = kMaxDocuments;
  size_t most_remembered = kMostDocuments;  // documents of one site that are kept before each poll
  // The maximum time for one poll of all documents of a site: for waiting, reading and sending its
  // news. The turns of other sites do not count.
  Duration site_timeout = Duration::Hours(1);
  // The maximum number of new pages and signals of a site in one poll, counted in units of
  // kUrlBytesPerPage. The document that reaches this number is still finished.
  uint64_t site_pages = 1'000'000;
  bool dry_run = false;   // do not change the state
  bool only_due = false;  // skip documents that are not due
  // Called after an argument was polled, if some documents or lines were only counted. The caller
  // holds the turn.
  std::function<void(const std::string& argument, const PollTally& tally)> untold =
      [](const std::string&, const PollTally&) {};
};

// Returns a site's Last-Modified if it is possible, that is, neither before 1990 nor after
// `fetched`; otherwise an empty text. Impossible dates are not sent back, because a site might
// believe them for ever.
[[nodiscard]] std::string PossibleLastModified(const std::string& value, Instant fetched);

// Polls arguments. Owner thread only, but several pollers can share the objects that `turn` guards.
class Poller {
 public:
  // All arguments outlive the poller. It holds `turn` while it uses state, senders and report, for
  // one piece of a document at a time (kMaxPiece). It does not hold `turn` while it waits for a
  // site or reads an answer. It calls `clock` at each step, with and without `turn`, and calls
  // `report` for every document that it examined.
  Poller(PollerOptions options, PollState& state, MakeSender make_sender, Turn& turn,
         std::function<Instant()> clock, std::function<void(const DocumentReport&)> report);

  // Polls an argument of the command line (a URL, a file, or "-" for the descriptor `input`), and
  // everything that it leads to. An unusable document is reported and sends nothing, but is not an
  // error. Errors end the poll: Cancelled, or those of the sender and the state file. After an
  // error, the next poll sends again what might not have arrived. If the site's time or the space
  // for temporary files was used up, the next poll continues there.
  [[nodiscard]] absl::Status Poll(const std::string& argument, int input) FRESHET_EXCLUDES(turn_);
  // Returns when the argument is due again. This is in the future, unless the last poll was a dry
  // run. Instant() = the argument was never polled.
  [[nodiscard]] absl::StatusOr<Instant> Due(const std::string& argument) FRESHET_EXCLUDES(turn_);

 private:
  // A document to fetch, and the site that named it.
  struct Named {
    std::string url;
    std::string site;  // the site whose pages it may name (SiteOfHost); empty = all
    bool only_public = false;
    bool robots = false;
    int depth = 0;  // number of indexes above
    bool child = false;
  };
  // The result of work without `turn`.
  struct Found {
    FetchResult fetched;
    // Set if the document was fetched:
    Instant read_at;
    absl::StatusOr<FeedSummary> read = absl::UnknownError("not read");
    DocumentReport report;
    std::vector<std::string> children;
  };

  [[nodiscard]] Named FirstOf(const std::string& argument) const;
  [[nodiscard]] static Named ChildOf(const Named& named, const FetchResult& fetched,
                                     std::string url);
  [[nodiscard]] static DocumentKey KeyOf(const Named& named);
  // Returns the state of the document. If its times are too far in the future, because the clock
  // was wrong, the document is due.
  [[nodiscard]] absl::StatusOr<DocumentState> Find(const DocumentKey& key) FRESHET_REQUIRES(turn_);
  [[nodiscard]] absl::StatusOr<bool> Visit(const Named& named) FRESHET_REQUIRES(turn_);
  [[nodiscard]] Found Look(const Named& named, const DocumentState& document, Instant now)
      FRESHET_REQUIRES(turn_);
  [[nodiscard]] absl::StatusOr<bool> Take(const Named& named, Found& found, DocumentState* document)
      FRESHET_REQUIRES(turn_);
  [[nodiscard]] absl::StatusOr<bool> TakeRobots(const Named& named, Found& found)
      FRESHET_REQUIRES(turn_);
  [[nodiscard]] absl::StatusOr<bool> TakeDocument(const Named& named, Found& found,
                                                  DocumentState* document) FRESHET_REQUIRES(turn_);
  [[nodiscard]] absl::StatusOr<bool> TakeIndex(const Named& named, Found& found,
                                               DocumentState* document) FRESHET_REQUIRES(turn_);
  // Returns why a document of another site is not fetched; empty = it may be fetched.
  [[nodiscard]] std::string WhyNotTo(const Named& named, const std::string& from,
                                     const std::string& to, Instant now);
  // Creates the files of the present document if they do not exist.
  [[nodiscard]] absl::Status MakeFiles() FRESHET_EXCLUDES(turn_);
  [[nodiscard]] FetchResult FetchOrRead(const Named& named, const DocumentState& document,
                                        Instant now) FRESHET_EXCLUDES(turn_);
  // Reads the document once. Finds out its kind, and whether all of it is valid. Stores the usable
  // entries: pages in entries_, documents in `found`.
  [[nodiscard]] absl::StatusOr<FeedSummary> ReadEntries(const Named& named, Instant until,
                                                        Found* found) FRESHET_EXCLUDES(turn_);
  [[nodiscard]] absl::StatusOr<bool> VisitChildren(const Named& named, const FetchResult& fetched,
                                                   std::vector<std::string> urls)
      FRESHET_REQUIRES(turn_);
  [[nodiscard]] absl::StatusOr<std::vector<Named>> ChildrenOf(const Named& named,
                                                              const FetchResult& fetched,
                                                              std::vector<std::string> urls)
      FRESHET_REQUIRES(turn_);
  void Fail(const Named& named, std::string why, DocumentReport report = {})
      FRESHET_REQUIRES(turn_);
  void Report(DocumentReport report) FRESHET_REQUIRES(turn_);
  // Counts and reports an entry that is left out. Returns false if the entry is not left out.
  bool Leave(const Named& named, uint64_t row, const FeedEntry& entry,
             DocumentReport* report) const;
  [[nodiscard]] bool MayNamePage(const Named& named, const std::string& site) const;
  [[nodiscard]] bool MayNameDocument(const Named& named, const std::string& site) const;

  const PollerOptions options_;
  PollState& state_;
  const MakeSender make_sender_;
  const std::function<Instant()> clock_;
  SiteTurn turn_;
  const std::function<void(const DocumentReport&)> report_;
  std::unique_ptr<Spool> body_;
  std::unique_ptr<EntryFile> entries_;  // entries of the present document
  int input_ = 0;
  PieceSize piece_;
  // The state of the current poll.
  uint64_t stage_ = 0;             // the stage of state_
  std::set<size_t> visited_;       // hashes of URLs, because URLs can be long
  size_t foreign_ = 0;             // visited documents of other hosts
  uint64_t site_pages_ = 0;        // news sent so far
  PollTally tally_;                // counts of its documents
  std::set<std::string> bounded_;  // sites whose earlier rows KeepDocuments has limited
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_POLLER_H_
