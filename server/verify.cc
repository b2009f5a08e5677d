#include "server/verify.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "core/base/fingerprint.h"
#include "core/base/id_limits.h"
#include "core/base/safe_text.h"
#include "core/base/url.h"
#include "core/model/host.h"
#include "core/schedule/freshness_sample.h"
#include "core/schedule/host_book.h"
#include "core/schedule/learning.h"
#include "core/schedule/leases.h"
#include "core/schedule/page_book.h"
#include "core/schedule/page_to_load.h"
#include "core/schedule/shard_counters.h"
#include "core/schedule/shard_loading.h"
#include "core/schedule/shard_options.h"
#include "core/schedule/shard_state.h"
#include "fmt/format.h"
#include "server/config.h"
#include "storage/pages_read.h"

namespace freshet {
namespace {

constexpr size_t kSlice = 1024;
// Tolerance for sums that are added in a different order, and for values that the index keeps in
// single precision.
constexpr double kSumTolerance = 1e-5;

// A shard that owns every slot. It also keeps the records from which it was loaded. Owner thread
// only.
class LoadedShard final : public LoadVisitor {
 public:
  LoadedShard(ShardState& state, std::function<void(std::string)> problem)
      : state_(state), problem_(std::move(problem)) {}

  Status OnHost(const HostRecord& host, uint32_t host_serial) override {
    if (host_serial >= ids_.size()) ids_.resize(host_serial + size_t{1});
    ids_[host_serial] = state_.loading().LoadHost(host);
    hosts.push_back(host);
    return absl::OkStatus();
  }
  Status OnPage(const LoadedPage& page) override {
    PageToLoad prepared = state_.loading().PrepareLoad(
        page.number, page.fingerprint, ids_[page.host_serial], page.spec, page.state);
    ASSIGN_OR_RETURN(prepared.crawl, state_.loading().InternCrawl(page.crawl_id));
    const Status status = state_.loading().LoadPages({&prepared, 1});
    if (!status.ok()) problem_(std::string(status.message()));
    return absl::OkStatus();
  }
  Status OnLease(const LeaseRecord& lease) override {
    state_.loading().LoadLease(lease);
    if (!lease.over) leases.push_back(lease);
    return absl::OkStatus();
  }
  Status OnSlotEnd(Slot slot, uint64_t next_serial) override {
    state_.loading().LoadNextSerial(slot, next_serial);
    ids_.clear();
    return absl::OkStatus();
  }

  std::vector<HostRecord> hosts;
  std::vector<LeaseRecord> leases;

 private:
  ShardState& state_;
  const std::function<void(std::string)> problem_;
  std::vector<HostId> ids_;  // ids of the slot's hosts, by serial
};

// Compares derived state with the records. Owner thread only.
class DerivedVerifier {
 public:
  DerivedVerifier(const Store& store, const ShardOptions& options, VerifyReport* report)
      : store_(store),
        report_(*report),
        state_(options),
        loaded_(state_, [this](const std::string& text) { Problem(text); }) {}

  Status Run() {
    RETURN_IF_ERROR(CheckModels());
    RETURN_IF_ERROR(store_.Load(Slot(0), Slot(limits::kSlots - 1), loaded_));
    state_.loading().FinishLoad();
    RETURN_IF_ERROR(CheckPages());
    CheckSources();
    CheckLeases();
    CheckCounters();
    return absl::OkStatus();
  }

 private:
  // Adds a problem to the report. The text is made safe to print, because names that clients chose
  // must not control the operator's terminal.
  void Problem(const std::string& text) {
    ++report_.problem_count;
    if (report_.problems.size() < VerifyReport::kMaxProblems) {
      report_.problems.push_back(SafeText(text));
    }
  }

