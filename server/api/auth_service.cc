#include "server/api/auth_service.h"

#include <algorithm>
#include <string>

#include "server/auth/authoriser.h"
#include "server/auth/identities.h"
#include "server/auth/methods.h"

namespace freshet {
namespace {

constexpr std::string_view kHttp = "http:";

// Turns "/freshet.v1.PagesService/GetPage" into "freshet.v1.PagesService.GetPage".
std::string FullName(std::string_view path) {
  std::string name(path.substr(1));
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

void WhoAmI(const ServerContext& context, UnaryCall<v1::WhoAmIRequest, v1::WhoAmIResponse>* call) {
  v1::WhoAmIResponse& response = *call->response();
  for (const MethodRule& rule : AllMethods()) {
    if (rule.path.starts_with(kHttp) || rule.between_servers) continue;
    if (!context.authoriser.Check(rule, call->credentials()).ok()) continue;
    response.add_methods(FullName(rule.path));
  }
  std::sort(response.mutable_methods()->begin(), response.mutable_methods()->end());
  const std::shared_ptr<const Identity>& identity = call->caller().identity();
  Roles roles = kAnyRole;
  if (identity != nullptr) {
    response.set_identity(identity->name);
    roles = identity->roles;
    const auto tell = [](const auto& limit, auto* out) {
      if (limit) out->Assign(limit->begin(), limit->end());
    };
    tell(identity->crawl_ids, response.mutable_crawl_ids());
    tell(identity->hosts, response.mutable_hosts());
    tell(identity->sources, response.mutable_sources());
    if (identity->items_per_second) response.set_items_per_second(*identity->items_per_second);
  }
  for (const Roles role : {kWorker, kIngester, kReader, kAdmin}) {
    if ((roles & role) != 0) response.add_roles(RoleNames(role));
  }
  call->Answer(grpc::Status::OK);
}

}  // namespace

std::vector<CallMethod> AuthMethods(const ServerContext& context) {
  return {
      Paid("/freshet.v1.AuthService/WhoAmI", context, freshet::WhoAmI),
  };
}

}  // namespace freshet
