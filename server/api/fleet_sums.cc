#include "server/api/fleet_sums.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/check.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/time_util.h"
#include "server/api/divisions.h"
#include "server/api/figure.h"
#include "server/api/over_divisions.h"
#include "server/api/wire.h"

namespace freshet {
namespace {

using google::protobuf::Message;
using google::protobuf::util::TimeUtil;

// Adds up the counters of two messages. All whole numbers in these messages are counters.
void AddCounters(const google::protobuf::Message& theirs, google::protobuf::Message* sum) {
  using google::protobuf::FieldDescriptor;
  for (int i = 0; i < sum->GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor* field = sum->GetDescriptor()->field(i);
    const bool counter = field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64 ||
                         field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32;
    if (counter) MergeField(field, Merge::kUsual, theirs, sum);
  }
}

// The mean of all values, from the means `a` and `b` of two parts and the weights of the parts.
double Mean(double a, double of_a, double b, double of_b) {
  const double of = of_a + of_b;
  return of > 0 ? (a * of_a + b * of_b) / of : 0;
}

double LivePages(const v1::PageStatistics& pages) {
  return static_cast<double>(pages.pages() - std::min(pages.pages(), pages.gone_pages()));
}

// Merges figures that cannot be added: means, and the last epoch.
void MergePages(const v1::PageStatistics& theirs, v1::PageStatistics* sum) {
  sum->set_believed_freshness(Mean(sum->believed_freshness(), LivePages(*sum),
                                   theirs.believed_freshness(), LivePages(theirs)));
  sum->set_weighted_believed_freshness(Mean(sum->weighted_believed_freshness(), sum->importance(),
                                            theirs.weighted_believed_freshness(),
                                            theirs.importance()));
  // The sum shows the epoch of the division that is furthest behind: a division without a known
  // epoch, or else the one whose last epoch is oldest.
  const bool behind =
      sum->has_last_epoch_time() && (!theirs.has_last_epoch_time() ||
                                     TimeUtil::TimestampToMicroseconds(theirs.last_epoch_time()) <
                                         TimeUtil::TimestampToMicroseconds(sum->last_epoch_time()));
  if (!behind) return;
  sum->set_epoch(theirs.epoch());
  sum->clear_last_epoch_time();
  sum->clear_last_epoch_duration();
  if (theirs.has_last_epoch_time()) *sum->mutable_last_epoch_time() = theirs.last_epoch_time();
  if (theirs.has_last_epoch_duration()) {
    *sum->mutable_last_epoch_duration() = theirs.last_epoch_duration();
  }
}

// An empty sum becomes a copy of the other division's row, including the settings.
void AddCrawl(const v1::Crawl& theirs, v1::Crawl* sum) {
  if (sum->crawl_id().empty()) {
    *sum = theirs;
    return;
  }
  sum->set_deleting(sum->deleting() || theirs.deleting());
  AddCounters(theirs, sum);
}

void AddSource(const v1::Source& theirs, v1::Source* sum) {
  sum->set_source(theirs.source());
  sum->set_signals(sum->signals() + theirs.signals());
}

template <typename Rows>
void SortByDivision(Rows* rows) {
  std::sort(rows->begin(), rows->end(),
            [](const auto& a, const auto& b) { return a.division() < b.division(); });
}

// Adds the rows of another division, and sorts all rows by division.
template <typename Response>
void AddDivisions(const Response& theirs, Response* sum) {
  sum->mutable_divisions()->MergeFrom(theirs.divisions());
  SortByDivision(sum->mutable_divisions());
}

// Orders hosts like IsWorse, but compares sources by name.
auto StandingOf(const v1::HostTrust& trust) {
  return std::tuple(!trust.has_quarantined_since(), trust.precision().high(),
                    std::tie(trust.host(), trust.source()));
}

}  // namespace

void AddAnswer(const v1::GetStatisticsRequest& /*request*/, const v1::GetStatisticsResponse& theirs,
               v1::GetStatisticsResponse* sum) {
  MergePages(theirs.pages(), sum->mutable_pages());
  MergeFigures(theirs, sum);
}

void AddAnswer(const v1::GetTrustReportRequest& request, const v1::GetTrustReportResponse& theirs,
               v1::GetTrustReportResponse* sum) {
  std::map<std::pair<std::string, v1::BurstClass>, v1::SourceTrust> sources;
  for (const auto* report : {&theirs, const_cast<const v1::GetTrustReportResponse*>(sum)}) {
    for (const v1::SourceTrust& trust : report->sources()) {
      v1::SourceTrust& best = sources[{trust.source(), trust.burst_class()}];
      if (best.source().empty() || trust.signals() > best.signals()) best = trust;
    }
  }
  sum->clear_sources();
  for (auto& [key, trust] : sources) *sum->add_sources() = std::move(trust);

  sum->mutable_hosts()->MergeFrom(theirs.hosts());
  std::sort(sum->mutable_hosts()->begin(), sum->mutable_hosts()->end(),
            [](const auto& a, const auto& b) { return StandingOf(a) < StandingOf(b); });
  const auto most = static_cast<int>(request.has_limit() ? request.limit() : kUsualRows);
  if (sum->hosts_size() > most) {
    sum->mutable_hosts()->DeleteSubrange(most, sum->hosts_size() - most);
  }
}

void AddAnswer(const v1::ListSourcesRequest& /*request*/, const v1::ListSourcesResponse& theirs,
               v1::ListSourcesResponse* sum) {
  std::map<std::string, v1::Source> all;
  for (const v1::Source& source : sum->sources()) AddSource(source, &all[source.source()]);
  for (const v1::Source& source : theirs.sources()) AddSource(source, &all[source.source()]);
  sum->clear_sources();
  for (auto& [name, source] : all) *sum->add_sources() = std::move(source);
}

void AddAnswer(const v1::ListCrawlsRequest& request, const v1::ListCrawlsResponse& theirs,
               v1::ListCrawlsResponse* sum) {
  const size_t limit = request.has_page_size() ? request.page_size() : kUsualRows;
  std::map<std::string, v1::Crawl> all;
  for (const v1::Crawl& crawl : sum->crawls()) AddCrawl(crawl, &all[crawl.crawl_id()]);
  for (const v1::Crawl& crawl : theirs.crawls()) AddCrawl(crawl, &all[crawl.crawl_id()]);
  const bool more =
      !sum->next_page_token().empty() || !theirs.next_page_token().empty() || all.size() > limit;
  sum->clear_crawls();
  for (auto& [name, crawl] : all) {
    if (static_cast<size_t>(sum->crawls_size()) == limit) break;
    *sum->add_crawls() = std::move(crawl);
  }
  // The token is the last crawl id shown, like the token of each division.
  sum->clear_next_page_token();
  if (more && !sum->crawls().empty()) {
    sum->set_next_page_token(sum->crawls(sum->crawls_size() - 1).crawl_id());
  }
}

void AddAnswer(const v1::RunEpochRequest& /*request*/, const v1::RunEpochResponse& theirs,
               v1::RunEpochResponse* sum) {
  sum->set_epoch(std::max(sum->epoch(), theirs.epoch()));
  sum->set_pages(sum->pages() + theirs.pages());
  if (TimeUtil::DurationToMicroseconds(theirs.duration()) >
      TimeUtil::DurationToMicroseconds(sum->duration())) {
    *sum->mutable_duration() = theirs.duration();
  }
}

void AddAnswer(const v1::UnregisterSourceRequest& /*request*/,
               const v1::UnregisterSourceResponse& theirs, v1::UnregisterSourceResponse* sum) {
  AddSource(theirs.source(), sum->mutable_source());
}

void AddAnswer(const v1::DeleteCrawlRequest& /*request*/, const v1::DeleteCrawlResponse& theirs,
               v1::DeleteCrawlResponse* sum) {
  AddCrawl(theirs.crawl(), sum->mutable_crawl());
}

void AddAnswer(const v1::GetFleetRequest& /*request*/, const v1::GetFleetResponse& theirs,
               v1::GetFleetResponse* sum) {
  AddDivisions(theirs, sum);
}

void AddAnswer(const v1::DrainNodeRequest& /*request*/, const v1::DrainNodeResponse& theirs,
               v1::DrainNodeResponse* sum) {
  AddDivisions(theirs, sum);
}

void AddUnanswered(uint32_t division, const Status& why, Message* sum) {
  v1::UnansweredDivision unanswered;
  ToProto(division, why, &unanswered);
  if (auto* fleet = dynamic_cast<v1::GetFleetResponse*>(sum)) {
    v1::FleetDivision& row = *fleet->add_divisions();
    row.set_division(division);
    row.set_unanswered(unanswered.reason());
    return SortByDivision(fleet->mutable_divisions());
  }
  const auto* field = sum->GetDescriptor()->FindFieldByName("unanswered");
  CHECK(field != nullptr, "{} tells of nobody", sum->GetDescriptor()->full_name());
  sum->GetReflection()->AddMessage(sum, field)->CopyFrom(unanswered);
}

std::optional<Listing> ListingOf(Message* done) {
  if (auto* set = dynamic_cast<v1::RegisterSourceResponse*>(done)) {
    return Listing{.path = "/freshet.v1.AdminService/ListSources",
                   .request = SerialiseMessage(v1::ListSourcesRequest()),
                   .add = [set](const StatusOr<grpc::ByteBuffer>& answer) {
                     const auto theirs = ResponseIn<v1::ListSourcesResponse>(answer);
                     if (!theirs.ok()) return;
                     for (const v1::Source& source : theirs->sources()) {
                       if (source.source() != set->source().source()) continue;
                       AddSource(source, set->mutable_source());
                     }
                   }};
  }
  if (auto* set = dynamic_cast<v1::SetCrawlResponse*>(done)) {
    v1::ListCrawlsRequest request;
    request.set_crawl_id(set->crawl().crawl_id());
    return Listing{.path = "/freshet.v1.AdminService/ListCrawls",
                   .request = SerialiseMessage(request),
                   .add = [set](const StatusOr<grpc::ByteBuffer>& answer) {
                     const auto theirs = ResponseIn<v1::ListCrawlsResponse>(answer);
                     if (!theirs.ok() || theirs->crawls().empty()) return;
                     AddCrawl(theirs->crawls(0), set->mutable_crawl());
                   }};
  }
  return std::nullopt;
}

}  // namespace freshet
