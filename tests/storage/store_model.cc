#include "tests/storage/store_model.h"

#include "core/base/check.h"
#include "core/base/url.h"
#include "storage/pages_read.h"

namespace freshet {
namespace {

class ContentsVisitor : public LoadVisitor {
 public:
  explicit ContentsVisitor(StoreContents* contents) : contents_(contents) {}
  Status OnHost(const HostRecord& host, uint32_t) override {
    contents_->hosts[host.host] = host;
    return absl::OkStatus();
  }
  Status OnPage(const LoadedPage& page) override {
    PageRecord& record = contents_->pages[page.number];
    record.host = page.host;
    record.spec = page.spec;
    record.state = page.state;
    return absl::OkStatus();
  }
  Status OnLease(const LeaseRecord& lease) override {
    contents_->leases[lease.id] = lease;
    return absl::OkStatus();
  }
  Status OnSlotEnd(Slot, uint64_t) override { return absl::OkStatus(); }

 private:
  StoreContents* contents_;
};

Status Disagree(std::string_view what) {
  return MakeStatus(absl::StatusCode::kDataLoss, "{} disagree", what);
}

// Adds the records of scanned pages to those that were loaded.
Status ReadRecords(const Store& store, StoreContents* contents) {
  ASSIGN_OR_RETURN(const ScanResult scan,
                   store.ScanPages(PageNumber(0), PageNumber(UINT64_MAX), 1'000'000));
  if (scan.pages.size() != contents->pages.size()) return Disagree("Load and ScanPages");
  for (const PageRecord& page : scan.pages) {
    const auto it = contents->pages.find(page.number);
    if (it == contents->pages.end() || it->second.state != page.state ||
        it->second.spec != page.spec || it->second.host != page.host) {
      return Disagree("Load and ScanPages");
    }
    it->second = page;
  }
  return absl::OkStatus();
}

Status CheckReads(const Store& store, const StoreContents& contents) {
  ASSIGN_OR_RETURN(const ListResult list, store.List({}, "", 1'000'000));
  if (list.pages.size() != contents.pages.size()) return Disagree("List and Load");
  for (const PageRecord& listed : list.pages) {
    auto read = store.ReadPages({&listed.number, 1});
    if (!read[0].ok()) return read[0].status();
    if (*read[0] != listed) return Disagree("ReadPages and List");
    if (*read[0] != contents.pages.at(listed.number)) return Disagree("ReadPages and ScanPages");
  }
  return absl::OkStatus();
}

template <typename Map>
std::string DifferenceOf(std::string_view name, const Map& a, const Map& b) {
  for (const auto& [key, value] : a) {
    const auto it = b.find(key);
    if (it == b.end()) return fmt::format("{}: one is missing", name);
    if (!(it->second == value)) return fmt::format("{}: one differs", name);
  }
  return a.size() == b.size() ? "" : fmt::format("{}: one too many", name);
}

}  // namespace

void StoreContents::Apply(const Changes& changes) {
  for (const PageWrite& write : changes.pages) {
    PageRecord& page = pages[write.record->number];
    page = *write.record;
    hosts.try_emplace(page.host, HostRecord{.host = page.host});
  }
  for (const PageRecord* page : changes.removed_pages) pages.erase(page->number);
  for (const HostRecord& host : changes.hosts) hosts[host.host] = host;
  for (const std::string& host : changes.removed_hosts) hosts.erase(host);
  for (const LeaseRecord& lease : changes.leases) leases[lease.id] = lease;
  for (const LeaseId id : changes.closed_leases) leases.erase(id);
  for (const SourceRecord& source : changes.sources) sources[source.index] = source;
  for (const CrawlRecord& crawl : changes.crawls) crawls[crawl.crawl_id] = crawl;
  for (const std::string& crawl : changes.removed_crawls) crawls.erase(crawl);
  if (changes.settings) settings = *changes.settings;
  if (changes.epoch) epochs[changes.epoch->shard] = *changes.epoch;
}

std::string StoreContents::DifferenceFrom(const StoreContents& other) const {
  for (const std::string& difference :
       {DifferenceOf("pages", pages, other.pages), DifferenceOf("hosts", hosts, other.hosts),
        DifferenceOf("leases", leases, other.leases),
        DifferenceOf("sources", sources, other.sources),
        DifferenceOf("crawls", crawls, other.crawls),
        DifferenceOf("epochs", epochs, other.epochs)}) {
    if (!difference.empty()) return difference;
  }
  return settings == other.settings ? "" : "settings differ";
}

StatusOr<StoreContents> ReadContents(const Store& store) {
  StoreContents contents;
  ContentsVisitor visitor(&contents);
  RETURN_IF_ERROR(store.Load(Slot(0), Slot(limits::kSlots - 1), visitor));
  RETURN_IF_ERROR(ReadRecords(store, &contents));
  RETURN_IF_ERROR(CheckReads(store, contents));
  ASSIGN_OR_RETURN(GlobalRecords globals, store.LoadGlobals());
  for (SourceRecord& source : globals.sources) contents.sources[source.index] = source;
  for (EpochRecord& epoch : globals.epochs) contents.epochs[epoch.shard] = epoch;
  for (CrawlRecord& crawl : globals.crawls) contents.crawls[crawl.crawl_id] = crawl;
  contents.settings = globals.settings;
  return contents;
}

Script::Script(uint64_t seed, size_t commits) : random_(seed) {
  after_.emplace_back();
  for (size_t i = 0; i < commits; ++i) Write();
}

void Script::AddPage(ScriptedCommit& commit) {
  const std::string host = fmt::format("host{}.example", random_.Below(4));
  const uint64_t index = next_index_++;
  commit.records.push_back(random_.Page(host, index, index));
  commit.changes.pages.push_back({.record = &commit.records.back(), .created = true});
}

void Script::AddAgain(const PageRecord& page, ScriptedCommit& commit) {
  const uint64_t index = next_index_++;
  PageRecord& again = commit.records.emplace_back(random_.Page(page.host, index, index));
  again.key = page.key;
  commit.changes.pages.push_back({.record = &again, .created = true});
}

void Script::Write() {
  const StoreContents& before = after_.back();
  ScriptedCommit& commit = commits_.emplace_back();
  Changes& changes = commit.changes;
  if (before.pages.size() < 6) AddPage(commit);
  for (const auto& [number, page] : before.pages) {
    const uint64_t dice = random_.Below(10);
    if (dice >= 4) continue;
    const bool leased =
        std::any_of(before.leases.begin(), before.leases.end(),
                    [&, wanted = number](const auto& l) { return l.second.page == wanted; });
    if (dice == 0 && !leased && before.pages.size() > 4) {
      changes.removed_pages.push_back(&commit.records.emplace_back(page));
      if (random_.Chance(50)) AddAgain(page, commit);
    } else {
      PageRecord& changed = commit.records.emplace_back(page);
      changed.spec = random_.Spec();
      changed.state = random_.State();
      changed.detail = random_.Detail();
      changes.pages.push_back({.record = &changed});
      if (dice == 1 && !leased) {
        changes.leases.push_back(random_.Lease(number, next_index_++));
      }
    }
  }
  for (const auto& [id, lease] : before.leases) {
    if (random_.Chance(30)) changes.closed_leases.push_back(id);
  }
  if (random_.Chance(60)) AddPage(commit);
  if (random_.Chance(20)) changes.hosts.push_back(random_.Host("host1.example"));
  if (random_.Chance(10)) {
    changes.hosts.push_back(random_.Host("unseen.example"));
  } else if (before.hosts.contains("unseen.example") && random_.Chance(20)) {
    changes.removed_hosts.emplace_back("unseen.example");
  }
  if (random_.Chance(10)) changes.sources.push_back({.name = "feed", .index = 7});
  if (random_.Chance(10)) {
    changes.crawls.push_back(random_.Crawl("shop"));
  } else if (before.crawls.contains("shop") && random_.Chance(20)) {
    changes.removed_crawls.emplace_back("shop");
  }
  if (random_.Chance(10)) changes.settings = random_.RandomSettings();
  if (random_.Chance(10)) changes.epoch = random_.Epoch(static_cast<uint16_t>(random_.Below(3)));
  StoreContents next = before;
  next.Apply(changes);
  after_.push_back(std::move(next));
}

}  // namespace freshet
