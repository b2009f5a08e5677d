// Takes the news of sitemaps to a server, or shows them.
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

// Refusals of one document that are named; the others are counted.
inline constexpr uint64_t kMaxNamedRefusals = 10;

// What is sent beside what the entries say.
struct NewsOptions {
  std::string source = "sitemap";
  std::string crawl_id;
  bool priority = false;  // as importance
};

// Importance by what a sitemap says of a page among the others of its site: 0.5, which pages have
// that say nothing, is 1, like pages of unknown importance; at least 0.1, as nothing is worth
// nothing because it is worth less than others.
[[nodiscard]] double ImportanceOf(double priority);

// What is signalled of an entry that has a date, as changed at this instant. The same claim,
// however often and wherever it is made, has the same id.
[[nodiscard]] v1::ChangeSignal SignalOf(const sitemap::FeedEntry& entry, Instant changed,
                                        const std::string& source, const std::string& crawl_id);

// Sends the news of a document: pages and signals on a stream each, which it opens when it needs
// it. Owner thread only.
class NewsSender : public sitemap::Sender {
 public:
  // The session is connected, and outlives the sender. The document has so many signals.
  NewsSender(Session& session, NewsOptions options, uint64_t signals);
  ~NewsSender() override;

  bool SendPage(uint64_t row, const sitemap::FeedEntry& entry) override;
  bool SendSignal(uint64_t row, const sitemap::FeedEntry& entry, Instant changed) override;
  // Unavailable when the server cannot be reached, Internal with its reason when it ends a stream.
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
  uint64_t named_ FRESHET_GUARDED_BY(mutex_) = 0;  // refusals
};

// Prints what would be sent, one a line, and sends nothing. Owner thread only.
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
