#include "server/api/scheduled_crawls.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/base/check.h"
#include "core/base/url.h"
#include "grpcpp/alarm.h"
#include "server/api/batch.h"
#include "server/api/page_pull.h"
#include "server/api/url_events.h"
#include "server/api/url_pages.h"
#include "server/base/frontier_limits.h"
#include "server/config.h"
#include "server/engine/crawls.h"
#include "server/engine/frontier_modes.h"
#include "server/frontier/frontier_names.h"
#include "sync/mutex.h"

namespace freshet {
namespace {

// The time that other divisions have for their answer. It is longer than their wait for pages.
constexpr std::chrono::milliseconds kElsewherePatience{1000};

// --- Incoming URLs

// Describes what must change on the page of a URL once the frontier has the URL.
struct PageNews {
  std::string host;
  bool known = false;
  bool never = false;  // the page must never be crawled again
  // The crawl id is in shadow mode. The client then gets the frontier's outcome, whatever becomes
  // of the page.
  bool shadow = false;
  // The result of a fetch; unset = there is none, or the client may not report results.
  std::optional<ReportCrawl> report;
};

// One call of PutUrls.
struct PutUnderWay {
  Frontier::PutDone done;
  std::vector<FrontierOutcome> outcomes;
  std::vector<size_t> places;  // for each URL given to the frontier, its position in outcomes
  // For each URL given to the frontier; unset = its crawl id has no pages.
  std::vector<std::optional<PageNews>> pages;
  // The name of the page, for each URL given to the frontier.
  std::vector<FrontierName> names;
  // For each event, the URL whose outcome depends on the event, as an index into the URLs given to
  // the frontier; unset = none.
  std::vector<std::optional<size_t>> asked;
  uint64_t since = 0;  // when the call began; entries that the call makes are not older
};

PageNews NewsOf(const ServerContext& context, FrontierMode mode, const FrontierName& name,
                const FrontierPut& put, const Reporter& reporter) {
  PageNews news = {.host = name.key,
                   .known = put.known,
                   .never = put.known && put.due == 0 && context.config.frontier_zero_is_never,
                   .shadow = mode == FrontierMode::kShadow,
                   .report = std::nullopt};
  if (news.known && !news.never && put.reports) {
    news.report =
        ReportOfFetch(PageKey{.crawl_id = name.crawl, .url = name.url}, put.fetch.http_status,
                      put.fetch.digest, context.clock.Now(), reporter);
  }
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
      put.asked.push_back(news.shadow ? std::nullopt : std::optional(i));
    };
    if (news.never) {
      add(RemovalOf(put.names[i]));
      continue;
    }
    add(UpsertOf(put.names[i]));
    if (news.report) add(*std::move(news.report));
  }
  return events;
}

// Returns true if the client need not wait for the events: no outcome depends on them, and some go
// to other divisions. In shadow mode, a division that cannot be reached must not delay the client.
// SubmitUnawaited limits the memory for events of this kind.
bool NobodyWaits(const ServerContext& context, const PutUnderWay& put,
                 const std::vector<RoutedEvent>& events) {
  return std::none_of(put.asked.begin(), put.asked.end(),
                      [](const auto& place) { return place.has_value(); }) &&
         std::any_of(events.begin(), events.end(), [&context](const RoutedEvent& event) {
           return context.url_pages.IsElsewhere(event.slot);
         });
}

// Sets the outcomes of URLs whose event was refused: kSkipped if the page can never take the event,
// otherwise kFailed, after which the client sends the URL again. Returns the refused URLs, except
// those of divisions that did not answer.
std::vector<FrontierName> TakeReplies(const std::vector<Reply>& replies, PutUnderWay& put) {
  std::vector<FrontierName> refused;
  for (size_t i = 0; i < replies.size(); ++i) {
    const Status& status = replies[i].status;
    // NotFound means that there was no page to remove.
    if (status.ok() || absl::IsNotFound(status) || !put.asked[i]) continue;
    const size_t url = *put.asked[i];
    put.outcomes[put.places[url]] =
        absl::IsInvalidArgument(status) ? FrontierOutcome::kSkipped : FrontierOutcome::kFailed;
    // A division that does not answer may have applied the event.
    if (!absl::IsUnavailable(status)) refused.push_back(put.names[url]);
  }
  return refused;
}

