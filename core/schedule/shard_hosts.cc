// Steps for events about hosts: see shard_steps.h.
#include <algorithm>
#include <optional>

#include "core/schedule/shard_steps.h"
#include "core/schedule/staged.h"

namespace freshet {
namespace {

// Returns true if the host has a page of the crawl id, or gets one in this batch.
bool HasPageOf(const std::string& host, const std::string& crawl_id, const Books& books,
               const Transaction& txn) {
  const std::optional<HostId> id = books.hosts.gate.Find(host);
  const std::optional<CrawlIndex> crawl = books.crawls.table.Find(crawl_id);
  if (id && crawl && books.crawls.table.PagesOf(*id, *crawl, books.hosts.use.pages(*id)) > 0)
    return true;
  return std::any_of(txn.pages().begin(), txn.pages().end(), [&](const Transaction::Page& page) {
    return page.created && !page.removed && page.record.host == host &&
           page.record.key.crawl_id == crawl_id;
  });
}

}  // namespace

Reply Step(const SetHost& event, Instant, const Books& books, Transaction& txn) {
  HostRecord* host = StagedHost(event.host, books, txn);
  if (event.min_delay) host->min_delay = *event.min_delay;
  if (event.max_in_flight) host->max_in_flight = *event.max_in_flight;
  if (event.min_page_interval) host->min_page_interval = *event.min_page_interval;
  if (event.max_crawls) host->max_crawls = *event.max_crawls;
  if (event.hours) host->hours = *event.hours;
  if (event.blocked_until) host->blocked_until = *event.blocked_until;
  if (event.blocked_until == Instant()) host->throttles = 0;
  return {};
}

Reply Step(const BlockHost& event, Instant now, const Books& books, Transaction& txn) {
  if (!HasPageOf(event.host, event.crawl_id, books, txn)) {
    return {.disposition = Disposition::kRefused,
            .status = NotFound("host: {} has no page of crawl id {}", event.host, event.crawl_id)};
  }
  const Instant until = event.until > now ? event.until : Instant();
  if (!event.asked) {
    SetHost set = {.host = event.host};
    set.blocked_until = until;
    return Step(set, now, books, txn);
  }
  const HostRecord* known = KnownHost(event.host, books, txn);
  if (until > (known == nullptr ? Instant() : known->blocked_until)) {
    StagedHost(event.host, books, txn)->blocked_until = until;
  }
  return {};
}

Reply Step(const ForgetHost& event, Instant now, const Books& books, Transaction& txn) {
  const std::optional<HostId> id = books.hosts.gate.Find(event.host);
  if (!id || !books.hosts.use.CanForget(*id, now)) return {};
  if (txn.FindHost(event.host) != nullptr || txn.CreatedPagesOf(event.host) > 0) {
    // The host is checked again after this batch is installed.
    txn.rested_hosts.push_back(event.host);
    return {};
  }
  txn.ForgetHost(event.host);
  return {};
}

}  // namespace freshet
