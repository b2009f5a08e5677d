// What a poller of sitemaps knows from before: a file that is behind the server at worst, never
// ahead of it.
#ifndef FRESHET_TOOLS_SITEMAP_STATE_H_
#define FRESHET_TOOLS_SITEMAP_STATE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "core/base/units.h"

struct sqlite3;

namespace freshet::sitemap {

// Documents of one site that are remembered. A site names as many as it likes, others each time.
// More than one poll fetches: what a poll leaves comes first in the next one, which must know it.
inline constexpr size_t kMostDocuments = 100'000;

// A document, and the site on whose word it is polled (SiteOfHost). The polls of each site store
// rows of their own, so that no site changes or takes the place of what is known for another one.
// Value type, thread-compatible.
struct DocumentKey {
  std::string site;  // empty: the operator names the document, which is a file
  std::string url;
};

// What is known of a document from its last polls. Value type, thread-compatible.
struct DocumentState {
  std::string etag;           // of the answer whose entries were all taken; or nothing
  std::string last_modified;  // likewise
  Instant polled;             // none: never
  Duration interval;          // between polls, when it is watched; zero: not yet chosen
  Instant next;               // when it is due
  Instant not_before;         // as the site asked; none: it did not
  bool site_public = false;   // its site has had a public address
};

// Whether a page is known, and the latest date that the server has taken of it; and what the
// present document says of it, which the server may not have yet. Value type, thread-compatible.
struct KnownPage {
  struct Staged {
    uint64_t row = 0;
    Instant modified;  // none: it has no date
  };
  bool known = false;
  Instant modified;              // none: it had no date
  std::optional<Staged> staged;  // and neither committed nor forgotten
};

// An SQLite database. What one document says is staged before it is sent, on a stage of its own,
// and becomes known with Commit alone, piece by piece, as the server has it; without, it is as if
// nothing had been staged. One process at a time may have a file open. Errors of the database are
// Internal: its disk, or a file that is none of ours. A stage is a temporary file. Its errors are
// TemporaryFileError, and all that can be done after one is to forget the stage. Thread-compatible.
class PollState {
 public:
  // Makes the file and the folders that lead to it, readable by the owner alone, if there is none.
  // FailedPrecondition: another process has it, it is of another version, or it was kept for pages
  // of another crawl id.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<PollState>> Open(const std::string& path,
                                                                       const std::string& crawl_id);
  // A copy that is gone when the object is, of the file as it is now: what is kept there goes
  // nowhere else, and another process may have the file open. Empty if there is no such file.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<PollState>> OpenCopy(
      const std::string& path, const std::string& crawl_id);
  ~PollState();
  PollState(const PollState&) = delete;
  PollState& operator=(const PollState&) = delete;

  [[nodiscard]] absl::StatusOr<DocumentState> FindDocument(const DocumentKey& key);
  [[nodiscard]] absl::Status PutDocument(const DocumentKey& key, const DocumentState& document);
  // Keeps at most so many documents of a site: first those whose wait is not over at `now`, then
  // those that were polled last; of those that were polled at one instant all or none. A document
  // that was left out is polled like a new one.
  [[nodiscard]] absl::Status KeepDocuments(const std::string& site, size_t most, Instant now);
  // The latest `not_before` of this URL that is at most `latest`, as the site itself has asked, or
  // by what `site` has named there: what one site names keeps no other from its polls. None: there
  // is none.
  [[nodiscard]] absl::StatusOr<Instant> FindWait(const std::string& site, const std::string& url,
                                                 Instant latest);

  // Another stage, > 0, on which nothing is.
  [[nodiscard]] uint64_t NewStage() { return ++last_stage_; }
  // `stage` 0 = without what is staged.
  [[nodiscard]] absl::StatusOr<KnownPage> FindPage(const std::string& url, uint64_t stage = 0);
  // `row` tells it from the others of the stage. In the place of what was staged of this URL there.
  [[nodiscard]] absl::Status Stage(uint64_t stage, uint64_t row, const std::string& url,
                                   Instant modified);
  // Takes one back that the server has not taken, or has already.
  [[nodiscard]] absl::Status Unstage(uint64_t stage, uint64_t row);
  // What is staged up to this row becomes known.
  [[nodiscard]] absl::Status Commit(uint64_t stage, uint64_t row);
  // Nothing is on the stage any more, and it takes no room.
  void Forget(uint64_t stage);

 private:
  class Statement;
  class Staging;
  explicit PollState(sqlite3* database);
  // `name` is for messages.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<PollState>> Open(const std::string& path,
                                                                       const std::string& crawl_id,
                                                                       const std::string& name);
  [[nodiscard]] absl::Status Execute(const char* sql);
  [[nodiscard]] absl::Status Failed() const;
  [[nodiscard]] absl::Status Prepare(const std::string& crawl_id);
  // Gives each row of a file of version 1 its site.
  [[nodiscard]] absl::Status MigrateFromVersion1();

  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_;
  std::unique_ptr<Statement> find_document_, put_document_, keep_documents_, find_wait_;
  std::unique_ptr<Statement> find_page_, put_page_;
  uint64_t last_stage_ = 0;
  std::map<uint64_t, std::unique_ptr<Staging>> stages_;  // on which something is
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_STATE_H_
