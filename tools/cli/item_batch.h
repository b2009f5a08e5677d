// Batches of items, for every type of request.
#ifndef FRESHET_TOOLS_CLI_ITEM_BATCH_H_
#define FRESHET_TOOLS_CLI_ITEM_BATCH_H_

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "freshet/v1/ingest.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"

namespace freshet::cli {

// The maximum number of items in a message. It is the limit of the server. Batches of
// kMaxBatchBytes stay far below the server's limit on bytes.
inline constexpr int kMaxBatchItems = 1000;
inline constexpr size_t kMaxBatchBytes = 4 << 20;
// The maximum number of batches in flight. Together with kMaxBatchBytes it bounds the memory used.
inline constexpr size_t kMaxBatchesInFlight = 16;
// The maximum number of times that an item is sent while the server is too busy. After the last
// attempt, the item counts as refused.
inline constexpr int kMaxAttempts = 10;

// Items returns the repeated field of a request. NameOf returns the name of an item for messages.
inline auto* Items(v1::UpsertPagesRequest& request) { return request.mutable_pages(); }
inline auto* Items(v1::ReportCrawlsRequest& request) { return request.mutable_results(); }
inline auto* Items(v1::SignalChangesRequest& request) { return request.mutable_signals(); }
inline auto* Items(v1::RemovePagesRequest& request) { return request.mutable_urls(); }
inline auto* Items(v1::RecheckPagesRequest& request) { return request.mutable_urls(); }
inline std::string NameOf(const std::string& url) { return url; }
inline std::string NameOf(const v1::PageSpec& page) { return page.url(); }
inline std::string NameOf(const v1::ChangeSignal& signal) { return signal.url(); }
inline std::string NameOf(const v1::CrawlResult& result) {
  return result.url().empty() ? fmt::format("lease {}", result.lease_id()) : result.url();
}

// Returns a copy of the request without its items.
template <typename Request>
Request WithoutItems(Request& request) {
  Request rest;
  auto* items = Items(request);
  auto kept = std::move(*items);
  items->Clear();
  rest = request;
  *Items(request) = std::move(kept);
  return rest;
}
// Also sets the size of the whole poll, so that a part of a poll does not look like a smaller poll.
inline v1::SignalChangesRequest WithoutItems(v1::SignalChangesRequest& request) {
  v1::SignalChangesRequest rest;
  rest.set_poll_size(request.has_poll_size() ? request.poll_size()
                                             : static_cast<uint64_t>(request.signals_size()));
  rest.set_poll_id(request.poll_id());
  return rest;
}

// One message, and the row number of each of its items.
template <typename Request>
struct Batch {
  Request request;
  std::vector<uint64_t> rows;
  size_t bytes = 0;
  int attempt = 1;

  [[nodiscard]] bool Full() const {
    return rows.size() >= static_cast<size_t>(kMaxBatchItems) || bytes >= kMaxBatchBytes;
  }
};

}  // namespace freshet::cli

#endif  // FRESHET_TOOLS_CLI_ITEM_BATCH_H_
