// Polls the documents of sites and hands on what they say that was not known: pages, and changes.
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
#include "tools/sitemap/entry_file.h"
#include "tools/sitemap/feed_parser.h"
#include "tools/sitemap/fetch.h"
#include "tools/sitemap/intervals.h"
#include "tools/sitemap/site_url.h"
#include "tools/sitemap/spool.h"
#include "tools/sitemap/state.h"
#include "tools/sitemap/turn.h"

namespace freshet::sitemap {

// Documents that one argument leads to; what is beyond is left, and said.
inline constexpr size_t kMaxDocuments = 10'000;
// An index may name indexes, and these only sitemaps.
inline constexpr int kMaxIndexDepth = 2;
// What the server takes for the date of a change (ChangeSignal.change_time).
inline constexpr Instant kEarliestDate = Instant::FromUnixSeconds(631'152'000);  // 1990
inline constexpr Duration kMaxDateAhead = Duration::Seconds(300);
// Of what is left out of one document so many are named, the others counted.
inline constexpr size_t kMaxNamedLeftOut = 10;
// Lines about what is wrong that one poll of an argument tells; the others are counted. The
// document that comes to them is told as a whole, and so is what ends the poll.
inline constexpr uint64_t kMaxComplaints = 50;
// Documents at other hosts that one poll of an argument fetches: a site must not have the poller
// flood another one. The others come with the next polls.
inline constexpr size_t kMaxForeignDocuments = 50;
// A new page or signal counts as one for each of so many bytes of its URL, the last of which may be
// fewer.
inline constexpr size_t kUrlBytesPerPage = 256;
// What a site does in one turn: at most kMaxPiece entries are looked up, and of these so many sent,
// fewer or more, as the server takes them between these times.
inline constexpr size_t kMaxPiece = 1000;
inline constexpr size_t kMinPiece = 50;
inline constexpr Duration kShortPieceTime = Duration::Millis(50);
inline constexpr Duration kPieceTime = Duration::Millis(200);

// What became of what was sent of one document.
struct Receipt {
  uint64_t refused = 0;
  std::vector<std::string> refusals;  // the first of the document, each with its reason
  // Rows of those that may be taken another time: the source is not registered, the server is busy.
  std::vector<uint64_t> again;
};

// Where the news of one document goes. Thread-compatible.
class Sender {
 public:
  virtual ~Sender() = default;
  // Rows are numbers of entries in their document. False: the connection is lost, and Settle says
  // how.
  virtual bool SendPage(uint64_t row, const FeedEntry& entry) = 0;
  // The entry has a date; `changed` is the latest instant that it may mean and that is over. All
  // signals of a sender are one poll.
  virtual bool SendSignal(uint64_t row, const FeedEntry& entry, Instant changed) = 0;
  // Waits until everything has been answered for that was sent since the last time. More may follow
  // unless it fails: Unavailable or Internal.
  [[nodiscard]] virtual absl::StatusOr<Receipt> Settle() = 0;
};
// For a document that has so many signals.
using MakeSender = std::function<std::unique_ptr<Sender>(uint64_t signals)>;

// What a poll of a document came to.
struct DocumentReport {
  enum class Result { kRead, kUnchanged, kFailed };
  std::string document;
  std::string kind = "document";  // or that of NameOf, or robots
  Result result = Result::kRead;
  std::string why;          // failed
  uint64_t entries = 0;     // pages or sitemaps, with and without a URL
  uint64_t new_pages = 0;   // that the server did not know from here
  uint64_t signals = 0;     // known pages whose date has moved
  uint64_t refused = 0;     // of both, by the server
  uint64_t undated = 0;     // of the entries
  uint64_t unreadable = 0;  // with a date that cannot be read, or of before 1990
  uint64_t future = 0;      // with a date in the future
  // Left out:
  uint64_t other_hosts = 0;           // of other hosts
  uint64_t bad_urls = 0;              // with a URL that cannot be used
  uint64_t without_url = 0;           // with none
  std::vector<std::string> left_out;  // the first of these, each with its reason
  size_t name_bytes = 0;              // of the URLs of documents that are not left out
  uint64_t mended = 0;                // faults of what is no good XML, and was read all the same
  std::vector<std::string> refusals;  // the first of those that were refused, each with its reason
  bool untold = false;                // its complaints are only counted: the poll has told enough

