// A client of the crawl-frontier API that behaves like those of crawlers.
#ifndef FRESHET_TESTS_GRPC_FRONTIER_CLIENT_H_
#define FRESHET_TESTS_GRPC_FRONTIER_CLIENT_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "server/base/system_clock.h"
#include "urlfrontier/urlfrontier.grpc.pb.h"

namespace freshet {

namespace uf = urlfrontier;

// A clock in whole seconds that a test moves. Thread-safe.
class SecondsClock final : public Clock {
 public:
  Instant Now() override { return Instant::FromUnixSeconds(seconds_); }
  void Pass(int64_t seconds) { seconds_ += seconds; }
  [[nodiscard]] uint64_t seconds() const { return static_cast<uint64_t>(seconds_.load()); }

 private:
  std::atomic<int64_t> seconds_{1'700'000'000};
};

inline uf::URLInfo Info(const std::string& url, const std::string& key = "",
                        const std::string& crawl = "") {
  uf::URLInfo info;
  info.set_url(url);
  info.set_key(key);
  info.set_crawlid(crawl);
  return info;
}

inline uf::URLItem Discovered(const std::string& url, const std::string& key = "",
                              const std::string& crawl = "") {
  uf::URLItem item;
  *item.mutable_discovered()->mutable_info() = Info(url, key, crawl);
  return item;
}

inline uf::URLItem KnownUntil(uint64_t date, const std::string& url, const std::string& key = "",
                              const std::string& crawl = "") {
  uf::URLItem item;
  *item.mutable_known()->mutable_info() = Info(url, key, crawl);
  item.mutable_known()->set_refetchable_from_date(date);
  return item;
}

inline uf::GetParams Params(uint32_t per_queue = 0, uint32_t queues = 0, uint32_t lease = 0) {
  uf::GetParams params;
  params.set_max_urls_per_queue(per_queue);
  params.set_max_queues(queues);
  params.set_delay_requestable(lease);
  return params;
}

inline uf::GetParams ParamsIn(const std::string& crawl, uint32_t per_queue = 0, uint32_t queues = 0,
                              uint32_t lease = 0) {
  uf::GetParams params = Params(per_queue, queues, lease);
  params.set_crawlid(crawl);
  return params;
}

// A client whose calls check that their status is OK. Thread-compatible.
class FrontierClient {
 public:
  explicit FrontierClient(const std::shared_ptr<grpc::Channel>& channel)
      : stub(uf::URLFrontier::NewStub(channel)) {}

