#include "server/api/crawls_and_hosts.h"

#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/schedule/crawl_book.h"
#include "core/schedule/host_book.h"
#include "fmt/format.h"
#include "server/api/fleet_sums.h"
#include "server/api/from_proto.h"
#include "server/api/frontier_adoption.h"
#include "server/api/over_divisions.h"
#include "server/api/worker_crawls.h"
#include "server/base/limits.h"
#include "server/config.h"
#include "server/engine/crawls.h"

namespace freshet {
namespace {

// The number of entries that a list request asks for.
StatusOr<size_t> PageSize(bool has, uint32_t size) {
  if (!has) return kUsualRows;
  if (size >= 1 && size <= limits::kMaxListPageSize) return size;
  return InvalidArgument("page_size: {} is not from 1 to {}", size, limits::kMaxListPageSize);
}

using CountersByCrawl = std::map<std::string, CrawlCounters>;

// The crawl ids that a request asks for. Value type, thread-compatible.
struct CrawlRange {
  std::string only;  // empty = the first `most` crawl ids after `after`, by name
  std::string after;
  size_t most = 0;
};

std::vector<CrawlStatus> CrawlsIn(const CrawlRange& range, const CrawlBook& crawls) {
  if (range.only.empty()) return crawls.Statuses(range.after, range.most);
  std::vector<CrawlStatus> found;
  if (std::optional<CrawlStatus> crawl = crawls.StatusOf(range.only)) {
    found.push_back(*std::move(crawl));
  }
  return found;
}

// Lists crawl ids that have pages or settings, with counts summed over all shards. The list can be
// longer than `range` asks for. If too many lists are in progress, returns false without calling
// `done`.
template <typename Call>
bool GatherCrawls(const ServerContext& context, Call* call, CrawlRange range,
                  std::function<void(const CountersByCrawl&)> done) {
  if (!call->TakePlace()) return false;
  struct Gather {
    std::vector<std::vector<CrawlStatus>> shards;  // each shard writes one element
  };
  auto gather = std::make_shared<Gather>();
  gather->shards.resize(context.router.shards().size());
  context.router.QueryAll(
      [gather, range = std::move(range)](size_t shard, const ShardView& view) {
        gather->shards[shard] = CrawlsIn(range, view.state.crawls());
      },
      [&context, gather, done = std::move(done)] {
        CountersByCrawl all;
        for (const auto& shard : gather->shards) {
          for (const CrawlStatus& crawl : shard) all[crawl.crawl_id] += crawl.counters;
        }
        for (const CrawlRecord& crawl : context.crawls.All()) all[crawl.crawl_id];
        done(all);
      },
      call->caller().claim().client);
  return true;
}

Status UnknownCrawl(const std::string& crawl_id) {
  return NotFound("crawl_id: {} has neither pages nor settings", crawl_id);
}

void AddCrawl(const ServerContext& context, const std::string& crawl_id,
              const CrawlCounters& counters, v1::ListCrawlsResponse* response) {
  const CrawlRecord record = context.crawls.Find(crawl_id);
  ToProto(record, context.crawls.ModeOf(record), counters, response->add_crawls());
}

// Answers with the present state of the crawl id.
template <typename Call>
void AnswerWithCrawl(const ServerContext& context, const CrawlRecord& record, Call* call) {
  const bool asked = GatherCrawls(
      context, call, {.only = record.crawl_id}, [=, &context](const CountersByCrawl& all) {
        const auto it = all.find(record.crawl_id);
        ToProto(record, context.crawls.ModeOf(record),
                it == all.end() ? CrawlCounters() : it->second, call->response()->mutable_crawl());
        call->Answer(grpc::Status::OK);
      });
  if (asked) return;
  // The change has been made, so the call succeeds. The answer has no counts.
  ToProto(record, context.crawls.ModeOf(record), {}, call->response()->mutable_crawl());
  call->Answer(grpc::Status::OK);
}

Status CheckRateTerms(const ServerContext& context, const CrawlRecord& record) {
  if (!record.share && !record.max_rate) return absl::OkStatus();
  if (!PlansAllPages(context)) return absl::OkStatus();
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "share, max_rate_per_second: the policy {} plans the rates of all pages "
                    "itself; set another policy first",
                    context.settings.policy());
}

Status CheckMode(const ServerContext& context, const CrawlRecord& before,
                 const CrawlRecord& record) {
  if (record.frontier_mode == before.frontier_mode || !record.frontier_mode) {
    return absl::OkStatus();
  }
  const SlotDivision division = context.router.division();
  // URLs in all modes except 'dates' have pages in all divisions, so this server must be able to
  // reach the others.
  if (division.divisions > 1 && context.divisions == nullptr &&
      *record.frontier_mode != FrontierMode::kDates) {
    return MakeStatus(absl::StatusCode::kFailedPrecondition,
                      "frontier_mode: in a cluster with several divisions all modes except 'dates' "
                      "need cluster.address");
  }
  const bool elsewhere = division.division != ServerConfig::kFrontierDivision;
  if (context.frontier != nullptr || (elsewhere && context.config.frontier_enabled)) {
    return absl::OkStatus();
  }
  return MakeStatus(absl::StatusCode::kFailedPrecondition,
                    "frontier_mode: this server does not serve the crawl-frontier API: "
                    "frontier.enabled is false");
}

// Whether the change makes pages eligible earlier or later. If so, the index must file all pages
// again (EpochRunner::RequestFiling).
bool FilesAnew(const ServerContext& context, const CrawlRecord& before, const CrawlRecord& record) {
  const auto shadow = [&context](const CrawlRecord& crawl) {
    return context.crawls.ModeOf(crawl) == FrontierMode::kShadow;
  };
  return record.min_page_interval != before.min_page_interval || shadow(record) != shadow(before);
}

using ListHostsCall = UnaryCall<v1::ListHostsRequest, v1::ListHostsResponse>;

// Lists the hosts shard by shard, a slice at a time. If the list covers a fleet, it continues
// division by division.
class HostLister : public std::enable_shared_from_this<HostLister> {
 public:
  HostLister(const ServerContext& context, size_t most, ListHostsCall* call)
      : context_(context),
        most_(most),
        spans_(SpansFleet(context, call->shown())),
        call_(*call),
        division_(spans_ ? 0 : context.router.division().division) {}

