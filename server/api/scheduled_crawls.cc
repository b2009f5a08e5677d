#include "server/api/scheduled_crawls.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "core/base/check.h"
#include "core/base/url.h"
#include "grpcpp/alarm.h"
#include "server/api/page_pull.h"
#include "server/api/url_events.h"
#include "server/api/url_pages.h"
#include "server/base/frontier_limits.h"
#include "server/config.h"
#include "server/engine/crawls.h"
#include "server/engine/frontier_modes.h"
#include "server/frontier/frontier_names.h"
#include "sync/mutex.h"
#include "urlfrontier/urlfrontier.pb.h"

namespace freshet {
namespace {

// For other divisions, on top of what they wait for pages.
constexpr std::chrono::milliseconds kElsewherePatience{1000};

// --- What comes in

// The first value of the first of these keys that is there, in whatever case: some releases of
// clients write all keys in lower case. Among several spellings the given one comes first.
std::string FirstOf(const urlfrontier::URLInfo& info, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) {
    const urlfrontier::StringList* found = nullptr;
    std::string_view spelling;
    for (const auto& [name, values] : info.metadata()) {
      if (values.values().empty() || !absl::EqualsIgnoreCase(name, key)) continue;
      const bool first = found == nullptr || name == key;
      if (!first && (spelling == key || spelling < name)) continue;
      found = &values;
      spelling = name;
    }
    if (found != nullptr) return found->values(0);
  }
  return {};
}

// What a fetch has found, as far as its metadata says.
ReportCrawl ReportOf(const ServerContext& context, const FrontierName& name,
                     const FrontierPut& put) {
  urlfrontier::URLInfo info;
  (void)info.MergeFromString(put.metadata);  // was read before it came here
  int status = 0;
  if (!absl::SimpleAtoi(FirstOf(info, context.config.frontier_status_keys), &status)) status = 0;
  return ReportOfFetch(PageKey{.crawl_id = name.crawl, .url = name.url}, status,
                       FirstOf(info, context.config.frontier_digest_keys), context.clock.Now());
}

// What the page of a URL is told once the frontier has taken it.
struct PageNews {
  std::string host;
  bool known = false;
  bool never = false;  // again
  // Whatever the page makes of it, the URL is acknowledged as the frontier has taken it.
  bool shadow = false;
  std::optional<ReportCrawl> report;  // of one that is known, by a client that may make one
};

// One call of Put.
struct PutUnderWay {
  Frontier::PutDone done;
  std::vector<FrontierOutcome> outcomes;
  std::vector<size_t> places;                  // among these, by URL that the frontier was given
  std::vector<std::optional<PageNews>> pages;  // likewise; unset: of a crawl id without pages
  std::vector<FrontierName> names;             // likewise: of the page
  // By event: the URL, among those that the frontier was given, whose outcome depends on it; unset:
  // none's.
  std::vector<std::optional<size_t>> asked;
  uint64_t since = 0;  // what it has made in the frontier is no older
};

PageNews NewsOf(const ServerContext& context, FrontierMode mode, const FrontierName& name,
                const FrontierPut& put) {
  PageNews news = {.host = name.key,
                   .known = put.known,
                   .never = put.known && put.due == 0 && context.config.frontier_zero_is_never,
                   .shadow = mode == FrontierMode::kShadow,
                   .report = std::nullopt};
  if (news.known && !news.never && put.reports) news.report = ReportOf(context, name, put);
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

// In shadow mode a division that is away must not hold the client up, as far as that needs no more
// memory than it may have.
bool NobodyWaits(const ServerContext& context, const PutUnderWay& put,
                 const std::vector<RoutedEvent>& events) {
  return std::none_of(put.asked.begin(), put.asked.end(),
                      [](const auto& place) { return place.has_value(); }) &&
         std::any_of(events.begin(), events.end(), [&context](const RoutedEvent& event) {
           return context.url_pages.IsElsewhere(event.slot);
         });
}

// What the page could not take is to be sent again, but for what it never will. Returns the URLs
// that have no page.
std::vector<FrontierName> TakeReplies(const std::vector<Reply>& replies, PutUnderWay& put) {
  std::vector<FrontierName> refused;
  for (size_t i = 0; i < replies.size(); ++i) {
    const Status& status = replies[i].status;
    // There was no page to remove.
    if (status.ok() || absl::IsNotFound(status) || !put.asked[i]) continue;
    const size_t url = *put.asked[i];
    put.outcomes[put.places[url]] =
        absl::IsInvalidArgument(status) ? FrontierOutcome::kSkipped : FrontierOutcome::kFailed;
    // A division that does not answer may have taken it.
    if (!absl::IsUnavailable(status)) refused.push_back(put.names[url]);
  }
  return refused;
}

// A URL that is new and has no page leaves the frontier again: it would count for no limit of
// pages. `done` follows in any case.
void TakeBack(const ServerContext& context, std::vector<FrontierName> refused, uint64_t since,
              std::function<void()> done) {
  if (refused.empty()) return done();
  context.frontier->Run<bool>(
      [refused = std::move(refused), since](FrontierState& state) -> StatusOr<bool> {
        for (const FrontierName& name : refused) {
          const FrontierQueue* queue = state.table().Find(name.crawl, name.key);
          const StatusOr<FrontierItem> item = state.Read(name.crawl, name.key, name.url);
          if (queue == nullptr || !item.ok() || item->created < since) continue;
          RETURN_IF_ERROR(state.RemoveOlder(queue->id, {&name.url, 1}, item->created + 1).status());
        }
        return true;
      },
      [done = std::move(done)](const StatusOr<bool>&) { done(); });
}

// --- What goes out

// A page that is never to be given out goes. Somebody may put its URL again at the same time: then
// it stays.
void RemoveEnded(const ServerContext& context, const FrontierName& name) {
  const Slot slot = SlotOfHost(name.key);
  context.url_pages.Tell(
      {.slot = slot, .event = RemovalOf(name), .notes = {}}, [&context, name, slot](const Status&) {
        context.frontier->Read<FrontierItem>(
            [name](const FrontierState& state) {
              return state.Read(name.crawl, name.key, name.url);
            },
            [&context, name, slot](const StatusOr<FrontierItem>& item) {
              if (!item.ok() || item->due == 0) return;
              context.url_pages.Tell({.slot = slot, .event = UpsertOf(name), .notes = {}},
                                     [](const Status&) {});
            });
      });
}

// One pull of all divisions. Thread-safe.
class ScheduledPull final : public std::enable_shared_from_this<ScheduledPull> {
 public:
  ScheduledPull(const ServerContext& context, std::shared_ptr<FrontierPull> pull,
                Frontier::PullDone done)
      : context_(context), pull_(std::move(pull)), done_(std::move(done)) {}

  void Begin(const std::vector<std::string>& crawl_ids, const PullingClient& who) {
    pull_->over = true;
    // Which queue is next is not the client's to say.
    const FrontierStatus frontier = context_.frontier->status();
    if (!pull_->key.empty() || !frontier.active) return done_({});
    deleted_ = frontier.totals.deleted;
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

  // Other divisions are waited for so long.
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

  // `division`: another one.
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

  // Takes over what was leased, as much of each host as the call wants.
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
    context_.frontier->Run<FrontierPicked>(
        [shared, seconds = pull_->lease_seconds, deleted = deleted_](FrontierState& state) {
          return state.ServeNamed(*shared, seconds, deleted);
        },
        [self = shared_from_this(), shared, leases = std::move(leases)](
            StatusOr<FrontierPicked> picked) { self->Finish(*shared, leases, std::move(picked)); });
  }

  void Finish(const std::vector<FrontierName>& names, const std::vector<LeaseId>& leases,
              StatusOr<FrontierPicked> picked) {
    if (!picked.ok()) {
      context_.url_pages.GiveBack(leases);
      return done_({});
    }
    std::vector<LeaseId> refused;
    for (const size_t place : picked->refused) refused.push_back(leases[place]);
    context_.url_pages.GiveBack(refused);
    for (const size_t place : picked->ended) RemoveEnded(context_, names[place]);
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
  uint64_t deleted_ = 0;  // URLs, before any page was asked for
  grpc::Alarm alarm_;
  Mutex mutex_;
  bool own_asked_ FRESHET_GUARDED_BY(mutex_) = false;
  std::set<uint32_t> asked_ FRESHET_GUARDED_BY(mutex_);  // other divisions
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

bool PutUrls(const ServerContext& context, std::vector<FrontierPut> puts, Frontier::PutDone done) {
  const std::shared_ptr<const FrontierModes> modes = context.crawls.modes();
  const bool any = !modes->empty() && std::any_of(puts.begin(), puts.end(), [&](const auto& put) {
    return modes->Of(put.crawl) != FrontierMode::kDates;
  });
  if (!any) return context.frontier->Put(std::move(puts), std::move(done));
  auto under_way = std::make_shared<PutUnderWay>();
  under_way->done = std::move(done);
  under_way->outcomes.assign(puts.size(), FrontierOutcome::kSkipped);
  under_way->since = context.frontier->NowSeconds();
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
  return context.frontier->Put(std::move(taken), [&context, under_way](
                                                     const std::vector<FrontierOutcome>& outcomes) {
    std::vector<RoutedEvent> events = EventsFor(*under_way, outcomes);
    if (events.empty()) return under_way->done(under_way->outcomes);
    if (NobodyWaits(context, *under_way, events) && context.url_pages.SubmitUnawaited(&events)) {
      return under_way->done(under_way->outcomes);
    }
    // The stream is not read any further than its unacknowledged items go anyway.
    (void)context.url_pages.Submit(
        std::move(events), [&context, under_way](std::vector<Reply> replies) {
          TakeBack(context, TakeReplies(replies, *under_way), under_way->since,
                   [under_way] { under_way->done(under_way->outcomes); });
        });
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
  // Of any: first those whose clients say when, then the others.
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

void GiveBackUrls(const ServerContext& context, std::vector<FrontierServed> served) {
  std::vector<LeaseId> leases;
  for (const FrontierServed& url : served) {
    if (url.lease != LeaseId()) leases.push_back(url.lease);
  }
  context.url_pages.GiveBack(leases);
  context.frontier->GiveBack(std::move(served));
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
