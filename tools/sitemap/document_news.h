// The news of a document for the server: pages that were not sent before, and newer dates.
#ifndef FRESHET_TOOLS_SITEMAP_DOCUMENT_NEWS_H_
#define FRESHET_TOOLS_SITEMAP_DOCUMENT_NEWS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/units.h"
#include "tools/sitemap/document_report.h"
#include "tools/sitemap/entry_file.h"
#include "tools/sitemap/feed_parser.h"
#include "tools/sitemap/site_turn.h"
#include "tools/sitemap/state.h"

namespace freshet::sitemap {

// The server accepts dates from this one on (ChangeSignal.change_time).
inline constexpr Instant kEarliestDate = Instant::FromUnixSeconds(631'152'000);  // 1990
inline constexpr Duration kMaxDateAhead = Duration::Seconds(300);
// A new page or signal counts as one for each started block of this many bytes of its URL.
inline constexpr size_t kUrlBytesPerPage = 256;
// Most entries that a site looks up in one turn.
inline constexpr size_t kMaxPiece = 1000;

// The server's answers about one document.
struct Receipt {
  uint64_t refused = 0;
  std::vector<std::string> refusals;  // first refusals of the document, with reasons
  // Rows that the server may accept later: the source is not registered, or the server is busy.
  std::vector<uint64_t> again;
};

// Sends the news of one document. Thread-compatible.
class Sender {
 public:
  virtual ~Sender() = default;
  // Sends a page; rows are numbers of entries in their document. False: the connection is lost, and
  // Settle returns the error.
  virtual bool SendPage(uint64_t row, const FeedEntry& entry) = 0;
  // Sends a signal for an entry with a date; `changed` is the latest past instant that the date may
  // mean. All signals of a sender are one poll.
  virtual bool SendSignal(uint64_t row, const FeedEntry& entry, Instant changed) = 0;
  // Waits until the server has answered everything sent since the last call. After an error,
  // Unavailable or Internal, nothing may follow.
  [[nodiscard]] virtual absl::StatusOr<Receipt> Settle() = 0;
};
// Makes the sender for a document with this number of signals.
using MakeSender = std::function<std::unique_ptr<Sender>(uint64_t signals)>;

// The number of entries sent in one turn: fewer if the server answers slowly. Thread-compatible.
class PieceSize {
 public:
  static constexpr size_t kLeast = 50;

  [[nodiscard]] size_t entries() const { return entries_; }
  // Call when the server has answered `sent` entries after `took`.
  void Adapt(size_t sent, Duration took);

 private:
  size_t entries_ = kLeast;
};

// The news of one document: staged, then sent, and known once the server has accepted them.
// Thread-compatible.
class DocumentNews {
 public:
  // Counts of the staged news.
  struct Counts {
    uint64_t pages = 0;    // unknown pages
    uint64_t signals = 0;  // known pages with an older date
  };

  // `entries` are those of the document, read at `now`. Stages the news on `stage` of `state`. All
  // references outlive this object.
  DocumentNews(PollState& state, uint64_t stage, EntryFile& entries,
               const std::function<Instant()>& clock, Instant now, DocumentReport* report)
      : state_(state),
        stage_(stage),
        entries_(entries),
        clock_(clock),
        now_(now),
        report_(report) {}

  // Stages the news, a piece in each turn. Stages a page that is listed twice once, with its latest
  // date.
  [[nodiscard]] absl::StatusOr<Counts> Stage(SiteTurn& turn) FRESHET_REQUIRES(turn);
  // Sends the staged news, a piece in each turn; with `keep` also commits them. True: the server
  // has answered all of them, and none is to be sent again.
  [[nodiscard]] absl::StatusOr<bool> Send(Sender& sender, bool keep, PieceSize* piece,
                                          SiteTurn& turn) FRESHET_REQUIRES(turn);
  // Returns the news sent so far, counted by kUrlBytesPerPage.
  [[nodiscard]] uint64_t announced() const { return announced_; }

 private:
  [[nodiscard]] absl::Status StageEntry(uint64_t row, const FeedEntry& entry);
  // Sends an entry; false: the entry has nothing to send.
  [[nodiscard]] absl::StatusOr<bool> SendEntry(Sender& sender, uint64_t row,
                                               const FeedEntry& entry);
  // Waits for the server's answers for entries up to this row. True: it accepted or refused all for
  // good.
  [[nodiscard]] absl::StatusOr<bool> Settle(Sender& sender, uint64_t row, bool keep);

  PollState& state_;
  const uint64_t stage_;
  EntryFile& entries_;
  const std::function<Instant()>& clock_;
  const Instant now_;
  DocumentReport* const report_;
  Counts staged_;
  uint64_t announced_ = 0;
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_DOCUMENT_NEWS_H_