  // Puts all items on one stream, closes it and returns the outcome of each, by item ID.
  std::map<std::string, std::string> Put(const std::vector<uf::URLItem>& items) {
    grpc::ClientContext call;
    const auto stream = stub->PutURLs(&call);
    std::thread writer([&] {
      for (const uf::URLItem& item : items) EXPECT_TRUE(stream->Write(item));
      stream->WritesDone();
    });
    std::map<std::string, std::string> outcomes;
    uf::AckMessage ack;
    size_t acks = 0;
    while (stream->Read(&ack)) {
      outcomes[ack.id()] = uf::AckMessage::Status_Name(ack.status());
      ++acks;
    }
    writer.join();
    EXPECT_TRUE(stream->Finish().ok());
    EXPECT_EQ(acks, items.size());
    return outcomes;
  }
  std::string Put(const uf::URLItem& item) {
    const auto outcomes = Put(std::vector<uf::URLItem>{item});
    return outcomes.empty() ? "none" : outcomes.begin()->second;
  }
  std::vector<uf::BatchAck> PutBatches(const std::vector<uf::DiscoveredBatch>& batches) {
    grpc::ClientContext call;
    const auto stream = stub->PutDiscovered(&call);
    std::vector<uf::BatchAck> acks;
    for (const uf::DiscoveredBatch& batch : batches) {
      EXPECT_TRUE(stream->Write(batch));
      EXPECT_TRUE(stream->Read(&acks.emplace_back()));
    }
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    return acks;
  }
  std::vector<uf::URLInfo> GetInfos(const uf::GetParams& params) {
    grpc::ClientContext call;
    const auto stream = stub->GetURLs(&call, params);
    std::vector<uf::URLInfo> infos;
    uf::URLInfo info;
    while (stream->Read(&info)) infos.push_back(info);
    const grpc::Status status = stream->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return infos;
  }
  std::vector<std::string> Get(const uf::GetParams& params) {
    std::vector<std::string> urls;
    for (const uf::URLInfo& info : GetInfos(params)) urls.push_back(info.url());
    return urls;
  }
  std::vector<uf::URLItem> List(const uf::ListUrlParams& params) {
    grpc::ClientContext call;
    const auto stream = stub->ListURLs(&call, params);
    std::vector<uf::URLItem> items;
    uf::URLItem item;
    while (stream->Read(&item)) items.push_back(item);
    EXPECT_TRUE(stream->Finish().ok());
    return items;
  }
  uf::Stats Stats(const std::string& crawl = "", const std::string& key = "") {
    uf::QueueWithinCrawlParams params;
    params.set_key(key);
    params.set_crawlid(crawl);
    return Call<uf::Stats>(&uf::URLFrontier::Stub::GetStats, params);
  }
  std::vector<std::string> Queues(const uf::Pagination& page) {
    const auto list = Call<uf::QueueList>(&uf::URLFrontier::Stub::ListQueues, page);
    return {list.values().begin(), list.values().end()};
  }
  std::vector<std::string> Crawls() {
    const auto list = Call<uf::StringList>(&uf::URLFrontier::Stub::ListCrawls, uf::Local());
    return {list.values().begin(), list.values().end()};
  }
  void Block(const std::string& key, uint64_t until, const std::string& crawl = "") {
    uf::BlockQueueParams params;
    params.set_key(key);
    params.set_time(until);
    params.set_crawlid(crawl);
    (void)Call<uf::Empty>(&uf::URLFrontier::Stub::BlockQueueUntil, params);
  }
  void SetDelay(const std::string& key, uint32_t seconds, const std::string& crawl = "") {
    uf::QueueDelayParams params;
    params.set_key(key);
    params.set_delay_requestable(seconds);
    params.set_crawlid(crawl);
    (void)Call<uf::Empty>(&uf::URLFrontier::Stub::SetDelay, params);
  }
  grpc::Status SetLimit(const std::string& key, uint32_t limit, const std::string& crawl = "") {
    uf::CrawlLimitParams params;
    params.set_key(key);
    params.set_limit(limit);
    params.set_crawlid(crawl);
    grpc::ClientContext call;
    uf::Empty empty;
    return stub->SetCrawlLimit(&call, params, &empty);
  }
  void SetActive(bool active) {
    uf::Active params;
    params.set_state(active);
    (void)Call<uf::Empty>(&uf::URLFrontier::Stub::SetActive, params);
  }
  bool IsActive() {
    return Call<uf::Boolean>(&uf::URLFrontier::Stub::GetActive, uf::Local()).state();
  }
  uint64_t DeleteQueue(const std::string& key, const std::string& crawl = "") {
    uf::QueueWithinCrawlParams params;
    params.set_key(key);
    params.set_crawlid(crawl);
    return Call<uf::Long>(&uf::URLFrontier::Stub::DeleteQueue, params).value();
  }
  uint64_t DeleteCrawl(const std::string& crawl) {
    uf::DeleteCrawlMessage params;
    params.set_value(crawl);
    return Call<uf::Long>(&uf::URLFrontier::Stub::DeleteCrawl, params).value();
  }
  uint64_t Count(const uf::CountUrlParams& params) {
    return Call<uf::Long>(&uf::URLFrontier::Stub::CountURLs, params).value();
  }
  uint64_t Purge(uint32_t days, const std::string& key = "", const std::string& crawl = "") {
    uf::PurgeUrlParams params;
    params.set_days(days);
    params.set_key(key);
    params.set_crawlid(crawl);
    return Call<uf::Long>(&uf::URLFrontier::Stub::PurgeURLs, params).value();
  }
  grpc::Status Status(const std::string& url, uf::URLItem* item, const std::string& key = "",
                      const std::string& crawl = "") {
    uf::URLStatusRequest request;
    request.set_url(url);
    request.set_key(key);
    request.set_crawlid(crawl);
    grpc::ClientContext call;
    return stub->GetURLStatus(&call, request, item);
  }

  template <typename Response, typename Request>
  Response Call(grpc::Status (uf::URLFrontier::Stub::*method)(grpc::ClientContext*, const Request&,
                                                              Response*),
                const Request& request) {
    grpc::ClientContext call;
    Response response;
    const grpc::Status status = ((*stub).*method)(&call, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  std::unique_ptr<uf::URLFrontier::Stub> stub;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_GRPC_FRONTIER_CLIENT_H_