// Removes the refused URLs from the frontier, except those that it already had at `since`. A URL
// without a page would escape the limits on pages. Always calls `done`.
void TakeBack(const ServerContext& context, std::vector<FrontierName> refused, uint64_t since,
              std::function<void()> done) {
  if (refused.empty()) return done();
  context.frontier->Run<bool>(
      [refused = std::move(refused), since](FrontierState& state) -> StatusOr<bool> {
        for (const FrontierName& name : refused) {
          const FrontierQueue* queue = state.table().Find(name.crawl, name.key);
          const StatusOr<FrontierItem> item = state.Read({&name, 1}).front();
          if (queue == nullptr || !item.ok() || item->created < since) continue;
          RETURN_IF_ERROR(state.RemoveOlder(queue->id, {&name.url, 1}, item->created + 1).status());
        }
        return true;
      },
      [done = std::move(done)](const StatusOr<bool>&) { done(); });
}

// --- Outgoing URLs

// Removes a page that must never be handed out again. If its URL is put again in the meantime, the
// page is added again.
void RemoveEnded(const ServerContext& context, const FrontierName& name) {
  const Slot slot = SlotOfHost(name.key);
  context.url_pages.Tell(
      {.slot = slot, .event = RemovalOf(name), .notes = {}}, [&context, name, slot](const Status&) {
        context.frontier->Read<FrontierItem>(
            [name](const FrontierState& state) {
              return state.Read({&name, 1}).front();
            },
            [&context, name, slot](const StatusOr<FrontierItem>& item) {
              if (!item.ok() || item->due == 0) return;
              context.url_pages.Tell({.slot = slot, .event = UpsertOf(name), .notes = {}},
                                     [](const Status&) {});
            });
      });
}

// Leased pages with the frontier's data about their URLs. The numbers are positions in the pull.
struct DescribedPages {
  std::vector<std::pair<size_t, FrontierServed>> served;
  std::vector<size_t> ended;    // must never be handed out again
  std::vector<size_t> refused;  // refused for now
};

// Reads the metadata of the URLs, until the pull has its maximum size in bytes. A page without an
// entry has no metadata.
StatusOr<DescribedPages> DescribePages(const FrontierState& state,
                                       const std::vector<FrontierName>& names) {
  DescribedPages pages;
  const std::vector<StatusOr<FrontierItem>> items = state.Read(names);
  size_t bytes = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!items[i].ok() && !absl::IsNotFound(items[i].status())) return items[i].status();
    if (items[i].ok() && items[i]->due == 0) {
      pages.ended.push_back(i);
      continue;
    }
    FrontierServed served = {.queue = {},
                             .crawl = names[i].crawl,
                             .key = names[i].key,
                             .url = names[i].url,
                             .metadata = items[i].ok() ? items[i]->metadata : std::string(),
                             .lease = {}};
    if (!state.settings().active || !AddBytes(BytesOf(served), &bytes)) {
      pages.refused.push_back(i);
    } else {
      pages.served.emplace_back(i, std::move(served));
    }
  }
  return pages;
}

// One pull over all divisions. Thread-safe.
class ScheduledPull final : public std::enable_shared_from_this<ScheduledPull> {
 public:
  ScheduledPull(const ServerContext& context, std::shared_ptr<FrontierPull> pull,
                Frontier::PullDone done)
      : context_(context), pull_(std::move(pull)), done_(std::move(done)) {}

