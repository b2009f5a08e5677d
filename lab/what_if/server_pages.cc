#include "lab/what_if/server_pages.h"

#include <algorithm>
#include <memory>

#include "core/model/crawl_value.h"
#include "core/model/page.h"
#include "freshet/v1/admin.grpc.pb.h"
#include "freshet/v1/pages.grpc.pb.h"
#include "tools/cli/table.h"

namespace freshet {
namespace {

// Turns an error of the server into a status of one of two codes: Unavailable, or
// FailedPrecondition for all other errors.
Status ServerFailure(const std::string& server, const grpc::Status& status) {
  const bool away = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                    status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
  return MakeStatus(away ? absl::StatusCode::kUnavailable : absl::StatusCode::kFailedPrecondition,
                    "{}: {}", server, cli::ShowText(status.error_message()));
}

bool IsGone(const v1::Page& page) {
  return page.last_outcome() == v1::CRAWL_OUTCOME_GONE ||
         page.last_outcome() == v1::CRAWL_OUTCOME_MOVED;
}

WhatIfPage PageOf(const v1::PageRecord& record) {
  const v1::PageEstimates& estimates = record.estimates();
  WhatIfPage page;
  page.low = estimates.change_rate_per_day().low();
  page.high = estimates.change_rate_per_day().high();
  PageRates rates;
  rates.change_rate = estimates.change_rate_per_day().value();
  rates.unsignalled_rate = estimates.unsignalled_rate_per_day();
  rates.signal_rate = estimates.signal_rate_per_day();
  page.rates = PaperFromRates(record.page().importance(), rates, record.page().complete_signals());
  return page;
}

Status ExportSample(cli::Session& session, uint64_t limit, PageSample* sample) {
  const auto stub = v1::PagesService::NewStub(session.channel());
  v1::ExportPagesRequest request;
  request.set_limit(limit);
  cli::Progress progress(session.progress_style(), "pages");
  grpc::ClientContext context;
  const auto stream = stub->ExportPages(&context, request);
  v1::ExportPagesResponse part;
  // Stops at the limit, because a faulty server could send more than requested without end.
  uint64_t left = limit;
  while (left > 0 && stream->Read(&part)) {
    const uint64_t used = std::min(left, static_cast<uint64_t>(part.pages_size()));
    for (int i = 0; i < static_cast<int>(used); ++i) {
      const v1::PageRecord& record = part.pages(i);
      if (!IsGone(record.page())) sample->Add(PageOf(record));
    }
    left -= used;
    progress.Add(used);
  }
  if (left == 0) context.TryCancel();
  const grpc::Status status = stream->Finish();
  if (left == 0) return {};
  if (!status.ok()) return ServerFailure(session.settings().server, status);
  return {};
}

}  // namespace

StatusOr<ServerPages> ReadServerPages(cli::Session& session, uint64_t limit, PageSample* sample) {
  RETURN_IF_ERROR(session.Connect());
  const auto admin = v1::AdminService::NewStub(session.channel());
  v1::GetStatisticsResponse statistics;
  const grpc::Status status =
      cli::Call(session, &v1::AdminService::Stub::GetStatistics, *admin, {}, &statistics);
  if (!status.ok()) return ServerFailure(session.settings().server, status);
  RETURN_IF_ERROR(ExportSample(session, limit, sample));
  const v1::PageStatistics& pages = statistics.pages();
  const uint64_t alive = pages.pages() - std::min(pages.pages(), pages.gone_pages());
  return ServerPages{.all_pages = std::max(alive, sample->seen()),
                     .crawls_per_day = statistics.schedule().crawl_rate_per_second() * 86400};
}

}  // namespace freshet
