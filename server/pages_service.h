// PagesService: the set of pages, and why each is or is not crawled.
#ifndef FRESHET_SERVER_PAGES_SERVICE_H_
#define FRESHET_SERVER_PAGES_SERVICE_H_

#include "freshet/v1/pages.grpc.pb.h"
#include "server/context.h"

namespace freshet {

using PagesServiceBase = v1::PagesService::WithRawCallbackMethod_UpsertPages<
    v1::PagesService::WithCallbackMethod_RemovePages<v1::PagesService::WithCallbackMethod_GetPage<
        v1::PagesService::WithCallbackMethod_RecheckPages<
            v1::PagesService::WithCallbackMethod_ListPages<
                v1::PagesService::WithCallbackMethod_ExportPages<v1::PagesService::Service>>>>>>;

// Thread-safe.
class PagesService final : public PagesServiceBase {
 public:
  explicit PagesService(const ServerContext& context) : context_(context) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* UpsertPages(
      grpc::CallbackServerContext* call) override;
  grpc::ServerUnaryReactor* RemovePages(grpc::CallbackServerContext* call,
                                        const v1::RemovePagesRequest* request,
                                        v1::RemovePagesResponse* response) override;
  grpc::ServerUnaryReactor* RecheckPages(grpc::CallbackServerContext* call,
                                         const v1::RecheckPagesRequest* request,
                                         v1::RecheckPagesResponse* response) override;
  grpc::ServerUnaryReactor* GetPage(grpc::CallbackServerContext* call,
                                    const v1::GetPageRequest* request,
                                    v1::GetPageResponse* response) override;
  grpc::ServerWriteReactor<v1::ListPagesResponse>* ListPages(
      grpc::CallbackServerContext* call, const v1::ListPagesRequest* request) override;
  grpc::ServerWriteReactor<v1::ExportPagesResponse>* ExportPages(
      grpc::CallbackServerContext* call, const v1::ExportPagesRequest* request) override;

 private:
  const ServerContext& context_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_PAGES_SERVICE_H_
