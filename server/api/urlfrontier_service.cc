#include "server/api/urlfrontier_service.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "core/base/url.h"
#include "server/api/faults.h"
#include "server/api/leased_pages.h"
#include "server/api/scheduled_crawls.h"
#include "server/api/unary.h"
#include "server/api/url_removal.h"
#include "server/api/urlfrontier_streams.h"
#include "server/base/answer_limits.h"
#include "server/base/frontier_limits.h"
#include "server/config.h"
#include "server/engine/crawls.h"
#include "server/frontier/frontier_names.h"
#include "server/frontier/frontier_scan.h"
#include "server/logs/loggers.h"

namespace freshet {
namespace {

using urlfrontier::Boolean;
using urlfrontier::Empty;
using urlfrontier::Long;
using urlfrontier::StringList;

constexpr uint64_t kSecondsPerDay = 86'400;
// The maximum number of queues that a list reads in one turn of the frontier.
constexpr size_t kQueuesPerTurn = 8192;

std::string CrawlOf(const std::string& crawl) { return std::string(FrontierCrawlName(crawl)); }

// The costs of reads in a turn of the frontier; a put of a URL costs 1. kReadCost is for data in
// memory. kReadUrlCost is for a stored URL, whose metadata can be 64 KiB in thousands of entries.
constexpr size_t kReadCost = 64;
constexpr size_t kReadUrlCost = 512;

// Makes a callback that answers the call with a result, which `fill` writes to the response.
template <typename T, typename Request, typename Response>
std::function<void(StatusOr<T>)> AnswerOf(UnaryCall<Request, Response>* call,
                                          std::function<void(T, Response*)> fill) {
  return [call, fill = std::move(fill)](StatusOr<T> result) {
    if (!result.ok()) return call->Answer(GrpcStatusOf(result.status()));
    fill(*std::move(result), call->response());
    call->Answer(grpc::Status::OK);
  };
}

// These run `work` or `look` on the frontier's thread. `fill` writes the result to the response of
// the call.
template <typename T, typename Request, typename Response>
void Run(const ServerContext& context, UnaryCall<Request, Response>* call,
         std::function<StatusOr<T>(FrontierState&)> work, std::function<void(T, Response*)> fill) {
  context.frontier->Run<T>(std::move(work), AnswerOf<T>(call, std::move(fill)),
                           call->caller().claim().client, kReadCost);
}
template <typename T, typename Request, typename Response>
void Read(const ServerContext& context, UnaryCall<Request, Response>* call,
          std::function<StatusOr<T>(const FrontierState&)> look,
          std::function<void(T, Response*)> fill, size_t cost = kReadCost) {
  context.frontier->Read<T>(std::move(look), AnswerOf<T>(call, std::move(fill)),
                            call->caller().claim().client, cost);
}

// Like Run, for changes without a result.
template <typename Request>
void RunChange(const ServerContext& context, UnaryCall<Request, Empty>* call,
               std::function<Status(FrontierState&)> work) {
  Run<bool, Request, Empty>(
      context, call,
      [work = std::move(work)](FrontierState& state) -> StatusOr<bool> {
        RETURN_IF_ERROR(work(state));
        return true;
      },
      [](bool, Empty*) {});
}

// Returns true if the caller may ask about this crawl id. If not, answers the call with an error.
template <typename Request, typename Response>
bool MayAsk(const std::string& crawl, UnaryCall<Request, Response>* call) {
  const Status status = call->caller().CheckCrawlId(crawl);
  if (!status.ok()) call->Answer(GrpcStatusOf(status));
  return status.ok();
}

void SetLong(uint64_t value, Long* response) { response->set_value(value); }

// --- The server

void ListNodes(const ServerContext& context, UnaryCall<Empty, StringList>* call) {
  call->response()->add_values(context.address());
  call->Answer(grpc::Status::OK);
}

void SetActive(const ServerContext& context, UnaryCall<urlfrontier::Active, Empty>* call) {
  const bool active = call->request().state();
  RunChange<urlfrontier::Active>(context, call, [call, active](FrontierState& state) {
    call->SetBefore([&state] {
      Boolean before;
      before.set_state(state.settings().active);
      return before;
    });
    state.SetActive(active);
    return absl::OkStatus();
  });
}

void GetActive(const ServerContext& context, UnaryCall<urlfrontier::Local, Boolean>* call) {
  Read<bool, urlfrontier::Local, Boolean>(
      context, call,
      [](const FrontierState& state) -> StatusOr<bool> { return state.settings().active; },
      [](bool active, Boolean* response) { response->set_state(active); });
}

void ChangeLogLevel(const ServerContext&, UnaryCall<urlfrontier::LogLevelParams, Empty>* call) {
  static constexpr std::string_view kLevels[] = {"trace", "debug", "info", "warn", "error"};
  const int level = call->request().level();
  if (level < 0 || level >= static_cast<int>(std::size(kLevels))) {
    return call->Answer(GrpcStatusOf(InvalidArgument("level: {} is not a known log level", level)));
  }
  // If the name is that of a module, sets the level of this module. Any other name sets the levels
  // of all modules, because clients mostly name packages of the reference implementation.
  const std::optional<LogModule> module = LogModuleNamed(call->request().package());
  const Status status =
      module ? SetLogLevel(*module, kLevels[level]) : SetLogLevels(kLevels[level]);
  call->Answer(GrpcStatusOf(status));
}

// --- Crawl ids

// Lists all crawl ids in one answer: there are at most kMaxFrontierCrawls.
void ListCrawls(const ServerContext& context, UnaryCall<urlfrontier::Local, StringList>* call) {
  if (!call->TakePlace()) return call->Answer(UnreadStatus(PushOutcome::kFull));
  using Names = std::vector<std::string>;
  Read<Names, urlfrontier::Local, StringList>(
      context, call,
      [caller = call->caller()](const FrontierState& state) -> StatusOr<Names> {
        Names names;
        for (const auto& [number, crawl] : state.table().crawls()) {
          // A caller does not see the crawl ids that it may not ask about.
          if (crawl->counts.queues > 0 && caller.CheckCrawlId(crawl->name).ok()) {
            names.push_back(crawl->name);
          }
        }
        return names;
      },
      [](Names names, StringList* response) {
        response->mutable_values()->Assign(names.begin(), names.end());
      });
}

// --- Queues

// Lists a section of the queues of a crawl id. Each turn of the frontier adds a part, so that long
// lists delay no other call. The section ends when the answer is full. Thread-compatible.
class QueueList : public std::enable_shared_from_this<QueueList> {
 public:
  using Call = UnaryCall<urlfrontier::Pagination, urlfrontier::QueueList>;
  QueueList(const ServerContext& context, Call* call)
      : context_(context), call_(call), crawl_(CrawlOf(call->request().crawlid())) {
    to_skip_ = call->request().start();
    left_ = call->request().size() > 0 ? call->request().size() : limits::kUsualFrontierPage;
    left_ = std::min<uint64_t>(left_, limits::kMaxListedQueues);
  }

