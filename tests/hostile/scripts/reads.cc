// Clients that request long lists and read only a little of them, and clients that look up pages as
// fast as the server answers.
#include <thread>
#include <vector>

#include "freshet/v1/admin.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "tests/hostile/scripts.h"

namespace freshet::hostile {
namespace {

void Export(Attack& attack, v1::PagesService::Stub& pages) {
  const auto call = attack.Call();
  v1::ExportPagesRequest request;
  if (attack.OneIn(3)) request.set_page_token(attack.Bytes(100));
  if (attack.OneIn(3)) request.mutable_filter()->set_url_prefix(attack.AnyUrl());
  const auto stream = pages.ExportPages(call.get(), request);
  v1::ExportPagesResponse response;
  for (uint64_t messages = attack.Below(3); messages > 0 && stream->Read(&response); --messages) {
  }
  call->TryCancel();
  (void)stream->Finish();
}

void List(Attack& attack, v1::PagesService::Stub& pages) {
  const auto call = attack.Call();
  v1::ListPagesRequest request;
  if (attack.OneIn(2)) request.mutable_filter()->set_host(attack.OddText());
  if (attack.OneIn(2)) request.set_limit(attack.Below(3000));
  const auto stream = pages.ListPages(call.get(), request);
  v1::ListPagesResponse response;
  while (stream->Read(&response) && !attack.OneIn(3)) {
  }
  call->TryCancel();
  (void)stream->Finish();
}

void Read(Attack attack) {
  const auto channel = attack.Connect();
  const auto pages = v1::PagesService::NewStub(channel);
  const auto admin = v1::AdminService::NewStub(channel);
  while (!attack.Over()) {
    if (attack.OneIn(10)) {
      Export(attack, *pages);
    } else if (attack.OneIn(10)) {
      List(attack, *pages);
    } else if (attack.OneIn(10)) {
      const auto call = attack.Call();
      v1::GetStatisticsResponse response;
      (void)admin->GetStatistics(call.get(), {}, &response);
    } else {
      const auto call = attack.Call();
      v1::GetPageRequest request;
      request.set_url(attack.AnyUrl());
      v1::GetPageResponse response;
      (void)pages->GetPage(call.get(), request, &response);
    }
  }
}

}  // namespace

void Reads(Attack& attack) {
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) readers.emplace_back(Read, attack.Split());
  for (std::thread& reader : readers) reader.join();
}

}  // namespace freshet::hostile