  Status CheckModels() {
    ASSIGN_OR_RETURN(const GlobalRecords globals, store_.LoadGlobals());
    for (const EpochRecord& epoch : globals.epochs) {
      // A server of a cluster that has only been a standby does not know the number of shards.
      if (globals.shards > 0 && epoch.shard >= globals.shards) {
        Problem(fmt::format("meta: an epoch of shard {}, of which there are {}", epoch.shard,
                            globals.shards));
      }
      const Status status = state_.learning().LoadEpoch(epoch);
      if (status.ok()) continue;
      Problem(fmt::format("meta: the model of shard {} cannot be used: {}", epoch.shard,
                          std::string(status.message())));
    }
    double shares = 0;
    for (const CrawlRecord& crawl : globals.crawls) {
      RETURN_IF_ERROR(state_.loading().LoadCrawl({.record = crawl}));
      shares += crawl.share.value_or(0);
    }
    if (shares > 1 + 1e-9) Problem(fmt::format("meta: the shares of crawls sum to {}", shares));
    absl::flat_hash_set<std::string> names;
    const std::string policy = globals.settings.policy.value_or("");
    if (!policy.empty() && !ResolvePolicy(policy).ok()) {
      Problem(fmt::format("meta: the policy {} is not known to this release", policy));
    }
    for (const SourceRecord& source : globals.sources) {
      sources_.insert(source.index);
      if (!names.insert(source.name).second) {
        Problem(fmt::format("sources: the name {} is given twice", source.name));
      }
    }
    return absl::OkStatus();
  }

  Status CheckPages() {
    PageNumber from;
    for (bool done = false; !done;) {
      ASSIGN_OR_RETURN(const ScanResult scan,
                       store_.ScanPages(from, PageNumber(UINT64_MAX), kSlice));
      for (const PageRecord& page : scan.pages) CheckPage(page);
      from = scan.next;
      done = scan.done;
    }
    return absl::OkStatus();
  }

  void CheckPage(const PageRecord& page) {
    ++pages_;
    if (!page.state.gone) {
      ++present_;
      importance_ += page.spec.importance;
    }
    NoteSources(page, page.state.signals);
    for (const CrawlObservation& seen : page.detail.statistics.recent) {
      NoteSources(page, seen.signals);
    }
    std::vector<PageNumber> found;
    state_.pages().FindNumbers(page.key, &found);
    if (std::find(found.begin(), found.end(), page.number) == found.end()) {
      Problem(fmt::format("index: page {:#x}, {}, is not found by its URL", page.number.value(),
                          page.key.url));
    }
    // Each pair is checked once.
    std::erase_if(found, [&](PageNumber other) { return other >= page.number; });
    for (const StatusOr<PageRecord>& other : store_.ReadPages(found)) {
      if (!other.ok() || other->key != page.key) continue;
      Problem(fmt::format("{} is stored twice: as page {:#x} and as page {:#x}", page.key.url,
                          other->number.value(), page.number.value()));
    }
  }

  void NoteSources(const PageRecord& page, const SignalCounts& signals) {
    for (const SignalCounts::Entry& entry : signals.entries()) {
      const uint8_t source = entry.source_class.source();
      if (entry.count == 0 || sources_.contains(source)) continue;
      StrangeSource& strange = strange_[source];
      if (strange.pages == 0) strange.first = page.number;
      // All signals of one page are noted one after the other, so only the last page must be
      // compared.
      if (strange.pages == 0 || strange.last != page.number) ++strange.pages;
      strange.last = page.number;
    }
  }

  // Each source is reported once, however many pages have its signals.
  void CheckSources() {
    for (size_t source = 0; source < strange_.size(); ++source) {
      const StrangeSource& strange = strange_[source];
      if (strange.pages == 0) continue;
      Problem(
          fmt::format("page {:#x}: signals of source {}, which is not registered; so have {} "
                      "other pages",
                      strange.first.value(), source, strange.pages - 1));
    }
  }

