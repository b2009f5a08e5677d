#include "server/api/fleet_sums.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"
#include "google/protobuf/util/time_util.h"

namespace freshet {
namespace {

using google::protobuf::util::TimeUtil;

// Whole numbers of such a message are counters, all of them.
void AddCounters(const google::protobuf::Message& theirs, google::protobuf::Message* sum) {
  using google::protobuf::FieldDescriptor;
  const auto* fields = sum->GetDescriptor();
  const auto* values = sum->GetReflection();
  for (int i = 0; i < fields->field_count(); ++i) {
    const FieldDescriptor* field = fields->field(i);
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT64) {
      values->SetUInt64(sum, field,
                        values->GetUInt64(*sum, field) + values->GetUInt64(theirs, field));
    } else if (field->cpp_type() == FieldDescriptor::CPPTYPE_UINT32) {
      values->SetUInt32(sum, field,
                        values->GetUInt32(*sum, field) + values->GetUInt32(theirs, field));
    }
  }
}

// Of two means that are of so much.
double Mean(double a, double of_a, double b, double of_b) {
  const double of = of_a + of_b;
  return of > 0 ? (a * of_a + b * of_b) / of : 0;
}

double LivePages(const v1::PageStatistics& pages) {
  return static_cast<double>(pages.pages() - std::min(pages.pages(), pages.gone_pages()));
}

void AddPages(const v1::PageStatistics& theirs, v1::PageStatistics* sum) {
  sum->set_believed_freshness(Mean(sum->believed_freshness(), LivePages(*sum),
                                   theirs.believed_freshness(), LivePages(theirs)));
  sum->set_weighted_believed_freshness(Mean(sum->weighted_believed_freshness(), sum->importance(),
                                            theirs.weighted_believed_freshness(),
                                            theirs.importance()));
  sum->set_importance(sum->importance() + theirs.importance());
  sum->set_pages(sum->pages() + theirs.pages());
  sum->set_gone_pages(sum->gone_pages() + theirs.gone_pages());
  sum->set_hosts(sum->hosts() + theirs.hosts());
  // The division that is furthest behind: one whose last epoch is not known has had none of late.
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

void AddSchedules(const v1::ScheduleStatistics& theirs, v1::ScheduleStatistics* sum) {
  sum->set_crawl_rate_per_second(sum->crawl_rate_per_second() + theirs.crawl_rate_per_second());
  if (sum->pending_policy().empty()) sum->set_pending_policy(theirs.pending_policy());
  if (!sum->paused()) {
    sum->set_paused(theirs.paused());
    sum->set_pause_reason(theirs.pause_reason());
  }
  sum->set_price(std::max(sum->price(), theirs.price()));
  AddCounters(theirs, sum);
}

void AddStores(const v1::StoreStatistics& theirs, v1::StoreStatistics* sum) {
  AddCounters(theirs, sum);
  if (sum->write_error().empty()) sum->set_write_error(theirs.write_error());
}

// Where there is none yet it becomes theirs, with what is set there.
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

// As IsWorse orders hosts, but for sources, which are by name.
auto StandingOf(const v1::HostTrust& trust) {
  return std::tuple(!trust.has_quarantined_since(), trust.precision().high(),
                    std::tie(trust.host(), trust.source()));
}

}  // namespace

void AddCounts(const v1::GetStatisticsResponse& theirs, v1::GetStatisticsResponse* sum) {
  AddCounters(theirs.server(), sum->mutable_server());
  AddPages(theirs.pages(), sum->mutable_pages());
  AddSchedules(theirs.schedule(), sum->mutable_schedule());
  AddCounters(theirs.ingest(), sum->mutable_ingest());
  AddStores(theirs.store(), sum->mutable_store());
}

void AddCounts(const v1::GetTrustReportResponse& theirs, size_t limit,
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
  const int most = static_cast<int>(limit);
  if (sum->hosts_size() > most) {
    sum->mutable_hosts()->DeleteSubrange(most, sum->hosts_size() - most);
  }
}

void AddCounts(const v1::ListSourcesResponse& theirs, v1::ListSourcesResponse* sum) {
  std::map<std::string, v1::Source> all;
  for (const v1::Source& source : sum->sources()) AddSource(source, &all[source.source()]);
  for (const v1::Source& source : theirs.sources()) AddSource(source, &all[source.source()]);
  sum->clear_sources();
  for (auto& [name, source] : all) *sum->add_sources() = std::move(source);
}

void AddCounts(const v1::ListCrawlsResponse& theirs, size_t limit, v1::ListCrawlsResponse* sum) {
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
  // The last one that is shown, as each of them has it.
  sum->clear_next_page_token();
  if (more && !sum->crawls().empty()) {
    sum->set_next_page_token(sum->crawls(sum->crawls_size() - 1).crawl_id());
  }
}

void AddDone(const v1::RunEpochResponse& theirs, v1::RunEpochResponse* all) {
  all->set_epoch(std::max(all->epoch(), theirs.epoch()));
  all->set_pages(all->pages() + theirs.pages());
  if (TimeUtil::DurationToMicroseconds(theirs.duration()) >
      TimeUtil::DurationToMicroseconds(all->duration())) {
    *all->mutable_duration() = theirs.duration();
  }
}

void AddDone(const v1::RegisterSourceResponse& theirs, v1::RegisterSourceResponse* all) {
  all->set_created(all->created() || theirs.created());
  AddSource(theirs.source(), all->mutable_source());
}

void AddDone(const v1::UnregisterSourceResponse& theirs, v1::UnregisterSourceResponse* all) {
  AddSource(theirs.source(), all->mutable_source());
}

void AddDone(const v1::SetCrawlResponse& theirs, v1::SetCrawlResponse* all) {
  AddCrawl(theirs.crawl(), all->mutable_crawl());
}

void AddDone(const v1::DeleteCrawlResponse& theirs, v1::DeleteCrawlResponse* all) {
  AddCrawl(theirs.crawl(), all->mutable_crawl());
}

}  // namespace freshet