  void GoOn() {
    if (call_->cancelled()) return call_->Answer(grpc::Status::CANCELLED);
    context_.frontier->Read<bool>(
        [self = shared_from_this(), now = context_.frontier->NowSeconds()](
            const FrontierState& state) -> StatusOr<bool> { return self->Look(state, now); },
        [self = shared_from_this()](StatusOr<bool> over) {
          if (!over.ok()) return self->call_->Answer(GrpcStatusOf(over.status()));
          if (!*over) return self->GoOn();
          self->Answer();
        },
        call_->caller().claim().client, kReadCost);
  }

 private:
  // Reads some queues. Returns true if the section is complete.
  bool Look(const FrontierState& state, uint64_t now) {
    const FrontierCrawl* crawl = state.table().FindCrawl(crawl_);
    if (crawl == nullptr) return true;
    auto it = last_key_ ? crawl->queues.upper_bound(*last_key_) : crawl->queues.begin();
    for (size_t looked = 0; it != crawl->queues.end() && left_ > 0; ++it, ++looked) {
      if (looked == kQueuesPerTurn) return false;
      last_key_ = it->first;
      if (!IsListed(*it->second, now)) continue;
      if (to_skip_ > 0) {
        --to_skip_;
        continue;
      }
      bytes_ += it->first.size();
      if (bytes_ > limits::kMaxListedQueueBytes) return true;
      call_->response()->add_values(it->first);
      --left_;
    }
    return true;
  }