  [[nodiscard]] uint64_t LeftOut() const { return other_hosts + bad_urls + without_url; }
  // Whether it names something, and nothing of it could be used.
  [[nodiscard]] bool Useless() const { return entries > 0 && LeftOut() == entries; }
  // Lines about what is wrong with it, each for a person.
  [[nodiscard]] std::vector<std::string> Complaints() const;
};

struct PollerOptions {
  FetchOptions fetch;
  IntervalRule intervals;
  bool robots = false;       // of every site, not only of URLs that name a site alone
  bool other_hosts = false;  // documents may name pages and documents of other hosts
  size_t max_documents = kMaxDocuments;
  size_t most_remembered = kMostDocuments;  // of one site, before each poll
  // Of all its documents together, for each poll: how long its answers, to read them, and to send
  // its news may take, without the turns of others.
  Duration site_timeout = Duration::Hours(1);
  // New pages and signals of all its documents together, for each poll, counted by
  // kUrlBytesPerPage. The document that comes to them is taken as a whole.
  uint64_t site_pages = 1'000'000;
  bool dry_run = false;   // leave the state as it is
  bool only_due = false;  // leave documents whose interval is not over
  // Called at the end of a poll of an argument that has so many complaints which were not told. The
  // turn is held.
  std::function<void(const std::string& argument, uint64_t complaints)> untold =
      [](const std::string&, uint64_t) {};
};

// Last-Modified as a site sends it, if it can be true at `fetched`: not before 1990, and not after
// it; else nothing. What cannot is not sent back to the site, which might believe it for ever.
[[nodiscard]] std::string PossibleLastModified(const std::string& value, Instant fetched);

// Owner thread only; several may share what `turn` guards.
class Poller {
 public:
  // All outlive the poller. `turn` is held whenever state, senders and report are used, for a piece
  // of a document at a time (kMaxPiece), and not while a site is waited for or what it says is
  // read. `clock` tells the time of each step, also without `turn`; `report` is called for every
  // document that was looked at.
  Poller(PollerOptions options, PollState& state, MakeSender make_sender, Turn& turn,
         std::function<Instant()> clock, std::function<void(const DocumentReport&)> report);

  // Polls what an argument of the command line names: a URL, a file, or "-" for the descriptor
  // `input`; and all that it leads to. A document that cannot be used is reported, sends nothing
  // and is no error. Errors end the poll: Cancelled, or those of the sender and the state file,
  // after which what was sent and not yet known is sent again by the next poll. What the site's
  // time, or the room for temporary files, does not suffice for is left to the next poll.
  [[nodiscard]] absl::Status Poll(const std::string& argument, int input) FRESHET_EXCLUDES(turn_);
  // When that is due again: later than now after a poll that was not a dry run. None before its
  // first poll.
  [[nodiscard]] absl::StatusOr<Instant> Due(const std::string& argument) FRESHET_EXCLUDES(turn_);

 private:
  // Something to fetch, and on whose word.
  struct Named {
    std::string url;
    std::string site;  // whose pages it may name (SiteOfHost); empty: those of all
    bool only_public = false;
    bool robots = false;
    int depth = 0;  // of indexes above
    bool child = false;
  };
  // What comes of it without `turn`.
  struct Found {
    FetchResult fetched;
    // If it was fetched:
    Instant read_at;
    absl::StatusOr<FeedSummary> read = absl::UnknownError("not read");
    DocumentReport report;
    std::vector<std::string> children;
  };
  // What staging has found.
  struct News {
    uint64_t pages = 0;
    uint64_t signals = 0;
  };

