// The memory of a sitemap poller: a file that may know less than the server, but never more.
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

// Most documents of one site to remember, since a site can name any number, and new ones each time.
// More than one poll fetches: the next poll begins with the documents that the last one left, and
// must know them.
inline constexpr size_t kMostDocuments = 100'000;

// A document, and the site (SiteOfHost) that named it. Each site has its own rows, so that no site
// changes the rows of another. Value type, thread-compatible.
struct DocumentKey {
  std::string site;  // empty = named by the operator, or a file
  std::string url;
};

// State of a document after its last polls. Value type, thread-compatible.
struct DocumentState {
  std::string etag;           // from the last answer with all entries taken; or nothing
  std::string last_modified;  // from the same answer
  Instant polled;             // Instant() = never
  Duration interval;          // between polls, if watched; 0 = not yet chosen
  Instant next;               // when the document is due
  Instant not_before;         // the site's request; Instant() = none
  bool site_public = false;   // its site has had a public address
};

// Whether a page is known, and the latest date that the server has accepted for it. Also the staged
// entry of the present document, which the server may not have yet. Value type, thread-compatible.
struct KnownPage {
  struct Staged {
    uint64_t row = 0;
    Instant modified;  // Instant() = no date
  };
  bool known = false;
  Instant modified;              // Instant() = no date
  std::optional<Staged> staged;  // neither committed nor forgotten yet
};

// An SQLite database. Entries of one document are staged, on a stage of their own, before they are
// sent. Commit makes them known, piece by piece, once the server has them; without Commit staging
// has no effect. Only one process at a time may open a file. Errors of the database are Internal:
// its disk, or a foreign file. A stage is a temporary file. After one of its errors,
// TemporaryFileError, the stage can only be forgotten. Thread-compatible.
class PollState {
 public:
  // Opens the file, or creates it with its folders, readable only by the owner. FailedPrecondition:
  // another process has it, it is of another version, or it belongs to another crawl id.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<PollState>> Open(const std::string& path,
                                                                       const std::string& crawl_id);
  // Opens a private copy of the present file, deleted with the object: changes stay in the copy,
  // and another process may have the file open. Empty if there is no file.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<PollState>> OpenCopy(
      const std::string& path, const std::string& crawl_id);
  ~PollState();
  PollState(const PollState&) = delete;
  PollState& operator=(const PollState&) = delete;

  // Returns the document's state; the default one if it was never polled.
  [[nodiscard]] absl::StatusOr<DocumentState> FindDocument(const DocumentKey& key);
  [[nodiscard]] absl::Status PutDocument(const DocumentKey& key, const DocumentState& document);
  // Keeps at most `most` documents of a site: first those that must still wait at `now`, then those
  // polled last. Keeps all or none of those polled at the same instant. A forgotten document is
  // polled like a new one.
  [[nodiscard]] absl::Status KeepDocuments(const std::string& site, size_t most, Instant now);
  // Returns the latest `not_before` of this URL that is at most `latest`. Uses the rows of the
  // URL's own site and of `site`, so that no other site can delay its polls. Instant() = no wait.
  [[nodiscard]] absl::StatusOr<Instant> FindWait(const std::string& site, const std::string& url,
                                                 Instant latest);

  // Returns the number of a new empty stage, > 0.
  [[nodiscard]] uint64_t NewStage() { return ++last_stage_; }
  // `stage` 0 = ignores staged entries.
  [[nodiscard]] absl::StatusOr<KnownPage> FindPage(const std::string& url, uint64_t stage = 0);
  // Replaces the staged entry of this URL. `row` identifies it within the stage.
  [[nodiscard]] absl::Status Stage(uint64_t stage, uint64_t row, const std::string& url,
                                   Instant modified);
  // Removes a staged entry that the server has refused, or already has.
  [[nodiscard]] absl::Status Unstage(uint64_t stage, uint64_t row);
  // Makes the staged entries up to this row known.
  [[nodiscard]] absl::Status Commit(uint64_t stage, uint64_t row);
  // Empties the stage and frees its disk space.
  void Forget(uint64_t stage);

 private:
  class Statement;
  class Staging;
  explicit PollState(sqlite3* database);
  // `name` appears in messages.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<PollState>> Open(const std::string& path,
                                                                       const std::string& crawl_id,
                                                                       const std::string& name);
  [[nodiscard]] absl::Status Execute(const char* sql);
  [[nodiscard]] absl::Status Failed() const;
  [[nodiscard]] absl::Status Prepare(const std::string& crawl_id);
  // Adds the site to each row of a file of version 1.
  [[nodiscard]] absl::Status MigrateFromVersion1();

  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> database_;
  std::unique_ptr<Statement> find_document_, put_document_, keep_documents_, find_wait_;
  std::unique_ptr<Statement> find_page_, put_page_;
  uint64_t last_stage_ = 0;
  std::map<uint64_t, std::unique_ptr<Staging>> stages_;  // those that are not empty
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_STATE_H_