  void Begin(const std::vector<std::string>& crawl_ids, const PullingClient& who) {
    pull_->over = true;
    // A pull from scheduled crawl ids cannot choose a queue.
    if (!pull_->key.empty() || !context_.frontier->status().active) return done_({});
    const auto most = static_cast<uint32_t>(std::min<uint64_t>(
        limits::kMaxUrlsPerPull, uint64_t{pull_->urls_per_queue} * pull_->queues));
    if (most == 0) return done_({});
    pull_->lease_seconds = PullLeaseSeconds(context_, pull_->lease_seconds);
    const std::map<uint32_t, uint32_t> shares = context_.url_pages.Shares(most);
    uint32_t own = most;
    for (const auto& [division, share] : shares) own -= share;
    {
      const MutexLock lock(mutex_);
      for (const auto& [division, share] : shares) asked_.insert(division);
      own_asked_ = own > 0;
    }
    if (!shares.empty()) GiveUpLater();
    for (const auto& [division, share] : shares) Ask(division, share, crawl_ids, who);
    if (own == 0) return;
    PullPages(
        context_,
        {.crawl_ids = crawl_ids, .who = who, .lease_seconds = pull_->lease_seconds, .most = own},
        [self = shared_from_this()](std::vector<Assignment> assignments) {
          std::vector<LeasedName> leased;
          for (Assignment& one : assignments) {
            leased.push_back({.lease = one.lease,
                              .name = {.crawl = std::move(one.key.crawl_id),
                                       .key = std::move(one.host),
                                       .url = std::move(one.key.url)}});
          }
          self->Take(std::nullopt, std::move(leased));
        });
  }

 private:
  struct LeasedName {
    LeaseId lease;
    FrontierName name;
  };

  // Stops waiting for other divisions after kElsewherePatience.
  void GiveUpLater() {
    alarm_.Set(std::chrono::system_clock::now() + kElsewherePatience,
               [weak = weak_from_this()](bool due) {
                 const std::shared_ptr<ScheduledPull> self = due ? weak.lock() : nullptr;
                 if (self != nullptr) self->GiveUp();
               });
  }

  void GiveUp() {
    std::set<uint32_t> late;
    {
      const MutexLock lock(mutex_);
      late.swap(asked_);
    }
    for (const uint32_t division : late) context_.url_pages.Rest(division);
    ServeIfAll();
  }

  void Ask(uint32_t division, uint32_t share, const std::vector<std::string>& crawl_ids,
           const PullingClient& who) {
    v1::LeaseUrlsRequest request;
    for (const std::string& crawl_id : crawl_ids) request.add_crawl_ids(crawl_id);
    request.set_address(who.address);
    request.set_client(who.client);
    request.set_max_urls(share);
    request.set_lease_seconds(pull_->lease_seconds);
    context_.url_pages.Lease(
        division, request,
        [self = shared_from_this(), division](const v1::LeaseUrlsResponse& response) {
          std::vector<LeasedName> leased;
          for (const v1::LeasedUrl& url : response.urls()) {
            StatusOr<FrontierName> name = ScheduledName(url.page().crawl_id(), url.page().url());
            const LeaseId lease(url.lease_id());
            if (name.ok()) {
              leased.push_back({.lease = lease, .name = *std::move(name)});
            } else {
              self->context_.url_pages.GiveBack({lease});
            }
          }
          self->Take(division, std::move(leased));
        });
  }

  // `division` is another division; unset = this one.
  void Take(std::optional<uint32_t> division, std::vector<LeasedName> leased) {
    bool late = false;
    {
      const MutexLock lock(mutex_);
      if (division) {
        late = asked_.erase(*division) == 0;
      } else {
        own_asked_ = false;
      }
      if (!late) std::move(leased.begin(), leased.end(), std::back_inserter(leased_));
    }
    if (!late) return ServeIfAll();
    std::vector<LeaseId> leases;
    for (const LeasedName& one : leased) leases.push_back(one.lease);
    context_.url_pages.GiveBack(leases);
  }

  void ServeIfAll() {
    {
      const MutexLock lock(mutex_);
      if (own_asked_ || !asked_.empty() || std::exchange(serving_, true)) return;
    }
    alarm_.Cancel();
    Serve();
  }