  // Sets where the list begins; an empty token = at the beginning. A token is `shard.host` in
  // hexadecimal digits. If the list covers a fleet, `division:` comes before the token of that
  // division.
  [[nodiscard]] Status Begin(std::string token) {
    query_ = {.prefix = call_.request().prefix(), .part = call_.request().contains()};
    if (spans_ && !token.empty()) {
      int end = -1;
      const int read = std::sscanf(token.c_str(), "%4x:%n", &division_, &end);
      if (read != 1 || end < 0 || division_ >= context_.router.division().divisions) {
        return NoToken();
      }
      token.erase(0, static_cast<size_t>(end));
    }
    if (!IsOwn()) {
      token_ = std::move(token);
      return absl::OkStatus();
    }
    if (token.empty()) return absl::OkStatus();
    unsigned shard = 0;
    int end = -1;
    const int read = std::sscanf(token.c_str(), "%4x.%8x%n", &shard, &next_, &end);
    if (read == 2 && end == static_cast<int>(token.size()) &&
        shard < context_.router.shards().size()) {
      shard_ = shard;
      return absl::OkStatus();
    }
    return NoToken();
  }

  void Go() {
    if (!IsOwn()) return Ask();
    const bool asked = context_.router.shards()[shard_]->ReadMany(
        [self = shared_from_this()](const auto& view) { self->Take(view); },
        call_.caller().claim().client);
    if (!asked) call_.Answer(StoppingStatus());
  }

 private:
  static Status NoToken() {
    return InvalidArgument("page_token: this server did not issue this token");
  }
  [[nodiscard]] bool IsOwn() const { return division_ == context_.router.division().division; }
  [[nodiscard]] size_t found() const { return static_cast<size_t>(call_.response()->hosts_size()); }

  void Take(const ShardView& view) {
    std::vector<HostStatus> hosts;
    next_ = view.state.hosts().List(query_, next_, most_ - found(), view.now, &hosts);
    for (const HostStatus& host : hosts) HostToProto(host, view, call_.response()->add_hosts());
    if (next_ >= view.state.hosts().gate.id_limit()) {
      ++shard_;
      next_ = 0;
    }
    const bool over = shard_ == context_.router.shards().size();
    token_ = over ? "" : fmt::format("{:x}.{:x}", shard_, next_);
    GoOn();
  }

