// AdminService: what operators set and see.
#ifndef FRESHET_SERVER_API_ADMIN_SERVICE_H_
#define FRESHET_SERVER_API_ADMIN_SERVICE_H_

#include "freshet/v1/admin.grpc.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

using AdminServiceBase =
    RawMethods<v1::AdminService::Service, v1::AdminService::WithRawCallbackMethod_GetCrawlRate,
               v1::AdminService::WithRawCallbackMethod_SetCrawlRate,
               v1::AdminService::WithRawCallbackMethod_GetFleet,
               v1::AdminService::WithRawCallbackMethod_GetPolicy,
               v1::AdminService::WithRawCallbackMethod_SetPolicy,
               v1::AdminService::WithRawCallbackMethod_GetHost,
               v1::AdminService::WithRawCallbackMethod_SetHostPoliteness,
               v1::AdminService::WithRawCallbackMethod_GetPolitenessDefaults,
               v1::AdminService::WithRawCallbackMethod_SetPolitenessDefaults,
               v1::AdminService::WithRawCallbackMethod_DrainNode,
               v1::AdminService::WithRawCallbackMethod_Pause,
               v1::AdminService::WithRawCallbackMethod_Resume,
               v1::AdminService::WithRawCallbackMethod_RunEpoch,
               v1::AdminService::WithRawCallbackMethod_CreateCheckpoint,
               v1::AdminService::WithRawCallbackMethod_CompactStore,
               v1::AdminService::WithRawCallbackMethod_GetStatistics,
               v1::AdminService::WithRawCallbackMethod_GetTrustReport,
               v1::AdminService::WithRawCallbackMethod_RegisterSource,
               v1::AdminService::WithRawCallbackMethod_UnregisterSource,
               v1::AdminService::WithRawCallbackMethod_ListSources,
               v1::AdminService::WithRawCallbackMethod_ListCrawls,
               v1::AdminService::WithRawCallbackMethod_SetCrawl,
               v1::AdminService::WithRawCallbackMethod_DeleteCrawl,
               v1::AdminService::WithRawCallbackMethod_ReportShadow,
               v1::AdminService::WithRawCallbackMethod_ListHosts,
               v1::AdminService::WithRawCallbackMethod_DeleteHost,
               v1::AdminService::WithRawCallbackMethod_GetLogLevels,
               v1::AdminService::WithRawCallbackMethod_SetLogLevel,
               v1::AdminService::WithRawCallbackMethod_ListAudit>::Service;

// Thread-safe.
class AdminService final : public AdminServiceBase {
 public:
  explicit AdminService(const ServerContext& context) : context_(context) {}

  grpc::ServerUnaryReactor* GetCrawlRate(grpc::CallbackServerContext*,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* SetCrawlRate(grpc::CallbackServerContext*,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* GetFleet(grpc::CallbackServerContext*, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* GetPolicy(grpc::CallbackServerContext*, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* SetPolicy(grpc::CallbackServerContext*, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* GetHost(grpc::CallbackServerContext*, const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* SetHostPoliteness(grpc::CallbackServerContext*,
                                              const grpc::ByteBuffer* request,
                                              grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* GetPolitenessDefaults(grpc::CallbackServerContext*,
                                                  const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* SetPolitenessDefaults(grpc::CallbackServerContext*,
                                                  const grpc::ByteBuffer* request,
                                                  grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* DrainNode(grpc::CallbackServerContext*, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Pause(grpc::CallbackServerContext*, const grpc::ByteBuffer* request,
                                  grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* Resume(grpc::CallbackServerContext*, const grpc::ByteBuffer* request,
                                   grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* RunEpoch(grpc::CallbackServerContext*, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* CreateCheckpoint(grpc::CallbackServerContext*,
                                             const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* CompactStore(grpc::CallbackServerContext*,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* GetStatistics(grpc::CallbackServerContext*,
                                          const grpc::ByteBuffer* request,
                                          grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* GetTrustReport(grpc::CallbackServerContext*,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* RegisterSource(grpc::CallbackServerContext*,
                                           const grpc::ByteBuffer* request,
                                           grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* UnregisterSource(grpc::CallbackServerContext*,
                                             const grpc::ByteBuffer* request,
                                             grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* ListSources(grpc::CallbackServerContext*,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* ListCrawls(grpc::CallbackServerContext*,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* SetCrawl(grpc::CallbackServerContext*, const grpc::ByteBuffer* request,
                                     grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* DeleteCrawl(grpc::CallbackServerContext*,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* ReportShadow(grpc::CallbackServerContext*,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* ListHosts(grpc::CallbackServerContext*, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* DeleteHost(grpc::CallbackServerContext*,
                                       const grpc::ByteBuffer* request,
                                       grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* GetLogLevels(grpc::CallbackServerContext*,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* SetLogLevel(grpc::CallbackServerContext*,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* ListAudit(grpc::CallbackServerContext*, const grpc::ByteBuffer* request,
                                      grpc::ByteBuffer* reply) override;

 private:
  const ServerContext& context_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_ADMIN_SERVICE_H_
