// Sends new pages and changes from sitemaps to a server, or prints them.
#ifndef FRESHET_TOOLS_CLI_SITEMAP_SENDER_H_
#define FRESHET_TOOLS_CLI_SITEMAP_SENDER_H_

#include <memory>
#include <string>

#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "tools/cli/poll.h"
#include "tools/cli/session.h"
#include "tools/sitemap/poller.h"

namespace freshet::cli {

// The maximum number of refusals of one document that are printed. Further ones are counted.
inline constexpr uint64_t kMaxNamedRefusals = 10;

// Options for all entries that a sender sends.
struct NewsOptions {
  std::string source = "sitemap";
  std::string crawl_id;
  bool priority = false;  // sends the priority as importance
};

// Returns the importance of a page, given the priority that a sitemap gives it among the pages of
// its site. The default priority 0.5 becomes 1, like pages of unknown importance. The minimum is
// 0.1, because a page below the others is not worthless.
[[nodiscard]] double ImportanceOf(double priority);

// Returns the signal for an entry with a date, with `changed` as the time of the change. Its id
// depends only on the date of the entry, so the server recognizes a repeated signal.
[[nodiscard]] v1::ChangeSignal SignalOf(const sitemap::FeedEntry& entry, Instant changed,
                                        const std::string& source, const std::string& crawl_id);

// Sends the new pages and changes of a document. Pages and signals have separate streams, which are
// opened when first needed. Owner thread only.
class NewsSender : public sitemap::Sender {
 public:
  // The session must be connected, and must outlive the sender. `signals`: the number of signals in
  // the document.
  NewsSender(Session& session, NewsOptions options, uint64_t signals);
  ~NewsSender() override;

  bool SendPage(uint64_t row, const sitemap::FeedEntry& entry) override;
  bool SendSignal(uint64_t row, const sitemap::FeedEntry& entry, Instant changed) override;
  // Unavailable: the server cannot be reached. Internal: the server ended a stream; the message
  // gives its reason.
  [[nodiscard]] absl::StatusOr<sitemap::Receipt> Settle() override;

 private:
  using PageUploader = Uploader<v1::UpsertPagesRequest, v1::UpsertPagesResponse>;
  template <typename AnyUploader>
  struct Upload;

  void Book(uint64_t row, const std::string& name, const v1::ItemError& error);
  template <typename AnyUploader>
  [[nodiscard]] absl::Status Settle(std::unique_ptr<Upload<AnyUploader>>* upload) const;

  Session& session_;
  const NewsOptions options_;
  const uint64_t signals_;
  const std::unique_ptr<v1::PagesService::Stub> pages_;
  const std::unique_ptr<v1::IngestService::Stub> ingest_;
  std::unique_ptr<Upload<PageUploader>> page_upload_;
  std::unique_ptr<Upload<SignalUploader>> signal_upload_;
  Batch<v1::UpsertPagesRequest> page_batch_;
  std::unique_ptr<Poll> poll_;
  Mutex mutex_;
  sitemap::Receipt receipt_ FRESHET_GUARDED_BY(mutex_);
  uint64_t named_ FRESHET_GUARDED_BY(mutex_) = 0;  // refusals printed so far
};

// Prints the new pages and changes, one to a line, and sends nothing. Owner thread only.
class NewsPrinter : public sitemap::Sender {
 public:
  NewsPrinter(const Session& session, NewsOptions options);
  bool SendPage(uint64_t row, const sitemap::FeedEntry& entry) override;
  bool SendSignal(uint64_t row, const sitemap::FeedEntry& entry, Instant changed) override;
  [[nodiscard]] absl::StatusOr<sitemap::Receipt> Settle() override;

 private:
  const Session& session_;
  const NewsOptions options_;
};

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_SITEMAP_SENDER_H_
