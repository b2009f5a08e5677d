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
#include "tools/cli/feed_parser.h"
#include "tools/sitemap/fetch.h"
#include "tools/sitemap/intervals.h"
#include "tools/sitemap/site_url.h"
#include "tools/sitemap/spool.h"
#include "tools/sitemap/state.h"

namespace freshet::sitemap {

// Documents that one argument leads to; what is beyond is left, and said.
inline constexpr size_t kMaxDocuments = 10'000;
// An index may name indexes, and these only sitemaps.
inline constexpr int kMaxIndexDepth = 2;
// What the server takes for the date of a change (ChangeSignal.change_time).
inline constexpr Instant kEarliestDate = Instant::FromUnixSeconds(631'152'000);  // 1990
inline constexpr Duration kMaxDateAhead = Duration::Seconds(300);

// What became of what was sent of one document.
struct Receipt {
  uint64_t refused = 0;
  // Rows of those that may be taken another time: the source is not registered, the server is busy.
  std::vector<uint64_t> again;
};

// Where news goes. Thread-compatible.
class Sender {
 public:
  virtual ~Sender() = default;
  // Rows are numbers of entries in their document. False: the connection is lost, and Finish says
  // how.
  virtual bool SendPage(uint64_t row, const cli::FeedEntry& entry) = 0;
  // The entry has a date. All signals up to Finish are one poll.
  virtual bool SendSignal(uint64_t row, const cli::FeedEntry& entry) = 0;
  // Waits until everything has been answered for.
  [[nodiscard]] virtual absl::StatusOr<Receipt> Finish() = 0;
};

// What a poll of a document came to.
struct DocumentReport {
  enum class Result { kRead, kUnchanged, kFailed };
  std::string document;
  std::string kind = "document";  // or that of NameOf, or robots
  Result result = Result::kRead;
  std::string why;           // failed
  uint64_t entries = 0;      // pages or sitemaps that it names
  uint64_t new_pages = 0;    // that the server did not know from here
  uint64_t signals = 0;      // known pages whose date has moved
  uint64_t refused = 0;      // of both, by the server
  uint64_t undated = 0;      // of the entries
  uint64_t unreadable = 0;   // with a date that cannot be read, or of before 1990
  uint64_t future = 0;       // with a date in the future
  uint64_t other_hosts = 0;  // of other hosts, or with no URL of one: left out
};

struct PollerOptions {
  FetchOptions fetch;
  IntervalRule intervals;
  bool robots = false;       // of every site, not only of URLs that name a site alone
  bool other_hosts = false;  // documents may name pages and documents of other hosts
  size_t max_documents = kMaxDocuments;
  bool dry_run = false;   // leave the state as it is
  bool only_due = false;  // leave documents whose interval is not over
};

// Owner thread only.
class Poller {
 public:
  // All outlive the poller. `clock` tells the time of each step; `report` is called for every
  // document that was looked at.
  Poller(PollerOptions options, PollState& state, Sender& sender, std::function<Instant()> clock,
         std::function<void(const DocumentReport&)> report);

  // Polls what an argument of the command line names: a URL, a file, or "-" for the descriptor
  // `input`; and all that it leads to. A document that cannot be used is reported, sends nothing
  // and is no error. Errors end the poll: Cancelled, or those of the sender and the state, after
  // which what was sent and not yet known is sent again by the next poll.
  [[nodiscard]] absl::Status Poll(const std::string& argument, int input);
  // When that is due again: later than now after a poll that was not a dry run. None before its
  // first poll.
  [[nodiscard]] absl::StatusOr<Instant> Due(const std::string& argument);

 private:
  // Something to fetch, and on whose word.
  struct Named {
    std::string url;
    bool only_public = false;
    bool robots = false;
    int depth = 0;  // of indexes above
    bool child = false;
  };
  struct Fetched {
    FetchResult result;
    std::set<std::string> hosts;  // that it may speak for; empty: all
  };

  [[nodiscard]] Named FirstOf(const std::string& argument) const;
  [[nodiscard]] absl::StatusOr<bool> Visit(const Named& named);
  [[nodiscard]] absl::StatusOr<bool> Take(const Named& named, const Fetched& fetched,
                                          DocumentState* document);
  [[nodiscard]] absl::StatusOr<bool> TakeRobots(const Named& named, const Fetched& fetched);
  [[nodiscard]] absl::StatusOr<bool> VisitChildren(const Named& named, const Fetched& fetched,
                                                   std::vector<std::string> children,
                                                   DocumentReport* report);
  [[nodiscard]] absl::Status SendNews(const Named& named, const Fetched& fetched,
                                      DocumentState* document, DocumentReport* report);
  [[nodiscard]] absl::StatusOr<bool> TakeEntry(uint64_t row, const cli::FeedEntry& entry,
                                               Instant now, DocumentReport* report);
  void Fail(const Named& named, std::string why, DocumentReport report = {});
  [[nodiscard]] bool Allowed(const Fetched& fetched, const std::string& url) const;

  const PollerOptions options_;
  PollState& state_;
  Sender& sender_;
  const std::function<Instant()> clock_;
  const std::function<void(const DocumentReport&)> report_;
  std::unique_ptr<Spool> body_;
  int input_ = 0;
  std::set<std::string> visited_;  // by the present poll
};

}  // namespace freshet::sitemap

#endif  // FRESHET_TOOLS_SITEMAP_POLLER_H_
