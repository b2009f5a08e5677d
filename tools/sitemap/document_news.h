// Finds the news of a document and sends it to the server: pages that were not sent before, and
// newer dates of known pages.
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

// The earliest date that the server accepts (ChangeSignal.change_time).
inline constexpr Instant kEarliestDate = Instant::FromUnixSeconds(631'152'000);  // 1990
inline constexpr Duration kMaxDateAhead = Duration::Seconds(300);
// News is counted by the size of its URLs: a new page or signal counts once for each started block
// of this many bytes.
inline constexpr size_t kUrlBytesPerPage = 256;
// The maximum number of entries that a site looks up in one turn (tools/sitemap/site_turn.h).
inline constexpr size_t kMaxPiece = 1000;

// The server's answers about one document.
struct Receipt {
  uint64_t refused = 0;
  std::vector<std::string> refusals;  // first refusals of the document, with reasons
  // Rows that the server might accept later, because the source is not registered yet or the server
  // was busy.
  std::vector<uint64_t> again;
};

// Sends the news of one document. Thread-compatible.
class Sender {
 public:
  virtual ~Sender() = default;
  // Sends a page. `row` is the number of the entry in its document. Returns false if the connection
  // is lost; Settle then returns the error.
  virtual bool SendPage(uint64_t row, const FeedEntry& entry) = 0;
  // Sends a signal for an entry with a date. `changed` is the latest past instant that the date can
  // mean. All signals of one sender belong to one poll.
  virtual bool SendSignal(uint64_t row, const FeedEntry& entry, Instant changed) = 0;
  // Waits until the server has answered everything that was sent since the last call. After an
  // error (Unavailable or Internal), nothing more may be sent.
  [[nodiscard]] virtual absl::StatusOr<Receipt> Settle() = 0;
};
// Makes the sender for a document with this number of signals.
using MakeSender = std::function<std::unique_ptr<Sender>(uint64_t signals)>;

// The number of entries sent in one turn. It shrinks if the server answers slowly.
// Thread-compatible.
class PieceSize {
 public:
  static constexpr size_t kLeast = 50;

  [[nodiscard]] size_t entries() const { return entries_; }
  // Must be called when the server has answered `sent` entries, which took the time `took`.
  void Adapt(size_t sent, Duration took);

 private:
  size_t entries_ = kLeast;
};

// The news of one document. It is first staged, then sent, and becomes known state once the server
// has accepted it. Thread-compatible.
class DocumentNews {
 public:
  // Counts of the staged news.
  struct Counts {
    uint64_t pages = 0;    // unknown pages
    uint64_t signals = 0;  // known pages with an older date
  };

  // `entries` are the entries of the document, which was read at `now`. The news is staged on
  // `stage` of `state`. All references outlive this object.
  DocumentNews(PollState& state, uint64_t stage, EntryFile& entries,
               const std::function<Instant()>& clock, Instant now, DocumentReport* report)
      : state_(state),
        stage_(stage),
        entries_(entries),
        clock_(clock),
        now_(now),
        report_(report) {}

  // Stages the news, one piece in each turn. A page that is listed twice is staged once, with its
  // latest date.
  [[nodiscard]] absl::StatusOr<Counts> Stage(SiteTurn& turn) FRESHET_REQUIRES(turn);
  // Sends the staged news, one piece in each turn. With `keep`, also commits it. Returns true if
  // the server has answered everything, and nothing must be sent again.
  [[nodiscard]] absl::StatusOr<bool> Send(Sender& sender, bool keep, PieceSize* piece,
                                          SiteTurn& turn) FRESHET_REQUIRES(turn);
  // Returns how much news was sent so far, counted in units of kUrlBytesPerPage.
  [[nodiscard]] uint64_t announced() const { return announced_; }

 private:
  [[nodiscard]] absl::Status StageEntry(uint64_t row, const FeedEntry& entry);
  // Sends an entry. Returns false if the entry has nothing to send.
  [[nodiscard]] absl::StatusOr<bool> SendEntry(Sender& sender, uint64_t row,
                                               const FeedEntry& entry);
  // Waits for the server's answers for entries up to this row. Returns true if none of the entries
  // must be sent again.
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