  // Asks the server of another division for as many hosts as the answer still needs.
  void Ask() {
    v1::ListHostsRequest request = call_.request();
    request.set_page_size(static_cast<uint32_t>(most_ - found()));
    request.set_page_token(token_);
    AskDivisions(context_, call_.path(), call_.shown(), {{division_, SerialiseMessage(request)}},
                 kFleetViewPatience, [self = shared_from_this()](const DivisionAnswers& answers) {
                   self->Take(answers.front().answer);
                 });
  }
  void Take(const StatusOr<grpc::ByteBuffer>& answer) {
    const StatusOr<v1::ListHostsResponse> theirs = ResponseIn<v1::ListHostsResponse>(answer);
    // The client sent an invalid token.
    if (absl::IsInvalidArgument(theirs.status())) {
      return call_.Answer(GrpcStatusOf(theirs.status()));
    }
    token_.clear();
    if (theirs.ok()) {
      call_.response()->mutable_hosts()->MergeFrom(theirs->hosts());
      token_ = theirs->next_page_token();
    } else {
      ToProto(division_, theirs.status(), call_.response()->add_unanswered());
    }
    GoOn();
  }

  // Continues after a shard or another division has added its hosts. If token_ is empty, the
  // present division has no more hosts.
  void GoOn() {
    if (token_.empty() && spans_) ++division_;
    const bool over =
        token_.empty() && (!spans_ || division_ == context_.router.division().divisions);
    if (!over && found() < most_) return Go();
    if (!over) {
      call_.response()->set_next_page_token(spans_ ? fmt::format("{:x}:{}", division_, token_)
                                                   : token_);
    }
    call_.Answer(grpc::Status::OK);
  }

  const ServerContext& context_;
  const size_t most_;
  const bool spans_;  // whether the list covers all divisions
  ListHostsCall& call_;
  HostQuery query_;
  uint32_t division_;
  std::string token_;  // the token of the present division; empty = its beginning or its end
  size_t shard_ = 0;
  uint32_t next_ = 0;
};

}  // namespace

void HostToProto(const HostStatus& host, const ShardView& view, v1::HostState* out) {
  ToProto(host,
          {.throttles = ThrottlesAt(view.state.hosts().backoff(), host.record, view.now),
           .now = view.now},
          out);
}

// --- Crawl ids

void FollowCrawl(const ServerContext& context, const CrawlRecord& before,
                 const CrawlRecord& record) {
  if (FilesAnew(context, before, record)) {
    // Without a new filing, some pages would keep waiting by the old settings.
    for (Shard* shard : context.router.shards()) {
      (void)shard->Query([](const auto& view) { view.epochs.RequestFiling([](const auto&) {}); });
    }
  }
  const FrontierMode mode = context.crawls.ModeOf(record);
  if (context.frontier != nullptr && mode != FrontierMode::kDates &&
      mode != context.crawls.ModeOf(before)) {
    AdoptUrls(context, record.crawl_id);
  }
}

void HandleListCrawls(const ServerContext& context,
                      UnaryCall<v1::ListCrawlsRequest, v1::ListCrawlsResponse>* call) {
  const StatusOr<size_t> size =
      PageSize(call->request().has_page_size(), call->request().page_size());
  if (!size.ok()) return call->Answer(GrpcStatusOf(size.status()));
  // Asks for one entry more than needed, which shows whether there is a next page.
  CrawlRange range = {
      .only = call->request().crawl_id(), .after = call->request().page_token(), .most = *size + 1};
  const bool asked = GatherCrawls(
      context, call, std::move(range), [&context, call, size](const CountersByCrawl& all) {
        const std::string& only = call->request().crawl_id();
        // The page token is the last crawl id of the previous page of the list.
        auto it = only.empty() ? all.upper_bound(call->request().page_token()) : all.find(only);
        for (size_t left = only.empty() ? *size : 1; it != all.end() && left > 0; ++it, --left) {
          AddCrawl(context, it->first, it->second, call->response());
        }
        if (only.empty() && it != all.end()) {
          call->response()->set_next_page_token(std::prev(it)->first);
        }
        const bool unknown = !only.empty() && call->response()->crawls().empty();
        call->Answer(unknown ? GrpcStatusOf(UnknownCrawl(only)) : grpc::Status::OK);
      });
  if (!asked) call->Answer(UnreadStatus(PushOutcome::kFull));
}

