#include "server/api/scheduled_crawls.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "core/base/check.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "core/schedule/leases.h"
#include "server/frontier/frontier_names.h"
#include "sync/mutex.h"
#include "urlfrontier/urlfrontier.pb.h"

namespace freshet {
namespace {

// --- What comes in

// The first value of the first of these keys that is there.
std::string FirstOf(const urlfrontier::URLInfo& info, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    const auto it = info.metadata().find(key);
    if (it != info.metadata().end() && it->second.values_size() > 0) return it->second.values(0);
  }
  return {};
}

// What a fetch has found, as far as its metadata says.
ReportCrawl ReportOf(const ServerContext& context, const FrontierName& name,
                     const FrontierPut& put) {
  urlfrontier::URLInfo info;
  (void)info.MergeFromString(put.metadata);  // was read before it came here
  ReportCrawl report;
  report.key = PageKey{.crawl_id = name.crawl, .url = name.url};
  report.fetched = context.clock.Now();
  int status = 0;
  if (!absl::SimpleAtoi(FirstOf(info, context.config.frontier_status_keys), &status)) status = 0;
  if (status < 100 || status > 999) status = 0;
  report.http_status = static_cast<uint16_t>(status);
  report.outcome = CrawlOutcome::kUnchanged;
  if (status == 404 || status == 410) {
    report.outcome = CrawlOutcome::kGone;
  } else if (status >= 400) {
    report.outcome = CrawlOutcome::kError;
  } else if (status != 304) {
    report.digest = FirstOf(info, context.config.frontier_digest_keys);
    report.digest.resize(std::min(report.digest.size(), limits::kMaxValidatorBytes));
    report.looked = false;
  }
  return report;
}

// What the page of a URL is told once the frontier has taken it.
struct PageNews {
  std::string host;
  bool known = false;
  bool never = false;  // again
  // Whatever the page makes of it, the URL is acknowledged as the frontier has taken it.
  bool shadow = false;
  ReportCrawl report;  // of one that is known
};

// One call of Put.
struct PutUnderWay {
  Frontier::PutDone done;
  std::vector<FrontierOutcome> outcomes;
  std::vector<size_t> places;                  // among these, by URL that the frontier was given
  std::vector<std::optional<PageNews>> pages;  // likewise; unset: of a crawl id without pages
  std::vector<FrontierName> names;             // likewise: of the page
  // By event: whose outcome depends on it; unset: none's.
  std::vector<std::optional<size_t>> asked;
};

PageNews NewsOf(const ServerContext& context, FrontierMode mode, const FrontierName& name,
                const FrontierPut& put) {
  PageNews news = {.host = name.key,
                   .known = put.known,
                   .never = put.known && put.due == 0 && context.config.frontier_zero_is_never,
                   .shadow = mode == FrontierMode::kShadow,
                   .report = {}};
  if (news.known && !news.never) news.report = ReportOf(context, name, put);
  return news;
}

UpsertPage UpsertOf(const FrontierName& name) {
  return {.key = {.crawl_id = name.crawl, .url = name.url}, .host = name.key};
}

std::vector<RoutedEvent> EventsFor(PutUnderWay& put, const std::vector<FrontierOutcome>& taken) {
  std::vector<RoutedEvent> events;
  for (size_t i = 0; i < taken.size(); ++i) {
    put.outcomes[put.places[i]] = taken[i];
    const bool there = taken[i] == FrontierOutcome::kOk || taken[i] == FrontierOutcome::kKnown;
    if (!there || !put.pages[i]) continue;
    PageNews& news = *put.pages[i];
    const Slot slot = SlotOfHost(news.host);
    const auto add = [&](Event event) {
      events.push_back({.slot = slot, .event = std::move(event), .notes = {}});
      put.asked.push_back(news.shadow ? std::nullopt : std::optional(put.places[i]));
    };
    if (news.never) {
      add(RemovePage{.key = {.crawl_id = put.names[i].crawl, .url = put.names[i].url},
                     .as_sent = std::nullopt});
      continue;
    }
    add(UpsertOf(put.names[i]));
    if (news.known) add(std::move(news.report));
  }
  return events;
}

// What the page could not take is to be sent again, but for what it never will.
void TakeReplies(const std::vector<Reply>& replies, PutUnderWay& put) {
  for (size_t i = 0; i < replies.size(); ++i) {
    const Status& status = replies[i].status;
    // There was no page to remove.
    if (status.ok() || absl::IsNotFound(status) || !put.asked[i]) continue;
    put.outcomes[*put.asked[i]] =
        absl::IsInvalidArgument(status) ? FrontierOutcome::kSkipped : FrontierOutcome::kFailed;
  }
}

// --- What goes out

// Pages of which the frontier knows nothing are no pages of it any more. Somebody may put one again
// at the same time: then it stays.
void RemoveUnknown(const ServerContext& context, const FrontierName& name) {
  const Slot slot = SlotOfHost(name.key);
  const RemovePage remove = {.key = {.crawl_id = name.crawl, .url = name.url},
                             .as_sent = std::nullopt};
  context.router.SubmitAlways(slot, remove, [&context, name, slot](const Reply&) {
    context.frontier->Run<FrontierItem>(
        [name](FrontierState& state) { return state.Read(name.crawl, name.key, name.url); },
        [&context, name, slot](const StatusOr<FrontierItem>& item) {
          if (!item.ok() || item->due == 0) return;
          context.router.SubmitAlways(slot, UpsertOf(name), [](const Reply&) {});
        });
  });
}

// One pull: a worker of these crawl ids that is served once. Thread-safe.
class ScheduledPull final : public AssignmentSink,
                            public std::enable_shared_from_this<ScheduledPull> {
 public:
  ScheduledPull(const ServerContext& context, std::shared_ptr<FrontierPull> pull,
                Frontier::PullDone done)
      : context_(context), pull_(std::move(pull)), done_(std::move(done)) {}

  void Begin(const std::vector<std::string>& crawl_ids, const std::string& address) {
    pull_->over = true;
    const StatusOr<ClassSet> classes = context_.crawls.ClassesOf(crawl_ids);
    // Which queue is next is not the client's to say.
    const bool nothing = !pull_->key.empty() || !context_.frontier->status().active ||
                         context_.dispatcher.paused() || !context_.dispatcher.stalled().ok();
    if (nothing || !classes.ok()) return done_({});
    const uint64_t most = std::min<uint64_t>(limits::kMaxAssignmentsPerNext,
                                             uint64_t{pull_->urls_per_queue} * pull_->queues);
    const auto seconds = std::clamp<int64_t>(pull_->lease_seconds, 1,
                                             context_.config.max_lease.get().micros() / 1'000'000);
    pull_->lease_seconds = static_cast<uint32_t>(seconds);
    const StatusOr<WorkerId> worker = context_.dispatcher.Join(
        {.name = "urlfrontier " + address,
         .address = address,
         .lease = Duration::Seconds(seconds),
         .takes = *classes,
         .waiter = true,
         .waits_until = context_.clock.Now() + kScheduledPullWait},
        shared_from_this(), static_cast<size_t>(context_.config.max_workers));
    if (!worker.ok()) return done_({});
    context_.dispatcher.Grant(*worker, most);
  }

  void Deliver(std::vector<Assignment> assignments, Outlook outlook) override {
    {
      const MutexLock lock(mutex_);
      std::move(assignments.begin(), assignments.end(), std::back_inserter(assignments_));
      if (outlook == Outlook::kMore) return;
    }
    Serve();
  }
  // It is over in a moment anyway.
  void OnPause(bool /*paused*/) override {}
  void OnStall(const Status& /*why*/) override {}

 private:
  // Takes over what was assigned, as much of each host as the call wants.
  void Serve() {
    std::vector<FrontierName> names;
    std::vector<LeaseId> leases;
    std::vector<LeaseId> too_many;
    std::map<std::string, uint32_t> by_queue;
    {
      const MutexLock lock(mutex_);
      for (Assignment& one : assignments_) {
        const bool full = by_queue.size() >= pull_->queues && !by_queue.contains(one.host);
        if (full || by_queue[one.host] >= pull_->urls_per_queue) {
          too_many.push_back(one.lease);
          continue;
        }
        ++by_queue[one.host];
        leases.push_back(one.lease);
        names.push_back({.crawl = std::move(one.key.crawl_id),
                         .key = std::move(one.host),
                         .url = std::move(one.key.url)});
      }
      assignments_.clear();
    }
    context_.dispatcher.GiveBack(too_many);
    if (names.empty()) return done_({});
    const auto shared = std::make_shared<const std::vector<FrontierName>>(std::move(names));
    context_.frontier->Run<FrontierPicked>(
        [shared, seconds = pull_->lease_seconds](FrontierState& state) {
          return state.ServeNamed(*shared, seconds);
        },
        [self = shared_from_this(), shared, leases = std::move(leases)](
            StatusOr<FrontierPicked> picked) { self->Finish(*shared, leases, std::move(picked)); });
  }

  void Finish(const std::vector<FrontierName>& names, const std::vector<LeaseId>& leases,
              StatusOr<FrontierPicked> picked) {
    if (!picked.ok()) {
      context_.dispatcher.GiveBack(leases);
      return done_({});
    }
    std::vector<LeaseId> refused;
    for (const size_t place : picked->refused) refused.push_back(leases[place]);
    context_.dispatcher.GiveBack(refused);
    for (const size_t place : picked->unknown) RemoveUnknown(context_, names[place]);
    std::vector<FrontierServed> served;
    for (auto& [place, url] : picked->served) {
      url.lease = leases[place];
      served.push_back(std::move(url));
    }
    done_(std::move(served));
  }

  const ServerContext& context_;
  const std::shared_ptr<FrontierPull> pull_;
  const Frontier::PullDone done_;
  Mutex mutex_;
  std::vector<Assignment> assignments_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace

bool IsScheduled(const ServerContext& context, std::string_view crawl) {
  return context.crawls.modes()->Of(crawl) == FrontierMode::kScheduled;
}

StatusOr<FrontierName> ScheduledName(const std::string& crawl, const std::string& url) {
  ASSIGN_OR_RETURN(CanonicalUrl canonical, Canonicalise(url));
  return FrontierName{
      .crawl = crawl, .key = std::move(canonical.host), .url = std::move(canonical.text)};
}

bool PutUrls(const ServerContext& context, std::vector<FrontierPut> puts, Frontier::PutDone done) {
  const std::shared_ptr<const FrontierModes> modes = context.crawls.modes();
  const bool any = !modes->empty() && std::any_of(puts.begin(), puts.end(), [&](const auto& put) {
    return modes->Of(put.crawl) != FrontierMode::kDates;
  });
  if (!any) return context.frontier->Put(std::move(puts), std::move(done));
  auto under_way = std::make_shared<PutUnderWay>();
  under_way->done = std::move(done);
  under_way->outcomes.assign(puts.size(), FrontierOutcome::kSkipped);
  std::vector<FrontierPut> taken;
  for (size_t i = 0; i < puts.size(); ++i) {
    FrontierPut& put = puts[i];
    FrontierName name;
    std::optional<PageNews> news;
    if (const FrontierMode mode = modes->Of(put.crawl); mode != FrontierMode::kDates) {
      StatusOr<FrontierName> canonical = ScheduledName(put.crawl, put.url);
      if (canonical.ok()) {
        name = *std::move(canonical);
        news = NewsOf(context, mode, name, put);
      }
      if (mode == FrontierMode::kScheduled) {
        if (!news) continue;
        put.key = name.key;
        put.url = name.url;
        if (put.known && !news->never) put.due = std::max<uint64_t>(put.due, 1);
      }
    }
    under_way->places.push_back(i);
    under_way->pages.push_back(std::move(news));
    under_way->names.push_back(std::move(name));
    taken.push_back(std::move(put));
  }
  return context.frontier->Put(
      std::move(taken), [&context, under_way](const std::vector<FrontierOutcome>& outcomes) {
        std::vector<RoutedEvent> events = EventsFor(*under_way, outcomes);
        if (events.empty()) return under_way->done(under_way->outcomes);
        // The stream is not read any further than its unacknowledged items go anyway.
        (void)context.router.Submit(std::move(events), [under_way](std::vector<Reply> replies) {
          TakeReplies(replies, *under_way);
          under_way->done(under_way->outcomes);
        });
      });
}

void PullUrls(const ServerContext& context, const std::shared_ptr<FrontierPull>& pull, size_t most,
              const std::string& address, Frontier::PullDone done) {
  const std::shared_ptr<const FrontierModes> modes = context.crawls.modes();
  if (pull->crawl && modes->Of(*pull->crawl) == FrontierMode::kScheduled) {
    return std::make_shared<ScheduledPull>(context, pull, std::move(done))
        ->Begin({*pull->crawl}, address);
  }
  if (pull->crawl || modes->scheduled().empty()) {
    pull->except = nullptr;
    return context.frontier->Pull(pull, most, std::move(done));
  }
  // Of any: first those whose clients say when, then the others.
  pull->except = {modes, &modes->scheduled()};
  context.frontier->Pull(
      pull, most,
      [&context, pull, address, done = std::move(done)](std::vector<FrontierServed> served) {
        const std::shared_ptr<const std::vector<std::string>> scheduled =
            std::exchange(pull->except, nullptr);
        std::vector<std::string> asked;
        for (const std::string& crawl : *scheduled) {
          if (pull->Serves(crawl)) asked.push_back(crawl);
        }
        if (!served.empty() || pull->queues == 0 || asked.empty()) return done(std::move(served));
        std::make_shared<ScheduledPull>(context, pull, done)->Begin(asked, address);
      });
}

void GiveBackUrls(const ServerContext& context, std::vector<FrontierServed> served) {
  std::vector<LeaseId> leases;
  for (const FrontierServed& url : served) {
    if (url.lease != LeaseId()) leases.push_back(url.lease);
  }
  context.dispatcher.GiveBack(leases);
  context.frontier->GiveBack(std::move(served));
}

void BlockScheduledHost(const ServerContext& context, const std::string& crawl,
                        const std::string& key, uint64_t until) {
  if (!IsScheduled(context, crawl)) return;
  const StatusOr<CanonicalUrl> url = Canonicalise("http://" + key + "/");
  if (!url.ok()) return;
  const uint64_t most = static_cast<uint64_t>(context.clock.Now().micros() / 1'000'000) +
                        static_cast<uint64_t>(limits::kMaxBlockSeconds);
  SetHost event = {.host = url->host};
  event.blocked_until = Instant::FromUnixSeconds(static_cast<int64_t>(std::min(until, most)));
  context.router.SubmitAlways(SlotOfHost(url->host), event, [](const Reply&) {});
}

}  // namespace freshet