  [[nodiscard]] Named FirstOf(const std::string& argument) const;
  [[nodiscard]] static Named ChildOf(const Named& named, const FetchResult& fetched,
                                     std::string url);
  [[nodiscard]] static DocumentKey KeyOf(const Named& named);
  // What the state has. Times that a clock wrote which was ahead of the present one are brought
  // back: the document is due.
  [[nodiscard]] absl::StatusOr<DocumentState> Find(const DocumentKey& key) FRESHET_REQUIRES(turn_);
  [[nodiscard]] absl::StatusOr<bool> Visit(const Named& named) FRESHET_REQUIRES(turn_);
  // Gives the turn on, to whoever has waited longest, and has another one when `work` is done. The
  // site pays for the time of its turns and for what `work` returns; not for waiting.
  void WithoutTurn(const std::function<Duration()>& work) FRESHET_REQUIRES(turn_);
  // Has the site pay for its present turn so far.
  void Charge() FRESHET_REQUIRES(turn_);
  // The same between two pieces of a document. Cancelled, or DeadlineExceeded if the site's time is
  // over.
  [[nodiscard]] absl::Status GiveTurnOn() FRESHET_REQUIRES(turn_);
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
  // Why a document that this one leads to, at another site, is not fetched; empty: it is.
  [[nodiscard]] std::string WhyNotTo(const Named& named, const std::string& from,
                                     const std::string& to, Instant now);
  // Those of the present document, unless they are there.
  [[nodiscard]] absl::Status MakeFiles() FRESHET_EXCLUDES(turn_);
  [[nodiscard]] FetchResult FetchOrRead(const Named& named, const DocumentState& document,
                                        Instant now) FRESHET_EXCLUDES(turn_);
  // Reads the document once: what it is, and whether all of it is good. Keeps the entries that may
  // be used: pages in entries_, documents in `found`.
  [[nodiscard]] absl::StatusOr<FeedSummary> ReadEntries(const Named& named, Instant until,
                                                        Found* found) FRESHET_EXCLUDES(turn_);
  // Stages what is new in entries_, a piece in each turn.
  [[nodiscard]] absl::StatusOr<News> StageNews(Instant now, DocumentReport* report)
      FRESHET_REQUIRES(turn_);
  [[nodiscard]] absl::Status TakeEntry(uint64_t row, const FeedEntry& entry, Instant now,
                                       News* news, DocumentReport* report) FRESHET_REQUIRES(turn_);
  // Sends what is staged and commits it, a piece in each turn. True: the server has answered for
  // all of it, and wants nothing of it again.
  [[nodiscard]] absl::StatusOr<bool> SendNews(Sender& sender, Instant now, DocumentReport* report)
      FRESHET_REQUIRES(turn_);
  // How many were sent: 0 or 1.
  [[nodiscard]] absl::StatusOr<size_t> SendEntry(Sender& sender, uint64_t row,
                                                 const FeedEntry& entry, Instant now,
                                                 DocumentReport* report) FRESHET_REQUIRES(turn_);
  // Commits what the server has taken of the entries up to this row. True: all of it.
  [[nodiscard]] absl::StatusOr<bool> Settle(Sender& sender, uint64_t row, DocumentReport* report)
      FRESHET_REQUIRES(turn_);
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
  // Counts and names what is left out. False: it is not.
  bool Leave(const Named& named, uint64_t row, const FeedEntry& entry,
             DocumentReport* report) const;
  [[nodiscard]] bool MayNamePage(const Named& named, const std::string& site) const;
  [[nodiscard]] bool MayNameDocument(const Named& named, const std::string& site) const;

  const PollerOptions options_;
  PollState& state_;
  const MakeSender make_sender_;
  Turn& turn_;
  const std::function<Instant()> clock_;
  const std::function<void(const DocumentReport&)> report_;
  std::unique_ptr<Spool> body_;
  std::unique_ptr<EntryFile> entries_;  // of the present document
  int input_ = 0;
  Instant charged_;           // when the site paid last for its turn
  size_t piece_ = kMinPiece;  // how many entries are sent in one turn
  // Of the present poll.
  uint64_t stage_ = 0;             // of the state
  std::set<size_t> visited_;       // hashes of URLs, which may be long
  size_t foreign_ = 0;             // of these, at other hosts
  Duration site_left_;             // of the time that the site may take
  uint64_t site_pages_ = 0;        // that it has announced
  uint64_t complaints_ = 0;        // about its documents
  uint64_t untold_ = 0;            // of these
  std::set<std::string> bounded_;  // sites whose rows of earlier polls KeepDocuments has bounded
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_POLLER_H_
