// AdminService: what operators set and see.
#ifndef FRESHET_SERVER_ADMIN_SERVICE_H_
#define FRESHET_SERVER_ADMIN_SERVICE_H_

#include "freshet/v1/admin.grpc.pb.h"
#include "server/context.h"

namespace freshet {

// Thread-safe.
class AdminService final : public v1::AdminService::CallbackService {
 public:
  explicit AdminService(const ServerContext& context) : context_(context) {}

  grpc::ServerUnaryReactor* GetCrawlRate(grpc::CallbackServerContext* call,
                                         const v1::GetCrawlRateRequest* request,
                                         v1::GetCrawlRateResponse* response) override;
  grpc::ServerUnaryReactor* SetCrawlRate(grpc::CallbackServerContext* call,
                                         const v1::SetCrawlRateRequest* request,
                                         v1::SetCrawlRateResponse* response) override;
  grpc::ServerUnaryReactor* GetPolicy(grpc::CallbackServerContext* call,
                                      const v1::GetPolicyRequest* request,
                                      v1::GetPolicyResponse* response) override;
  grpc::ServerUnaryReactor* SetPolicy(grpc::CallbackServerContext* call,
                                      const v1::SetPolicyRequest* request,
                                      v1::SetPolicyResponse* response) override;
  grpc::ServerUnaryReactor* GetHost(grpc::CallbackServerContext* call,
                                    const v1::GetHostRequest* request,
                                    v1::GetHostResponse* response) override;
  grpc::ServerUnaryReactor* SetHostPoliteness(grpc::CallbackServerContext* call,
                                              const v1::SetHostPolitenessRequest* request,
                                              v1::SetHostPolitenessResponse* response) override;
  grpc::ServerUnaryReactor* Pause(grpc::CallbackServerContext* call,
                                  const v1::PauseRequest* request,
                                  v1::PauseResponse* response) override;
  grpc::ServerUnaryReactor* Resume(grpc::CallbackServerContext* call,
                                   const v1::ResumeRequest* request,
                                   v1::ResumeResponse* response) override;
  grpc::ServerUnaryReactor* RunEpoch(grpc::CallbackServerContext* call,
                                     const v1::RunEpochRequest* request,
                                     v1::RunEpochResponse* response) override;
  grpc::ServerUnaryReactor* CreateCheckpoint(grpc::CallbackServerContext* call,
                                             const v1::CreateCheckpointRequest* request,
                                             v1::CreateCheckpointResponse* response) override;
  grpc::ServerUnaryReactor* GetStatistics(grpc::CallbackServerContext* call,
                                          const v1::GetStatisticsRequest* request,
                                          v1::GetStatisticsResponse* response) override;
  grpc::ServerUnaryReactor* GetTrustReport(grpc::CallbackServerContext* call,
                                           const v1::GetTrustReportRequest* request,
                                           v1::GetTrustReportResponse* response) override;
  grpc::ServerUnaryReactor* RegisterSource(grpc::CallbackServerContext* call,
                                           const v1::RegisterSourceRequest* request,
                                           v1::RegisterSourceResponse* response) override;
  grpc::ServerUnaryReactor* ListSources(grpc::CallbackServerContext* call,
                                        const v1::ListSourcesRequest* request,
                                        v1::ListSourcesResponse* response) override;

 private:
  const ServerContext& context_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_ADMIN_SERVICE_H_
