// The state that a sitemap poller keeps in a file: its documents, and the pages and changes that
// the server has accepted. Some of these pages and changes can be missing, but the state never
// contains one that the server does not have.
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

// The maximum number of documents that are remembered for one site, because a site can name any
// number, and new ones each time. The limit is higher than the number of documents that one poll
// fetches. A poll begins with the documents that the previous poll did not reach, so these must be
// remembered.
inline constexpr size_t kMostDocuments = 100'000;

// A document, and the site (SiteOfHost) that named it. Each site has separate rows, so that no site
// changes the rows of another. Value type, thread-compatible.
struct DocumentKey {
  std::string site;  // empty = named by the operator, or a file
  std::string url;
};

// The state of a document after its last polls. Value type, thread-compatible.
struct DocumentState {
  std::string etag;           // from the last answer whose entries were all taken; empty = none
  std::string last_modified;  // from the same answer
  Instant polled;             // Instant() = never
  Duration interval;          // between polls, if watched; 0 = not yet chosen
  Instant next;               // when the document is due
  Instant not_before;         // no poll before this, as the site asked; Instant() = none
  bool site_public = false;   // its site has had a public address
};

// The state of a page: whether it is known, the latest date that the server has accepted for it,
// and its staged entry in the current document, which the server might not have yet. Value type,
// thread-compatible.
struct KnownPage {
  struct Staged {
    uint64_t row = 0;
    Instant modified;  // Instant() = no date
  };
  bool known = false;
  Instant modified;              // Instant() = no date
  std::optional<Staged> staged;  // neither committed nor forgotten yet
};

// An SQLite database. The entries of a document are staged before they are sent, each document on a
// separate stage. Commit makes them known, piece by piece, once the server has them. Without
// Commit, staging has no effect. Only one process at a time may open a file. Errors of the database
// are Internal: the disk failed, or the file is not a state file. A stage is a temporary file.
// After one of its errors (TemporaryFileError), the stage can only be forgotten. Thread-compatible.
class PollState {
 public:
  // Opens the file. If there is none, creates it and its directories, readable only by the owner.
  // FailedPrecondition: another process has opened the file, it is of another version, or it
  // belongs to another crawl id.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<PollState>> Open(const std::string& path,
                                                                       const std::string& crawl_id);
  // Opens a private copy of the file, which is deleted with the object. Changes stay in the copy,
  // and another process may have the file open. The copy is empty if there is no file.
  [[nodiscard]] static absl::StatusOr<std::unique_ptr<PollState>> OpenCopy(
      const std::string& path, const std::string& crawl_id);
  ~PollState();
  PollState(const PollState&) = delete;
  PollState& operator=(const PollState&) = delete;

  // Returns the document's state, or the default state if it was never polled.
  [[nodiscard]] absl::StatusOr<DocumentState> FindDocument(const DocumentKey& key);
  [[nodiscard]] absl::Status PutDocument(const DocumentKey& key, const DocumentState& document);
  // Keeps at most `most` documents of a site. Documents that must still wait at `now` are kept
  // first, then those that were polled last. Either all or none of the documents polled at the same
  // instant are kept. A document that is not kept will be polled like a new one.
  [[nodiscard]] absl::Status KeepDocuments(const std::string& site, size_t most, Instant now);
  // Returns the latest `not_before` of this URL that is at most `latest`; Instant() = no wait. Only
  // the rows of the URL's own site and of `site` count, so that no other site can delay its polls.
  [[nodiscard]] absl::StatusOr<Instant> FindWait(const std::string& site, const std::string& url,
                                                 Instant latest);

  // Returns the number of a new, empty stage. It is > 0.
  [[nodiscard]] uint64_t NewStage() { return ++last_stage_; }
  // `stage` 0 = staged entries are ignored.
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