  // Describes the leased pages, as many as the call wants of each host. Gives the other leases
  // back.
  void Serve() {
    std::vector<FrontierName> names;
    std::vector<LeaseId> leases;
    std::vector<LeaseId> too_many;
    std::map<std::string, uint32_t> by_queue;
    {
      const MutexLock lock(mutex_);
      for (LeasedName& one : leased_) {
        const std::string& host = one.name.key;
        const bool full = by_queue.size() >= pull_->queues && !by_queue.contains(host);
        if (full || by_queue[host] >= pull_->urls_per_queue) {
          too_many.push_back(one.lease);
          continue;
        }
        ++by_queue[host];
        leases.push_back(one.lease);
        names.push_back(std::move(one.name));
      }
      leased_.clear();
    }
    context_.url_pages.GiveBack(too_many);
    if (names.empty()) return done_({});
    const auto shared = std::make_shared<const std::vector<FrontierName>>(std::move(names));
    context_.frontier->Read<DescribedPages>(
        [shared](const FrontierState& state) { return DescribePages(state, *shared); },
        [self = shared_from_this(), shared, leases = std::move(leases)](
            StatusOr<DescribedPages> pages) { self->Finish(*shared, leases, std::move(pages)); },
        pull_->taker.client, shared->size());
  }

  void Finish(const std::vector<FrontierName>& names, const std::vector<LeaseId>& leases,
              StatusOr<DescribedPages> pages) {
    if (!pages.ok()) {
      context_.url_pages.GiveBack(leases);
      return done_({});
    }
    std::vector<LeaseId> refused;
    for (const size_t place : pages->refused) refused.push_back(leases[place]);
    context_.url_pages.GiveBack(refused);
    for (const size_t place : pages->ended) RemoveEnded(context_, names[place]);
    std::vector<FrontierServed> served;
    for (auto& [place, url] : pages->served) {
      url.lease = leases[place];
      served.push_back(std::move(url));
    }
    context_.counters.pages_of_urls += served.size();
    done_(std::move(served));
  }

  const ServerContext& context_;
  const std::shared_ptr<FrontierPull> pull_;
  const Frontier::PullDone done_;
  grpc::Alarm alarm_;
  Mutex mutex_;
  bool own_asked_ FRESHET_GUARDED_BY(mutex_) = false;
  // Other divisions that have not answered yet.
  std::set<uint32_t> asked_ FRESHET_GUARDED_BY(mutex_);
  bool serving_ FRESHET_GUARDED_BY(mutex_) = false;
  std::vector<LeasedName> leased_ FRESHET_GUARDED_BY(mutex_);
};

}  // namespace

bool IsScheduled(const ServerContext& context, std::string_view crawl) {
  return context.crawls.modes()->Of(crawl) == FrontierMode::kScheduled;
}

std::optional<FrontierName> PageOfUrl(FrontierMode mode, const std::string& crawl,
                                      std::string_view key, std::string_view url) {
  if (mode == FrontierMode::kDates) return std::nullopt;
  StatusOr<FrontierName> name = ScheduledName(crawl, std::string(url));
  const bool has_one =
      name.ok() && (mode == FrontierMode::kShadow || (name->url == url && name->key == key));
  return has_one ? std::optional(*std::move(name)) : std::nullopt;
}

RemovePage RemovalOf(const FrontierName& name) {
  return {.key = {.crawl_id = name.crawl, .url = name.url}, .as_sent = std::nullopt};
}

StatusOr<FrontierName> ScheduledName(const std::string& crawl, const std::string& url) {
  ASSIGN_OR_RETURN(CanonicalUrl canonical, Canonicalise(url));
  return FrontierName{
      .crawl = crawl, .key = std::move(canonical.host), .url = std::move(canonical.text)};
}

