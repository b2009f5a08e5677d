// The crawl-frontier API, urlfrontier.URLFrontier, over the frontier of the server
// (docs/urlfrontier.md).
#ifndef FRESHET_SERVER_API_URLFRONTIER_SERVICE_H_
#define FRESHET_SERVER_API_URLFRONTIER_SERVICE_H_

#include <string>

#include "server/api/context.h"
#include "server/api/unary.h"
#include "urlfrontier/urlfrontier.grpc.pb.h"

namespace freshet {

using UrlFrontierBase = urlfrontier::URLFrontier;
using UrlFrontierServiceBase =
    RawMethods<UrlFrontierBase::Service, UrlFrontierBase::WithRawCallbackMethod_ListNodes,
               UrlFrontierBase::WithRawCallbackMethod_ListCrawls,
               UrlFrontierBase::WithRawCallbackMethod_DeleteCrawl,
               UrlFrontierBase::WithRawCallbackMethod_ListQueues,
               UrlFrontierBase::WithRawCallbackMethod_GetURLs,
               UrlFrontierBase::WithRawCallbackMethod_PutURLs,
               UrlFrontierBase::WithRawCallbackMethod_PutDiscovered,
               UrlFrontierBase::WithRawCallbackMethod_GetStats,
               UrlFrontierBase::WithRawCallbackMethod_DeleteQueue,
               UrlFrontierBase::WithRawCallbackMethod_BlockQueueUntil,
               UrlFrontierBase::WithRawCallbackMethod_SetActive,
               UrlFrontierBase::WithRawCallbackMethod_GetActive,
               UrlFrontierBase::WithRawCallbackMethod_SetDelay,
               UrlFrontierBase::WithRawCallbackMethod_SetLogLevel,
               UrlFrontierBase::WithRawCallbackMethod_SetCrawlLimit,
               UrlFrontierBase::WithRawCallbackMethod_GetURLStatus,
               UrlFrontierBase::WithRawCallbackMethod_ListURLs,
               UrlFrontierBase::WithRawCallbackMethod_CountURLs,
               UrlFrontierBase::WithRawCallbackMethod_PurgeURLs>::Service;

// Thread-safe. `context` has a frontier.
class UrlFrontierService final : public UrlFrontierServiceBase {
 public:
  explicit UrlFrontierService(const ServerContext& context) : context_(context) {}

  using Bytes = grpc::ByteBuffer;
  using Call = grpc::CallbackServerContext;
  using Unary = grpc::ServerUnaryReactor;
  using Writer = grpc::ServerWriteReactor<Bytes>;
  using Stream = grpc::ServerBidiReactor<Bytes, Bytes>;

  Unary* ListNodes(Call*, const Bytes* request, Bytes* reply) override;
  Unary* ListCrawls(Call*, const Bytes* request, Bytes* reply) override;
  Unary* DeleteCrawl(Call*, const Bytes* request, Bytes* reply) override;
  Unary* ListQueues(Call*, const Bytes* request, Bytes* reply) override;
  Writer* GetURLs(Call*, const Bytes* request) override;
  Stream* PutURLs(Call* call) override;
  Stream* PutDiscovered(Call* call) override;
  Unary* GetStats(Call*, const Bytes* request, Bytes* reply) override;
  Unary* DeleteQueue(Call*, const Bytes* request, Bytes* reply) override;
  Unary* BlockQueueUntil(Call*, const Bytes* request, Bytes* reply) override;
  Unary* SetActive(Call*, const Bytes* request, Bytes* reply) override;
  Unary* GetActive(Call*, const Bytes* request, Bytes* reply) override;
  Unary* SetDelay(Call*, const Bytes* request, Bytes* reply) override;
  Unary* SetLogLevel(Call*, const Bytes* request, Bytes* reply) override;
  Unary* SetCrawlLimit(Call*, const Bytes* request, Bytes* reply) override;
  Unary* GetURLStatus(Call*, const Bytes* request, Bytes* reply) override;
  Writer* ListURLs(Call* call, const Bytes* request) override;
  Unary* CountURLs(Call*, const Bytes* request, Bytes* reply) override;
  Unary* PurgeURLs(Call*, const Bytes* request, Bytes* reply) override;

 private:
  const ServerContext& context_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_URLFRONTIER_SERVICE_H_