  [[nodiscard]] bool IsListed(const FrontierQueue& queue, uint64_t now) const {
    if (call_->request().include_inactive()) return queue.has_urls();
    return queue.record.active > 0 && queue.record.block_end() < now;
  }

  void Answer() {
    urlfrontier::QueueList& response = *call_->response();
    response.set_start(call_->request().start());
    response.set_size(static_cast<uint32_t>(response.values_size()));
    response.set_crawlid(crawl_);
    call_->Answer(grpc::Status::OK);
  }

  const ServerContext& context_;
  Call* const call_;
  const std::string crawl_;
  std::optional<std::string> last_key_;
  uint64_t to_skip_ = 0;
  uint64_t left_ = 0;
  size_t bytes_ = 0;  // bytes of the keys in the answer
};

void ListQueues(const ServerContext& context, QueueList::Call* call) {
  if (!MayAsk(CrawlOf(call->request().crawlid()), call)) return;
  if (!call->TakePlace()) return call->Answer(UnreadStatus(PushOutcome::kFull));
  std::make_shared<QueueList>(context, call)->GoOn();
}

using StatsCall = UnaryCall<urlfrontier::QueueWithinCrawlParams, urlfrontier::Stats>;

// Answers with the counts. `leased` is the number of URLs that are leased as pages; nullopt = the
// crawl id is not scheduled.
void AnswerStats(const ServerContext& context, StatsCall* call, const std::string& crawl,
                 std::optional<uint64_t> leased) {
  Read<FrontierCounts, urlfrontier::QueueWithinCrawlParams, urlfrontier::Stats>(
      context, call,
      [crawl, key = call->request().key()](const FrontierState& state) -> StatusOr<FrontierCounts> {
        const FrontierCrawl* found = state.table().FindCrawl(crawl);
        if (found == nullptr) return FrontierCounts();
        if (key.empty()) return found->counts;
        const FrontierQueue* queue = state.table().Find(crawl, key);
        if (queue == nullptr || !queue->has_urls()) return FrontierCounts();
        return FrontierCounts{.active = queue->record.active,
                              .completed = queue->record.completed,
                              .in_flight = queue->flights.size(),
                              .queues = 1,
                              .active_queues = queue->record.active > 0 ? 1U : 0U};
      },
      [crawl, leased](FrontierCounts counts, urlfrontier::Stats* response) {
        response->set_size(counts.active);
        response->set_inprocess(static_cast<uint32_t>(leased.value_or(counts.in_flight)));
        (*response->mutable_counts())["completed"] = counts.completed;
        (*response->mutable_counts())["active_queues"] = counts.active_queues;
        response->set_numberofqueues(counts.queues);
        response->set_crawlid(crawl);
      });
}

void GetStats(const ServerContext& context, StatsCall* call) {
  const std::string crawl = CrawlOf(call->request().crawlid());
  if (!MayAsk(crawl, call)) return;
  if (!IsScheduled(context, crawl)) return AnswerStats(context, call, crawl, std::nullopt);
  if (!call->TakePlace()) return call->Answer(UnreadStatus(PushOutcome::kFull));
  v1::CountLeasedPagesRequest request;
  request.set_crawl_id(crawl);
  request.set_host(call->request().key());
  CountLeasedPages(context, request, [&context, call, crawl](const StatusOr<uint64_t>& leased) {
    if (!leased.ok()) return call->Answer(GrpcStatusOf(leased.status()));
    AnswerStats(context, call, crawl, *leased);
  });
}

// Whether a queue can have these names.
bool NamesAQueue(const std::string& crawl, const std::string& key) {
  return !key.empty() && IsFrontierName(key) && IsFrontierName(crawl);
}

// Answers a call that does nothing, and records that in the audit log.
template <typename Request>
void AnswerUnchanged(UnaryCall<Request, Empty>* call) {
  call->NoteNoChange();
  call->Answer(grpc::Status::OK);
}

// The role in which the caller changes settings that also affect other callers.
SetBy SetterOf(const Caller& caller) {
  return caller.is_admin() ? SetBy::kOperator : SetBy::kClient;
}

// A crawler may block a host for at most the longest pause that the host can ask for, an admin for
// kMaxBlockSeconds.
uint64_t BlockEnd(const ServerContext& context, const Caller& caller, uint64_t until) {
  const Duration longest = caller.is_admin() ? Duration::Seconds(limits::kMaxBlockSeconds)
                                             : context.config.host_backoff.longest_asked;
  const auto seconds = static_cast<uint64_t>(longest.micros() / 1'000'000);
  return std::min(until, context.frontier->NowSeconds() + seconds);
}

using BlockCall = UnaryCall<urlfrontier::BlockQueueParams, Empty>;

// Blocks a host of a scheduled crawl id: its pages and its queue. A host without pages is treated
// as an unknown queue.
void BlockScheduled(const ServerContext& context, BlockCall* call, const std::string& crawl,
                    const std::string& host, uint64_t until) {
  const SetBy by = SetterOf(call->caller());
  BlockScheduledHost(
      context,
      {.host = host,
       .crawl_id = crawl,
       .until = Instant::FromUnixSeconds(static_cast<int64_t>(until)),
       .asked = by == SetBy::kClient},
      [&context, call, crawl, host, until, by](const Status& status) {
        if (absl::IsNotFound(status)) return AnswerUnchanged(call);
        if (!status.ok()) return call->Answer(GrpcStatusOf(status));
        RunChange<urlfrontier::BlockQueueParams>(
            context, call, [call, crawl, host, until, by](FrontierState& state) -> Status {
              if (state.table().Find(crawl, host) == nullptr) return absl::OkStatus();
              return state.BlockUntil(crawl, host, until, call->caller().claim(), by);
            });
      });
}

void BlockQueueUntil(const ServerContext& context, BlockCall* call) {
  const auto& request = call->request();
  const std::string crawl = CrawlOf(request.crawlid());
  if (!MayAsk(crawl, call)) return;
  if (!NamesAQueue(crawl, request.key())) return AnswerUnchanged(call);
  call->SetTarget(crawl + '\n' + request.key());
  const uint64_t until = BlockEnd(context, call->caller(), request.time());
  if (IsScheduled(context, crawl)) {
    const StatusOr<CanonicalUrl> url = Canonicalise("http://" + request.key() + "/");
    if (!url.ok()) return AnswerUnchanged(call);
    return BlockScheduled(context, call, crawl, url->host, until);
  }
  RunChange<urlfrontier::BlockQueueParams>(
      context, call, [call, crawl, until](FrontierState& state) {
        return state.BlockUntil(crawl, call->request().key(), until, call->caller().claim(),
                                SetterOf(call->caller()));
      });
}

// Sets the default delay of all queues without a delay of their own. Only an admin may change it.
// Any client may set the present value again, as scrapy-url-frontier does at its start.
Status SetDefaultDelay(FrontierState& state,
                       UnaryCall<urlfrontier::QueueDelayParams, Empty>* call) {
  const uint32_t before = state.settings().default_delay;
  const uint32_t delay = call->request().delay_requestable();
  if (delay == before) {
    call->NoteNoChange();
    return absl::OkStatus();
  }
  if (!call->caller().is_admin()) {
    return MakeStatus(absl::StatusCode::kPermissionDenied,
                      "key: is empty, which would change the default delay of all queues (now {} "
                      "s); only an admin may do that: give a key",
                      before);
  }
  call->SetBefore([before] {
    urlfrontier::QueueDelayParams params;
    params.set_delay_requestable(before);
    return params;
  });
  return state.SetDelay({}, {}, delay);
}

void SetDelay(const ServerContext& context, UnaryCall<urlfrontier::QueueDelayParams, Empty>* call) {
  const auto& request = call->request();
  const std::string crawl = CrawlOf(request.crawlid());
  if (!MayAsk(crawl, call)) return;
  if (request.key().empty()) {
    return RunChange<urlfrontier::QueueDelayParams>(
        context, call, [call](FrontierState& state) { return SetDefaultDelay(state, call); });
  }
  if (!NamesAQueue(crawl, request.key())) return AnswerUnchanged(call);
  call->SetTarget(crawl + '\n' + request.key());
  RunChange<urlfrontier::QueueDelayParams>(context, call, [call, crawl](FrontierState& state) {
    return state.SetDelay(crawl, call->request().key(), call->request().delay_requestable(),
                          call->caller().claim(), SetterOf(call->caller()));
  });
}

void SetCrawlLimit(const ServerContext& context,
                   UnaryCall<urlfrontier::CrawlLimitParams, Empty>* call) {
  const auto& request = call->request();
  RunChange<urlfrontier::CrawlLimitParams>(
      context, call,
      [crawl = CrawlOf(request.crawlid()), key = request.key(),
       limit = request.limit()](FrontierState& state) -> Status {
        Status status = state.SetLimit(crawl, key, limit);
        // Clients expect the code UNKNOWN for an unknown queue.
        if (absl::IsNotFound(status)) return absl::UnknownError(status.message());
        return status;
      });
}

// --- URLs

void GetURLStatus(const ServerContext& context,
                  UnaryCall<urlfrontier::URLStatusRequest, urlfrontier::URLItem>* call) {
  const auto& request = call->request();
  if (request.url().empty()) {
    return call->Answer(GrpcStatusOf(InvalidArgument("url: is empty")));
  }
  std::string key = request.key();
  if (key.empty()) key = std::string(FrontierHostOf(request.url()));
  if (key.empty()) {
    return call->Answer(GrpcStatusOf(InvalidArgument("key: is empty, and the URL has no host")));
  }
  const std::string crawl = CrawlOf(request.crawlid());
  if (!MayAsk(crawl, call)) return;
  std::string url = request.url();
  if (IsScheduled(context, crawl)) {
    StatusOr<FrontierName> name = ScheduledName(crawl, url);
    if (!name.ok()) return call->Answer(GrpcStatusOf(name.status()));
    key = std::move(name->key);
    url = std::move(name->url);
  }
  Read<FrontierItem, urlfrontier::URLStatusRequest, urlfrontier::URLItem>(
      context, call,
      [name = FrontierName{.crawl = crawl, .key = key, .url = url}](const FrontierState& state) {
        return state.Read({&name, 1}).front();
      },
      [crawl, key, url](FrontierItem item, urlfrontier::URLItem* response) {
        urlfrontier::KnownURLItem& known = *response->mutable_known();
        (void)known.mutable_info()->MergeFromString(item.metadata);
        known.mutable_info()->set_url(url);
        known.mutable_info()->set_key(key);
        known.mutable_info()->set_crawlid(crawl);
        known.set_refetchable_from_date(item.due);
        response->set_creation_date(item.created);
      },
      kReadUrlCost);
}

// Counts or removes URLs in the background, slice by slice. Thread-compatible: one slice runs at a
// time.
template <typename Request>
class Sweep : public std::enable_shared_from_this<Sweep<Request>> {
 public:
  using Call = UnaryCall<Request, Long>;
  using Last = std::function<void(FrontierState&)>;
  // `before`: the sweep removes URLs that were put earlier than this; unset = it only counts URLs.
  // `last` is called at the end; nullptr = none.
  Sweep(const ServerContext& context, Call* call, const FrontierQuery& query,
        std::optional<uint64_t> before, Last last = nullptr)
      : context_(context),
        call_(call),
        crawl_(query.crawl),
        before_(before),
        last_(std::move(last)),
        scan_(*context.frontier, query) {}

