// What AdminService does with crawl ids and hosts: lists of them, what is set for them, and their
// end.
#ifndef FRESHET_SERVER_API_CRAWLS_AND_HOSTS_H_
#define FRESHET_SERVER_API_CRAWLS_AND_HOSTS_H_

#include <string>

#include "core/base/url.h"
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

// On the thread of the host's shard.
void HostToProto(const HostStatus& host, const ShardView& view, v1::HostState* out);

// Answers for a host on its shard's thread. A host may have settings and no page.
template <typename Call>
void AnswerWithHost(const ServerContext& context, const std::string& host, Call* call) {
  const PushOutcome asked =
      context.router.OwnerOf(SlotOfHost(host)).Read([&context, host, call](const auto& view) {
        const StatusOr<HostStatus> its = view.state.DescribeHost(host, view.now);
        if (!its.ok()) return call->Answer(GrpcStatusOf(its.status()));
        HostToProto(*its, view, call->response()->mutable_host_state());
        call->Answer(grpc::Status::OK);
      });
  if (asked != PushOutcome::kTaken) call->Answer(UnreadStatus(asked));
}

// The methods of AdminService of these names, less the Handle. Each answers the call, now or later.
// Thread-safe.
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
