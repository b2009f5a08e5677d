// The methods of AdminService for crawl ids and hosts: lists, settings and deletion.
#ifndef FRESHET_SERVER_API_CRAWLS_AND_HOSTS_H_
#define FRESHET_SERVER_API_CRAWLS_AND_HOSTS_H_

#include <functional>
#include <string>

#include "core/base/url.h"
#include "core/schedule/explanation.h"
#include "core/schedule/host_book.h"
#include "core/schedule/shard_state.h"
#include "freshet/v1/admin.pb.h"
#include "server/api/context.h"
#include "server/api/status.h"
#include "server/api/to_proto.h"
#include "server/api/unary.h"

namespace freshet {

inline grpc::Status StoppingStatus() {
  return {grpc::StatusCode::UNAVAILABLE, "the server is shutting down"};
}

// Writes the state of a host. Called on the thread of the host's shard; `view` shows this shard.
void HostToProto(const HostStatus& host, const ShardView& view, v1::HostState* out);

// Answers with the state of a host, on the thread of the host's shard. A host can have settings
// without having pages.
template <typename Call>
void AnswerWithHost(const ServerContext& context, const std::string& host, Call* call) {
  const auto describe = [&context, host, call](const ShardView& view) {
    const StatusOr<HostStatus> its = view.state.hosts().Describe(host, view.now);
    if (!its.ok()) return call->Answer(GrpcStatusOf(its.status()));
    HostToProto(*its, view, call->response()->mutable_host_state());
    call->Answer(grpc::Status::OK);
  };
  const PushOutcome asked =
      context.router.OwnerOf(SlotOfHost(host)).Read(describe, call->caller().claim().client);
  if (asked != PushOutcome::kTaken) call->Answer(UnreadStatus(asked));
}

// If the call is audited, records the state of the host before the call. Then calls `next`: on the
// caller's thread, or on the thread of the host's shard.
template <typename Call>
void ReadHostBefore(const ServerContext& context, const std::string& host, Call* call,
                    std::function<void()> next) {
  if (!call->audited()) return next();
  const auto read = [host, call, next](const auto& view) {
    const StatusOr<HostStatus> its = view.state.hosts().Describe(host, view.now);
    if (its.ok()) {
      call->SetBefore([&] {
        v1::HostState before;
        HostToProto(*its, view, &before);
        return before;
      });
    }
    next();
  };
  // If the shard is too busy for another read, the audit entry lacks the state before the call.
  const PushOutcome asked =
      context.router.OwnerOf(SlotOfHost(host)).Read(read, call->caller().claim().client);
  if (asked != PushOutcome::kTaken) next();
}

// Makes pages and URLs of a crawl id follow its new settings, which are already stored.
// Thread-safe.
void FollowCrawl(const ServerContext& context, const CrawlRecord& before,
                 const CrawlRecord& record);

// The methods of AdminService with these names, without "Handle". Each answers the call, at once or
// later. Thread-safe.
void HandleListCrawls(const ServerContext& context,
                      UnaryCall<v1::ListCrawlsRequest, v1::ListCrawlsResponse>* call);
void HandleSetCrawl(const ServerContext& context,
                    UnaryCall<v1::SetCrawlRequest, v1::SetCrawlResponse>* call);
void HandleDeleteCrawl(const ServerContext& context,
                       UnaryCall<v1::DeleteCrawlRequest, v1::DeleteCrawlResponse>* call);
void HandleListHosts(const ServerContext& context,
                     UnaryCall<v1::ListHostsRequest, v1::ListHostsResponse>* call);
void HandleDeleteHost(const ServerContext& context,
                      UnaryCall<v1::DeleteHostRequest, v1::DeleteHostResponse>* call);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CRAWLS_AND_HOSTS_H_