  void Begin() {
    if (!call_->TakePlace()) return call_->Answer(UnreadStatus(PushOutcome::kFull));
    GoOn();
  }

 private:
  void GoOn() {
    const bool posted = context_.background.Post(
        call_->client(), [self = this->shared_from_this()] { self->Slice(); });
    if (!posted) call_->Answer({grpc::StatusCode::UNAVAILABLE, "the server is shutting down"});
  }

  void Slice() {
    if (call_->cancelled()) return call_->Answer(grpc::Status::CANCELLED);
    std::vector<UrlsOfQueue> old;
    const Status status =
        scan_.Slice(limits::kFrontierSlice, [this, &old](const FrontierScan::Found& found) {
          if (!before_) {
            ++count_;
          } else if (found.item.created < *before_) {
            AddUrl(found.queue, found.key, found.url, &old);
          }
          return true;
        });
    if (!status.ok()) return call_->Answer(GrpcStatusOf(status));
    if (old.empty()) return EndSlice();
    RemoveUrls(context_, crawl_, std::move(old), *before_,
               [self = this->shared_from_this()](StatusOr<uint64_t> removed) {
                 if (!removed.ok()) return self->call_->Answer(GrpcStatusOf(removed.status()));
                 self->count_ += *removed;
                 self->EndSlice();
               });
  }

