#include "tests/crash/knowledge.h"

#include <algorithm>

#include "fmt/format.h"

namespace freshet::crash {
namespace {

constexpr size_t kMostStates = 32;
constexpr size_t kMostPending = 6;

// Returns true if a new lease is possible after the operation, because the operation ends the open
// lease or adds the page.
bool Opens(const Op& op) {
  return op.kind == Op::Kind::kResult || op.kind == Op::Kind::kReturn ||
         op.kind == Op::Kind::kUpsert;
}

}  // namespace

Knowledge::Knowledge(uint64_t seed, int host_count, int pages) : random(seed) {
  for (int i = 0; i < host_count; ++i) hosts[fmt::format("h{}.test", i)] = {};
  for (int i = 0; i < pages; ++i) {
    AddPage(fmt::format("h{}.test", Below(static_cast<uint64_t>(host_count))), i % 2 == 0);
  }
}

void Knowledge::AddPage(const std::string& host, bool quiet) {
  auto page = std::make_unique<Page>();
  page->url = fmt::format("http://{}/{}/{}", host, quiet ? "quiet" : "live", added_);
  page->crawl_id = added_ % 5 == 0 ? "other" : "DEFAULT";
  page->host = host;
  page->quiet = quiet;
  ++added_;
  by_key_[KeyOf(page->crawl_id, page->url)] = page.get();
  pages_.push_back(std::move(page));
}

void Knowledge::Fail(const std::string& what) {
  const MutexLock lock(failure_mutex_);
  if (failure_.empty()) failure_ = what;
}

std::string Knowledge::failure() {
  const MutexLock lock(failure_mutex_);
  return failure_;
}

Page* Knowledge::Pick(int sender, Want want) {
  const int64_t now = NowMicros();
  for (int attempt = 0; attempt < 20; ++attempt) {
    Page* page = pages_[Below(pages_.size())].get();
    if (page->retired || (!page->pending.empty() && page->sender != sender)) continue;
    if (page->pending.size() >= kMostPending) continue;
    const bool known = page->facts.exists || !page->pending.empty();
    const bool held = page->facts.lease.id != 0 && page->pending.empty();
    const bool fits = want == Want::kAny || (want == Want::kKnown && known) ||
                      (want == Want::kQuiet && page->quiet && known) ||
                      (want == Want::kLive && !page->quiet && known) ||
                      (want == Want::kHeld && held && page->facts.lease.deadline > now + 5'000'000);
    if (fits) return page;
  }
  return nullptr;
}

void Knowledge::Send(Page* page, int sender, std::shared_ptr<Op> op, Sent* sent) {
  op->sent = NowMicros();
  page->sender = sender;
  // A live page is removed only once, so that a late assignment cannot be mistaken for a new one.
  if (op->kind == Op::Kind::kRemove && !page->quiet) {
    page->retired = true;
    ++removed_of[page->host];
    ++removed;
    AddPage(page->host, false);
  }
  page->pending.push_back(op);
  sent->emplace_back(page, std::move(op));
}

void Knowledge::Acknowledge(const Sent& sent, const v1::BatchAck& ack) {
  const int64_t now = NowMicros();
  if (ack.has_error()) return Fail("a batch was refused: " + ack.error().reason());
  std::vector<v1::ItemOutcome> outcomes(sent.size(), v1::ITEM_OUTCOME_APPLIED);
  std::vector<std::string> reasons(sent.size());
  for (const v1::ItemStatus& status : ack.statuses()) {
    outcomes.at(status.index()) = status.outcome();
    reasons.at(status.index()) = status.error().reason();
    // A stopping server did not apply a request that it refused.
    if (stopping && status.error().code() == v1::ERROR_CODE_UNAVAILABLE) {
      outcomes.at(status.index()) = v1::ITEM_OUTCOME_UNSPECIFIED;
    }
  }
  for (size_t i = 0; i < sent.size(); ++i) {
    const auto& [page, op] = sent[i];
    ++acknowledged;
    if (op->done) continue;
    op->done = true;
    std::erase(page->pending, op);
    if (outcomes[i] == v1::ITEM_OUTCOME_UNSPECIFIED) continue;
    const auto allowed = Allowed(page->facts, *op, now);
    if (std::find(allowed.begin(), allowed.end(), outcomes[i]) == allowed.end()) {
      return Fail(fmt::format("{}: an operation of kind {} was answered {} ({}), expected {}",
                              page->url, static_cast<int>(op->kind),
                              v1::ItemOutcome_Name(outcomes[i]), reasons[i],
                              v1::ItemOutcome_Name(allowed.front())));
    }
    Apply(*op, outcomes[i], now, &page->facts);
  }
}

void Knowledge::Settle(Page* page, size_t count) {
  const int64_t now = NowMicros();
  for (size_t i = 0; i < count; ++i) {
    Op& op = *page->pending[i];
    op.done = true;
    Apply(op, Allowed(page->facts, op, now).front(), now, &page->facts);
  }
  page->pending.erase(page->pending.begin(), page->pending.begin() + static_cast<ptrdiff_t>(count));
}

Page* Knowledge::OnAssignment(const v1::Assignment& assignment, const std::string& worker) {
  const auto wrong = [&](const char* what) {
    Fail(fmt::format("lease {} of {} {}", assignment.lease_id(), assignment.url(), what));
    return nullptr;
  };
  const auto it = by_key_.find(KeyOf(assignment.crawl_id(), assignment.url()));
  if (it == by_key_.end()) return wrong("is for a page that was never added");
  Page* page = it->second;
  if (page->quiet) return wrong("is for a page that is worth nothing");
  if (!lease_ids_.insert(assignment.lease_id()).second) return wrong("was given before");
  const KnownLease& open = page->facts.lease;
  const bool closed = open.id == 0 || open.deadline <= NowMicros();
  // The assignment was sent before the page was removed.
  if (page->retired && page->pending.empty()) return nullptr;
  if (!page->facts.exists || !closed) {
    // The assignment shows the outcome of an operation whose answer is still in flight.
    const auto last = std::find_if(page->pending.rbegin(), page->pending.rend(),
                                   [](const auto& op) { return Opens(*op); });
    if (last == page->pending.rend()) {
      return wrong(closed ? "is for a page that is not there" : "comes while another is open");
    }
    Settle(page, static_cast<size_t>(page->pending.rend() - last));
  }
  page->facts.ahead.clear();
  page->facts.lease = {
      .id = assignment.lease_id(), .deadline = MicrosOf(assignment.deadline()), .worker = worker};
  return page;
}

// --- After a crash

void Knowledge::Compare(const std::map<std::string, v1::Page>& seen, int64_t before, int64_t after,
                        bool one_shard) {
  for (const auto& [key, page] : seen) {
    if (!by_key_.contains(key)) return Fail(key + " is there, but was never added");
  }
  // The operations of one message in one shard either all happen or all do not, and messages happen
  // in order. All pages of a host are in one shard.
  std::map<std::pair<int, std::string>, std::vector<Page*>> groups;
  for (const auto& page : pages_) {
    const bool idle = page->pending.empty();
    groups[{idle ? -1 : page->sender, idle        ? page->url
                                      : one_shard ? ""
                                                  : page->host}]
        .push_back(page.get());
  }
  const Reading reading{.seen = seen, .before = before, .after = after};
  for (const auto& [group, pages] : groups) CompareGroup(pages, reading);
  // Forgets pages that were removed for good.
  std::erase_if(pages_, [&](const std::unique_ptr<Page>& page) {
    const bool gone = page->retired && !page->facts.exists;
    if (gone) by_key_.erase(KeyOf(page->crawl_id, page->url));
    if (page->facts.exists) page->retired = false;  // the removal did not happen
    return gone;
  });
}

void Knowledge::CompareGroup(const std::vector<Page*>& pages, const Reading& reading) {
  std::set<uint64_t, std::greater<>> cuts = {0};
  for (const Page* page : pages) {
    for (const auto& op : page->pending) cuts.insert(op->batch);
  }
  std::string difference;
  for (const uint64_t cut : cuts) {
    std::vector<Settled> settled;
    difference.clear();
    for (Page* page : pages) {
      difference = Fits(page, cut, reading, &settled);
      if (!difference.empty()) break;
    }
    if (!difference.empty()) continue;
    for (const Settled& one : settled) TakeOver(one, reading);
    return;
  }
  Fail(fmt::format("{} ({} operations of its group under way)", difference, cuts.size() - 1));
}

std::string Knowledge::Fits(Page* page, uint64_t cut, const Reading& reading,
                            std::vector<Settled>* settled) const {
  std::vector<Facts> states = {page->facts};
  for (const auto& op : page->pending) {
    if (op->batch > cut) break;
    std::vector<Facts> next;
    for (const Facts& state : states) {
      for (const v1::ItemOutcome outcome : Allowed(state, *op, reading.after)) {
        if (next.size() >= kMostStates) break;
        Apply(*op, outcome, reading.after, &next.emplace_back(state));
      }
    }
    states = std::move(next);
  }
  const auto it = reading.seen.find(KeyOf(page->crawl_id, page->url));
  const v1::Page* seen = it == reading.seen.end() ? nullptr : &it->second;
  std::string difference;
  for (Facts& state : states) {
    difference = Difference(state, seen);
    if (difference.empty()) difference = LeaseDifference(*page, state, seen, reading);
    if (!difference.empty()) continue;
    settled->push_back({.page = page, .facts = std::move(state)});
    return {};
  }
  return page->url + ": " + difference;
}

std::string Knowledge::LeaseDifference(const Page& page, const Facts& facts, const v1::Page* seen,
                                       const Reading& reading) const {
  const KnownLease& known = facts.lease;
  if (seen == nullptr || !seen->has_lease()) {
    if (known.id == 0 || known.deadline <= reading.after) return {};
    return fmt::format("lease {} is lost", known.id);
  }
  const v1::Lease& lease = seen->lease();
  if (lease.lease_id() == known.id) {
    if (MicrosOf(lease.deadline()) != known.deadline || lease.worker() != known.worker) {
      return fmt::format("lease {} has changed", known.id);
    }
    return {};
  }
  if (page.quiet)
    return fmt::format("has the lease {} though it is worth nothing", lease.lease_id());
  if (known.id != 0 && known.deadline > MicrosOf(lease.start_time())) {
    return fmt::format("has the lease {} while {} is open", lease.lease_id(), known.id);
  }
  // The worker never received the lease.
  if (!lease_ids_.contains(lease.lease_id())) return {};
  return fmt::format("has the lease {} again", lease.lease_id());
}

void Knowledge::TakeOver(const Settled& settled, const Reading& reading) {
  Page* page = settled.page;
  page->facts = settled.facts;
  for (const auto& op : page->pending) op->done = true;
  page->pending.clear();
  page->sender = -1;
  const auto it = reading.seen.find(KeyOf(page->crawl_id, page->url));
  if (it == reading.seen.end()) return;
  page->facts.first_seen = MicrosOf(it->second.first_seen_time());
  page->facts.last_crawl = page->facts.last_crawl_low = MicrosOf(it->second.last_crawl_time());
  const v1::Lease& lease = it->second.lease();
  if (it->second.has_lease() && lease.lease_id() == page->facts.lease.id) return;
  page->facts.ahead.clear();
  page->facts.lease = KnownLease();
  if (!it->second.has_lease()) return;
  lease_ids_.insert(lease.lease_id());
  page->facts.lease = {
      .id = lease.lease_id(), .deadline = MicrosOf(lease.deadline()), .worker = lease.worker()};
}

}  // namespace freshet::crash
