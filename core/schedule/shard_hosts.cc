// What a shard keeps of hosts: when they were last crawled, what they have asked for, and their
// settings.
#include <algorithm>
#include <optional>

#include "core/schedule/host_backoff.h"
#include "core/schedule/http_status.h"
#include "core/schedule/shard_impl.h"

namespace freshet {

const HostRecord* ShardState::Impl::KnownHost(const std::string& host, Transaction& txn) const {
  if (const HostRecord* staged = txn.FindHost(host)) return staged;
  const std::optional<HostId> id = hosts.Find(host);
  return id ? &hosts.record(*id) : nullptr;
}

HostRecord* ShardState::Impl::StagedHost(const std::string& host, Transaction& txn) const {
  if (HostRecord* staged = txn.FindHost(host)) return staged;
  const std::optional<HostId> id = hosts.Find(host);
  HostRecord record;
  record.host = host;
  return txn.PutHost(id ? hosts.record(*id) : record);
}

void ShardState::Impl::NoteAssignment(const PageRecord& page, Instant at, Transaction& txn) const {
  HostRecord* host = StagedHost(page.host, txn);
  host->last_assignment = std::max(host->last_assignment, at);
}

void ShardState::Impl::CountAssignment(const PageRecord& page, Instant at, Transaction& txn) const {
  const std::optional<HostId> id = hosts.Find(page.host);
  if (!id) return;
  // The lease tells it for long enough, unless the host waits longer.
  if (hosts.LongestDelay(*id) > kAssignmentsKept) NoteAssignment(page, at, txn);
  const CrawlCap cap = hosts.TermsOf(*id).max_crawls.value;
  if (cap.count > 0) CountCrawl(cap, at, &StagedHost(page.host, txn)->recent_crawls);
}

void ShardState::Impl::HearOfHost(const ReportCrawl& report, const std::string& host,
                                  Transaction& txn) const {
  const HostRecord* known = KnownHost(host, txn);
  const HostRecord none;
  if (known == nullptr) known = &none;
  const bool new_delay = report.crawl_delay && *report.crawl_delay != known->crawl_delay;
  const bool new_address = !report.address.none() && report.address != known->address;
  if (new_delay) StagedHost(host, txn)->crawl_delay = *report.crawl_delay;
  if (new_address) StagedHost(host, txn)->address = report.address;
}

void ShardState::Impl::HeedHost(const ReportCrawl& report, CrawlOutcome outcome,
                                const LeaseRecord* lease, const std::string& host, Instant now,
                                Transaction& txn) const {
  HearOfHost(report, host, txn);
  if (outcome == CrawlOutcome::kError && IsThrottled(report.http_status)) {
    ++txn.counts.throttled;
    NoteThrottled(options.host_backoff, lease == nullptr ? report.fetched : lease->assigned,
                  report.retry_after, now, StagedHost(host, txn));
  } else if (report.retry_after > Duration()) {
    NoteAsked(options.host_backoff, report.retry_after, now, StagedHost(host, txn));
  }
}

Reply ShardState::Impl::Step(const SetHost& event, Instant, Transaction& txn) const {
  HostRecord* host = StagedHost(event.host, txn);
  if (event.min_delay) host->min_delay = *event.min_delay;
  if (event.max_in_flight) host->max_in_flight = *event.max_in_flight;
  if (event.min_page_interval) host->min_page_interval = *event.min_page_interval;
  if (event.max_crawls) host->max_crawls = *event.max_crawls;
  if (event.hours) host->hours = *event.hours;
  if (event.blocked_until) host->blocked_until = *event.blocked_until;
  if (event.blocked_until == Instant()) host->throttles = 0;
  return {};
}

bool ShardState::Impl::HasPageOf(const std::string& host, const std::string& crawl_id,
                                 const Transaction& txn) const {
  const std::optional<HostId> id = hosts.Find(host);
  const std::optional<CrawlIndex> crawl = crawls.Find(crawl_id);
  if (id && crawl && crawls.PagesOf(*id, *crawl, hosts.pages(*id)) > 0) return true;
  return std::any_of(txn.pages().begin(), txn.pages().end(), [&](const Transaction::Page& page) {
    return page.created && !page.removed && page.record.host == host &&
           page.record.key.crawl_id == crawl_id;
  });
}

Reply ShardState::Impl::Step(const BlockHost& event, Instant now, Transaction& txn) const {
  if (!HasPageOf(event.host, event.crawl_id, txn)) {
    return {.disposition = Disposition::kRefused,
            .status = NotFound("host: {} has no page of crawl id {}", event.host, event.crawl_id)};
  }
  const Instant until = event.until > now ? event.until : Instant();
  if (!event.asked) {
    SetHost set = {.host = event.host};
    set.blocked_until = until;
    return Step(set, now, txn);
  }
  const HostRecord* known = KnownHost(event.host, txn);
  if (until > (known == nullptr ? Instant() : known->blocked_until)) {
    StagedHost(event.host, txn)->blocked_until = until;
  }
  return {};
}

Reply ShardState::Impl::Step(const ForgetHost& event, Instant now, Transaction& txn) const {
  const std::optional<HostId> id = hosts.Find(event.host);
  if (!id || !hosts.CanForget(*id, now)) return {};
  if (txn.FindHost(event.host) != nullptr || txn.CreatedPagesOf(event.host) > 0) {
    // To be looked at again once what this batch does to it is seen.
    txn.rested_hosts.push_back(event.host);
    return {};
  }
  txn.ForgetHost(event.host);
  return {};
}

}  // namespace freshet