  void CheckLeases() {
    absl::flat_hash_map<std::string, uint32_t> in_flight;
    absl::flat_hash_set<PageNumber> leased;
    for (const LeaseRecord& lease : loaded_.leases) {
      if (!MayHaveIssued(static_cast<uint32_t>(store_.generation()), lease.id)) {
        Problem(fmt::format("lease {:#x}: was never given out", lease.id.value()));
      }
      if (!leased.insert(lease.page).second) {
        Problem(fmt::format("lease {:#x}: page {:#x} is leased twice", lease.id.value(),
                            lease.page.value()));
      }
      if (state_.pages().FindLease(lease.id) != lease) {
        Problem(fmt::format("lease {:#x}: is not open after loading", lease.id.value()));
      }
      if (!lease.host.empty()) {
        ++in_flight[lease.host];
        continue;
      }
      for (const StatusOr<PageRecord>& page : store_.ReadPages({&lease.page, 1})) {
        if (page.ok()) ++in_flight[page->host];  // otherwise Store::Verify has reported it
      }
    }
    for (const HostRecord& host : loaded_.hosts) {
      uint32_t found_in_flight = 0;
      const StatusOr<HostRecord> found = state_.hosts().Find(host.host, &found_in_flight);
      if (!found.ok() || found->min_delay != host.min_delay ||
          found->max_in_flight != host.max_in_flight ||
          found->min_page_interval != host.min_page_interval ||
          found->max_crawls != host.max_crawls || found->hours != host.hours ||
          found->crawl_delay != host.crawl_delay || found->address != host.address ||
          found->recent_crawls != host.recent_crawls || found->throttles != host.throttles ||
          found->last_throttled != host.last_throttled ||
          found->blocked_until != host.blocked_until) {
        Problem(fmt::format("host {}: its politeness is not what is stored", host.host));
      }
      const auto it = in_flight.find(host.host);
      const uint32_t expected = it == in_flight.end() ? 0 : it->second;
      if (found.ok() && found_in_flight != expected) {
        Problem(fmt::format("host {}: {} fetches in flight, {} leases", host.host, found_in_flight,
                            expected));
      }
    }
  }

  void CheckCounters() {
    const ShardCounters counters = state_.counters();
    const auto compare = [this](std::string_view what, uint64_t counted, uint64_t stored) {
      if (counted == stored) return;
      Problem(fmt::format("counters: {} {}, stored are {}", counted, what, stored));
    };
    compare("pages", counters.pages, pages_);
    compare("hosts", counters.hosts, loaded_.hosts.size());
    compare("leases", counters.leases, loaded_.leases.size());
    const BelievedFreshness believed = state_.pages().Believed(Instant());
    compare("pages that are not gone", believed.pages, present_);
    // If there are more pages, the index keeps only a sample, whose sum is an estimate.
    if (pages_ > FreshnessSample::kMaxSample) return;
    if (std::abs(believed.importance - importance_) > kSumTolerance * importance_) {
      Problem(fmt::format("counters: importance is {} in the index, {} in the records",
                          believed.importance, importance_));
    }
  }

  const Store& store_;
  VerifyReport& report_;
  ShardState state_;
  LoadedShard loaded_;
  // An unregistered source that occurs in signals.
  struct StrangeSource {
    PageNumber first;
    PageNumber last;
    uint64_t pages = 0;
  };
  absl::flat_hash_set<uint8_t> sources_;                                        // indices
  std::array<StrangeSource, UINT8_MAX / limits::kBurstClasses + 1> strange_{};  // by index
  uint64_t pages_ = 0;
  uint64_t present_ = 0;  // pages that are not gone
  double importance_ = 0;
};

}  // namespace

StatusOr<VerifyReport> VerifyStore(const Store& store, const ServerConfig& config) {
  ASSIGN_OR_RETURN(VerifyReport report, store.Verify());
  ShardOptions options;
  options.max_pages = limits::kMaxPageIds;
  options.fingerprinter = store.fingerprinter();
  options.estimator = {.kind = config.estimator, .day = config.day};
  const Status compared = DerivedVerifier(store, options, &report).Run();
  if (!compared.ok()) {
    ++report.problem_count;
    report.problems.push_back("derived state was not compared to the end: " +
                              std::string(compared.message()));
  }
  return report;
}

}  // namespace freshet
