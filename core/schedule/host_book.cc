#include "core/schedule/host_book.h"

#include <algorithm>
#include <optional>

#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/schedule/host_rules.h"
#include "core/schedule/shard_options.h"

namespace freshet {

HostBook::HostBook(const ShardOptions& shard_options)
    : options(shard_options),
      gate(shard_options.politeness, shard_options.host_rules, shard_options.max_crawl_delay,
           DomainsBy(shard_options.domain_of, shard_options.fingerprinter)),
      use(gate, shard_options.host_backoff.quiet, shard_options.host_quota) {}

namespace {

HostStatus StatusOf(const HostGate& gate, HostId id, Instant now) {
  const GatedHost& host = gate.host(id);
  const HostTerms terms = gate.TermsOf(id);
  return {.record = host.record,
          .terms = terms,
          .rule = host.rule == nullptr ? "" : host.rule->name,
          .group = gate.groups().group(host.group),
          .allowed_at = AllowedAt(host, terms, now),
          .in_flight = host.in_flight};
}

}  // namespace

StatusOr<HostStatus> HostBook::Describe(const std::string& host, Instant now) const {
  if (const std::optional<HostId> id = gate.Find(host)) return Describe(*id, now);
  // If the host is not known but has a rule, describes it as it will be when it gets its first
  // page.
  const HostRule* rule = options.host_rules == nullptr ? nullptr : options.host_rules->Find(host);
  if (rule == nullptr) return NotFound("host: {} has no pages", host);
  HostGate alone(gate.defaults(), options.host_rules, options.max_crawl_delay);
  const HostId id = alone.Intern(host);
  return StatusOf(alone, id, now);
}

HostStatus HostBook::Describe(HostId host, Instant now) const {
  HostStatus status = StatusOf(gate, host, now);
  status.pages = use.pages(host);
  return status;
}

uint32_t HostBook::List(const HostQuery& query, uint32_t first, size_t most, Instant now,
                        std::vector<HostStatus>* found) const {
  const uint32_t limit = gate.id_limit();
  const uint32_t end = first + std::min(limits::kHostScan, limit - std::min(limit, first));
  uint32_t next = first;
  for (; next < end && most > 0; ++next) {
    const HostId host(next);
    const std::string& name = gate.host(host).record.host;
    const bool fits = !name.empty() && name.starts_with(query.prefix) &&
                      name.find(query.part) != std::string::npos;
    if (!fits) continue;
    found->push_back(Describe(host, now));
    --most;
  }
  CHECK(next >= first, "{} follows {}", next, first);
  return next;
}

StatusOr<HostRecord> HostBook::Find(const std::string& host, uint32_t* in_flight) const {
  const std::optional<HostId> id = gate.Find(host);
  if (!id) return NotFound("host: {} has no pages", host);
  *in_flight = gate.host(*id).in_flight;
  return gate.host(*id).record;
}

const HostBackoff& HostBook::backoff() const { return options.host_backoff; }

}  // namespace freshet