bool PutUrls(const ServerContext& context, std::vector<FrontierPut> puts, const Reporter& reporter,
             Frontier::PutDone done) {
  const std::shared_ptr<const FrontierModes> modes = context.crawls.modes();
  const bool any = !modes->empty() && std::any_of(puts.begin(), puts.end(), [&](const auto& put) {
    return modes->Of(put.crawl) != FrontierMode::kDates;
  });
  if (!any) return context.frontier->Put(std::move(puts), std::move(done));
  auto under_way = std::make_shared<PutUnderWay>();
  under_way->done = std::move(done);
  under_way->outcomes.assign(puts.size(), FrontierOutcome::kSkipped);
  under_way->since = context.frontier->NowSeconds();
  const uint64_t client = puts.front().claim.client;
  std::vector<FrontierPut> taken;
  for (size_t i = 0; i < puts.size(); ++i) {
    FrontierPut& put = puts[i];
    FrontierName name;
    std::optional<PageNews> news;
    if (const FrontierMode mode = modes->Of(put.crawl); mode != FrontierMode::kDates) {
      StatusOr<FrontierName> canonical = ScheduledName(put.crawl, put.url);
      if (canonical.ok() && CheckUrlSize(canonical->url, context.config).ok()) {
        name = *std::move(canonical);
        news = NewsOf(context, mode, name, put, reporter);
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
  return context.frontier->Put(std::move(taken), [&context, under_way, client](
                                                     const std::vector<FrontierOutcome>& outcomes) {
    std::vector<RoutedEvent> events = EventsFor(*under_way, outcomes);
    if (events.empty()) return under_way->done(under_way->outcomes);
    if (NobodyWaits(context, *under_way, events) &&
        context.url_pages.SubmitUnawaited(&events, client)) {
      return under_way->done(under_way->outcomes);
    }
    // The result of Submit does not matter here, because the limit on unacknowledged items already
    // holds up the stream.
    (void)context.url_pages.Submit(
        std::move(events),
        [&context, under_way](std::vector<Reply> replies) {
          TakeBack(context, TakeReplies(replies, *under_way), under_way->since,
                   [under_way] { under_way->done(under_way->outcomes); });
        },
        client);
  });
}

void PullUrls(const ServerContext& context, const std::shared_ptr<FrontierPull>& pull, size_t most,
              const PullingClient& who, Frontier::PullDone done) {
  const std::shared_ptr<const FrontierModes> modes = context.crawls.modes();
  if (pull->crawl && modes->Of(*pull->crawl) == FrontierMode::kScheduled) {
    return std::make_shared<ScheduledPull>(context, pull, std::move(done))
        ->Begin({*pull->crawl}, who);
  }
  if (pull->crawl || modes->scheduled().empty()) {
    pull->except = nullptr;
    return context.frontier->Pull(pull, most, std::move(done));
  }
  // A pull from any crawl id first gets URLs by date, and then URLs of scheduled crawl ids.
  pull->except = {modes, &modes->scheduled()};
  context.frontier->Pull(
      pull, most,
      [&context, pull, who, done = std::move(done)](std::vector<FrontierServed> served) {
        const std::shared_ptr<const std::vector<std::string>> scheduled =
            std::exchange(pull->except, nullptr);
        std::vector<std::string> asked;
        for (const std::string& crawl : *scheduled) {
          if (pull->Serves(crawl)) asked.push_back(crawl);
        }
        const bool goes_on = !served.empty() || !pull->over;
        if (goes_on || pull->queues == 0 || asked.empty()) return done(std::move(served));
        std::make_shared<ScheduledPull>(context, pull, done)->Begin(asked, who);
      });
}

void GiveBackUrls(const ServerContext& context, std::vector<FrontierServed> served,
                  uint64_t client) {
  std::vector<LeaseId> leases;
  for (const FrontierServed& url : served) {
    if (url.lease != LeaseId()) leases.push_back(url.lease);
  }
  context.url_pages.GiveBack(leases);
  std::erase_if(served, [](const FrontierServed& url) { return url.lease != LeaseId(); });
  if (!served.empty()) context.frontier->GiveBack(std::move(served), client);
}

void BlockScheduledHost(const ServerContext& context, BlockHost block,
                        std::function<void(const Status&)> done) {
  context.frontier->Read<bool>(
      [crawl = block.crawl_id, host = block.host](const FrontierState& state) -> StatusOr<bool> {
        const FrontierQueue* queue = state.table().Find(crawl, host);
        return queue != nullptr && queue->has_urls();
      },
      [&context, block, done = std::move(done)](const StatusOr<bool>& known) {
        if (!known.ok()) return done(known.status());
        if (!*known) return done(NotFound("key: {} has no URL of the crawl id", block.host));
        const Slot slot = SlotOfHost(block.host);
        RoutedEvent event = {.slot = slot, .event = block, .notes = {}};
        if (context.url_pages.IsElsewhere(slot)) {
          return context.url_pages.Tell(std::move(event), done);
        }
        context.url_pages.Tell(std::move(event), [](const Status&) {});
        done(absl::OkStatus());
      });
}

}  // namespace freshet