void HandleSetCrawl(const ServerContext& context,
                    UnaryCall<v1::SetCrawlRequest, v1::SetCrawlResponse>* call) {
  const StatusOr<std::string> crawl_id = CanonicalCrawlId(call->request().crawl_id());
  if (!crawl_id.ok()) return call->Answer(GrpcStatusOf(crawl_id.status()));
  const StatusOr<std::function<void(CrawlRecord*)>> set = ConvertCrawl(call->request());
  if (!set.ok()) return call->Answer(GrpcStatusOf(set.status()));
  const auto before = std::make_shared<CrawlRecord>();
  const auto change = [&context, set = *set, before](CrawlRecord* record) -> Status {
    if (record->deleting) {
      return MakeStatus(absl::StatusCode::kFailedPrecondition, "crawl_id: {} is being deleted",
                        record->crawl_id);
    }
    *before = *record;
    set(record);
    RETURN_IF_ERROR(CheckMode(context, *before, *record));
    return CheckRateTerms(context, *record);
  };
  context.crawls.Set(*crawl_id, change,
                     [&context, call, before](const Status& status, const CrawlRecord& record) {
                       if (!status.ok()) return call->Answer(GrpcStatusOf(status));
                       call->SetBefore([&context, &before] {
                         v1::Crawl message;
                         ToProto(*before, context.crawls.ModeOf(*before), {}, &message);
                         return message;
                       });
                       FollowCrawl(context, *before, record);
                       AnswerWithCrawl(context, record, call);
                     });
}

void HandleDeleteCrawl(const ServerContext& context,
                       UnaryCall<v1::DeleteCrawlRequest, v1::DeleteCrawlResponse>* call) {
  const std::string crawl_id = call->request().crawl_id();
  if (crawl_id.empty()) {
    return call->Answer(GrpcStatusOf(InvalidArgument("crawl_id: is not set")));
  }
  const bool asked =
      GatherCrawls(context, call, {.only = crawl_id}, [=, &context](const CountersByCrawl& all) {
        const auto it = all.find(crawl_id);
        if (it == all.end()) return call->Answer(GrpcStatusOf(UnknownCrawl(crawl_id)));
        call->SetBefore([&] {
          const CrawlRecord record = context.crawls.Find(crawl_id);
          v1::Crawl before;
          ToProto(record, context.crawls.ModeOf(record), it->second, &before);
          return before;
        });
        const auto change = [](CrawlRecord* record) -> Status {
          record->deleting = true;
          return absl::OkStatus();
        };
        context.crawls.Set(crawl_id, change,
                           [&context, call](const Status& status, const CrawlRecord& record) {
                             if (!status.ok()) return call->Answer(GrpcStatusOf(status));
                             AnswerWithCrawl(context, record, call);
                           });
      });
  if (!asked) call->Answer(UnreadStatus(PushOutcome::kFull));
}

// --- Hosts

void HandleListHosts(const ServerContext& context, ListHostsCall* call) {
  const StatusOr<size_t> size =
      PageSize(call->request().has_page_size(), call->request().page_size());
  if (!size.ok()) return call->Answer(GrpcStatusOf(size.status()));
  if (!call->TakePlace()) return call->Answer(UnreadStatus(PushOutcome::kFull));
  const auto lister = std::make_shared<HostLister>(context, *size, call);
  const Status token = lister->Begin(call->request().page_token());
  if (!token.ok()) return call->Answer(GrpcStatusOf(token));
  lister->Go();
}

void HandleDeleteHost(const ServerContext& context,
                      UnaryCall<v1::DeleteHostRequest, v1::DeleteHostResponse>* call) {
  const StatusOr<std::string> host = ConvertHost(call->request().host());
  if (!host.ok()) return call->Answer(GrpcStatusOf(host.status()));
  ReadHostBefore(context, *host, call, [&context, call, host = *host] {
    context.router.SubmitAlways(SlotOfHost(host), DeleteHost{host},
                                [&context, call, host](const Reply& reply) {
                                  if (!reply.status.ok()) {
                                    return call->Answer(GrpcStatusOf(reply.status));
                                  }
                                  AnswerWithHost(context, host, call);
                                });
  });
}

}  // namespace freshet
