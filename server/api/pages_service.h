// PagesService: the set of pages, and why each is or is not crawled.
#ifndef FRESHET_SERVER_API_PAGES_SERVICE_H_
#define FRESHET_SERVER_API_PAGES_SERVICE_H_

#include "freshet/v1/pages.grpc.pb.h"
#include "server/api/context.h"
#include "server/api/unary.h"

namespace freshet {

using PagesServiceBase =
    RawMethods<v1::PagesService::Service, v1::PagesService::WithRawCallbackMethod_UpsertPages,
               v1::PagesService::WithRawCallbackMethod_RemovePages,
               v1::PagesService::WithRawCallbackMethod_GetPage,
               v1::PagesService::WithRawCallbackMethod_RecheckPages,
               v1::PagesService::WithRawCallbackMethod_ListPages,
               v1::PagesService::WithRawCallbackMethod_ExportPages>::Service;

// Thread-safe.
class PagesService final : public PagesServiceBase {
 public:
  explicit PagesService(const ServerContext& context) : context_(context) {}

  grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* UpsertPages(
      grpc::CallbackServerContext* call) override;
  grpc::ServerUnaryReactor* RemovePages(grpc::CallbackServerContext*,
                                        const grpc::ByteBuffer* request,
                                        grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* RecheckPages(grpc::CallbackServerContext*,
                                         const grpc::ByteBuffer* request,
                                         grpc::ByteBuffer* reply) override;
  grpc::ServerUnaryReactor* GetPage(grpc::CallbackServerContext*, const grpc::ByteBuffer* request,
                                    grpc::ByteBuffer* reply) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* ListPages(grpc::CallbackServerContext*,
                                                        const grpc::ByteBuffer* request) override;
  grpc::ServerWriteReactor<grpc::ByteBuffer>* ExportPages(grpc::CallbackServerContext*,
                                                          const grpc::ByteBuffer* request) override;

 private:
  const ServerContext& context_;
};

}  // namespace freshet

#endif  // FRESHET_SERVER_API_PAGES_SERVICE_H_