  void EndSlice() {
    if (!scan_.over()) return GoOn();
    if (last_ == nullptr) {
      SetLong(count_, call_->response());
      return call_->Answer(grpc::Status::OK);
    }
    Run<uint64_t, Request, Long>(
        context_, call_,
        [self = this->shared_from_this()](FrontierState& state) -> StatusOr<uint64_t> {
          self->last_(state);
          return self->count_;
        },
        SetLong);
  }

  const ServerContext& context_;
  Call* const call_;
  const std::string crawl_;
  const std::optional<uint64_t> before_;
  const Last last_;
  FrontierScan scan_;
  uint64_t count_ = 0;
};

// Deletes the URLs of a crawl id, or of its queue `key`. In dates mode, `at_once` removes the URLs
// and returns their number. In other modes, URLs have pages: a sweep removes both, slice by slice,
// and then calls `last`. The mode is read on the frontier's thread, so that a page that AdoptUrls
// makes is sent before its removal (server/api/frontier_adoption.h).
template <typename Request>
void DeleteUrls(const ServerContext& context, UnaryCall<Request, Long>* call,
                const std::string& crawl, const std::string& key,
                std::function<uint64_t(FrontierState&)> at_once,
                std::function<void(FrontierState&)> last) {
  using Deleted = std::optional<uint64_t>;
  context.frontier->Run<Deleted>(
      [&context, crawl, at_once = std::move(at_once)](FrontierState& state) -> StatusOr<Deleted> {
        if (context.crawls.modes()->Of(crawl) != FrontierMode::kDates) return Deleted();
        return Deleted(at_once(state));
      },
      [&context, call, crawl, key, last = std::move(last)](const StatusOr<Deleted>& deleted) {
        if (!deleted.ok()) return call->Answer(GrpcStatusOf(deleted.status()));
        if (*deleted) {
          SetLong(**deleted, call->response());
          return call->Answer(grpc::Status::OK);
        }
        std::make_shared<Sweep<Request>>(context, call,
                                         FrontierQuery{.crawl = crawl, .key = key, .filter = {}},
                                         UINT64_MAX, last)
            ->Begin();
      });
}

void DeleteCrawl(const ServerContext& context,
                 UnaryCall<urlfrontier::DeleteCrawlMessage, Long>* call) {
  const std::string crawl = CrawlOf(call->request().value());
  DeleteUrls(
      context, call, crawl, /*key=*/{},
      [crawl](FrontierState& state) { return state.DeleteCrawl(crawl); },
      // Also removes the settings of the crawl id's queues, unless a URL was put in the meantime.
      [crawl](FrontierState& state) {
        const FrontierCrawl* left = state.table().FindCrawl(crawl);
        if (left != nullptr && left->counts.active + left->counts.completed > 0) return;
        (void)state.DeleteCrawl(crawl);
      });
}

void DeleteQueue(const ServerContext& context,
                 UnaryCall<urlfrontier::QueueWithinCrawlParams, Long>* call) {
  const std::string crawl = CrawlOf(call->request().crawlid());
  const std::string& key = call->request().key();
  // An empty key names no queue, but a sweep would take it to mean all queues.
  if (key.empty()) return call->Answer(grpc::Status::OK);
  DeleteUrls(
      context, call, crawl, key,
      [crawl, key](FrontierState& state) { return state.DeleteQueue(crawl, key); },
      [crawl, key](FrontierState& state) {
        const FrontierQueue* left = state.table().Find(crawl, key);
        if (left != nullptr && !left->has_urls()) (void)state.DeleteQueue(crawl, key);
      });
}

void CountURLs(const ServerContext& context, UnaryCall<urlfrontier::CountUrlParams, Long>* call) {
  const auto& request = call->request();
  if (!MayAsk(CrawlOf(request.crawlid()), call)) return;
  FrontierQuery query = {.crawl = CrawlOf(request.crawlid()),
                         .key = request.key(),
                         .filter = request.filter(),
                         .ignore_case = request.ignorecase()};
  std::make_shared<Sweep<urlfrontier::CountUrlParams>>(context, call, query, std::nullopt)->Begin();
}

void PurgeURLs(const ServerContext& context, UnaryCall<urlfrontier::PurgeUrlParams, Long>* call) {
  const auto& request = call->request();
  const uint64_t now = context.frontier->NowSeconds();
  const uint64_t age = uint64_t{request.days()} * kSecondsPerDay;
  FrontierQuery query = {.crawl = CrawlOf(request.crawlid()),
                         .key = request.key(),
                         .filter = {},
                         .ignore_case = false};
  std::make_shared<Sweep<urlfrontier::PurgeUrlParams>>(context, call, query,
                                                       age < now ? now - age : 0)
      ->Begin();
}

}  // namespace

std::vector<CallMethod> UrlFrontierMethods(const ServerContext& context) {
  return {
      Free("/urlfrontier.URLFrontier/ListNodes", context, freshet::ListNodes),
      Paid("/urlfrontier.URLFrontier/ListCrawls", context, freshet::ListCrawls),
      Free("/urlfrontier.URLFrontier/DeleteCrawl", context, freshet::DeleteCrawl),
      Paid("/urlfrontier.URLFrontier/ListQueues", context, freshet::ListQueues),
      Paid("/urlfrontier.URLFrontier/GetStats", context, freshet::GetStats),
      Free("/urlfrontier.URLFrontier/DeleteQueue", context, freshet::DeleteQueue),
      Paid("/urlfrontier.URLFrontier/BlockQueueUntil", context, freshet::BlockQueueUntil),
      Free("/urlfrontier.URLFrontier/SetActive", context, freshet::SetActive),
      Free("/urlfrontier.URLFrontier/GetActive", context, freshet::GetActive),
      Paid("/urlfrontier.URLFrontier/SetDelay", context, freshet::SetDelay),
      Free("/urlfrontier.URLFrontier/SetLogLevel", context, ChangeLogLevel),
      Free("/urlfrontier.URLFrontier/SetCrawlLimit", context, freshet::SetCrawlLimit),
      Paid("/urlfrontier.URLFrontier/GetURLStatus", context, freshet::GetURLStatus),
      Paid("/urlfrontier.URLFrontier/CountURLs", context, freshet::CountURLs),
      Free("/urlfrontier.URLFrontier/PurgeURLs", context, freshet::PurgeURLs),
      Streaming("/urlfrontier.URLFrontier/GetURLs", context, StartGetUrls),
      Streaming("/urlfrontier.URLFrontier/PutURLs", context, StartPutUrls),
      Streaming("/urlfrontier.URLFrontier/PutDiscovered", context, StartPutDiscovered),
      Streaming("/urlfrontier.URLFrontier/ListURLs", context, StartListUrls),
  };
}

}  // namespace freshet
