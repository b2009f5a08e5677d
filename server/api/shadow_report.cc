#include "server/api/shadow_report.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/reservoir.h"
#include "core/base/url.h"
#include "core/plan/crawl_comparison.h"
#include "core/schedule/crawl_book.h"
#include "server/api/crawls_and_hosts.h"
#include "server/base/frontier_limits.h"
#include "server/engine/crawls.h"
#include "storage/pages_read.h"

namespace freshet {
namespace {

// The maximum number of pages in one step. A shard describes this number in about a millisecond.
constexpr size_t kSampleChunk = 256;
constexpr double kSecondsADay = 86400;
constexpr uint64_t kSeed = 1;  // the same pages give the same report

using Call = UnaryCall<v1::ReportShadowRequest, v1::ReportShadowResponse>;

// A page of the comparison.
struct Sampled {
  std::string url;
  ComparedPage page;  // with rates per day
};

ComparedPage PerDay(const PageRecord& page, const PageRates& rates, double crawls_per_second) {
  ComparedPage compared{
      .rates = PaperFromRates(page.spec.importance, rates, page.spec.complete_signals),
      .crawl_rate = crawls_per_second * kSecondsADay};
  compared.rates.change_rate *= kSecondsADay;
  compared.rates.false_signal_rate *= kSecondsADay;
  return compared;
}

// One report. One step runs at a time.
class ShadowReport : public std::enable_shared_from_this<ShadowReport> {
 public:
  ShadowReport(const ServerContext& context, std::string crawl_id, Call* call)
      : context_(context),
        call_(*call),
        left_(call->request().has_limit() ? call->request().limit()
                                          : limits::kUsualShadowReportPages) {
    query_.crawl_id = std::move(crawl_id);
  }

  void Begin() {
    call_.response()->set_crawl_id(*query_.crawl_id);
    pages_of_shard_.resize(context_.router.shards().size());
    context_.router.QueryAll(
        [self = shared_from_this()](size_t shard, const ShardView& view) {
          const auto crawl = view.state.crawls().StatusOf(*self->query_.crawl_id);
          if (crawl) self->pages_of_shard_[shard] = crawl->counters.pages;
        },
        [self = shared_from_this()] { self->GoOn(); }, call_.caller().claim().client);
  }

 private:
  void GoOn() {
    Post(context_.background, [self = shared_from_this()] { self->Read(); });
  }

  void Post(Background& thread, std::function<void()> step) {
    if (!thread.Post(call_.client(), std::move(step))) call_.Answer(StoppingStatus());
  }

  void Read() {
    if (call_.cancelled()) return call_.Answer(grpc::Status::CANCELLED);
    const size_t most = static_cast<size_t>(std::min<uint64_t>(left_, kSampleChunk));
    StatusOr<ListResult> list = context_.store.List(query_, token_, most);
    if (!list.ok()) return call_.Answer(GrpcStatusOf(list.status()));
    token_ = std::move(list->next_token);
    pages_ = std::move(list->pages);
    left_ -= std::min<uint64_t>(left_, pages_.size());
    explanations_.assign(pages_.size(), {});
    if (pages_.empty()) return EndChunk();
    // Each shard describes its pages.
    context_.router.QueryAll(
        [self = shared_from_this()](size_t shard, const ShardView& view) {
          const size_t shards = self->pages_of_shard_.size();
          for (size_t i = 0; i < self->pages_.size(); ++i) {
            const PageRecord& page = self->pages_[i];
            if (SlotOfHost(page.host).value() % shards != shard) continue;
            self->explanations_[i] = view.state.Explain(page, view.now);
          }
        },
        [self = shared_from_this()] { self->EndChunk(); }, call_.caller().claim().client);
  }

  void EndChunk() {
    const Instant now = context_.clock.Now();
    for (size_t i = 0; i < pages_.size(); ++i) Count(pages_[i], explanations_[i], now);
    pages_.clear();
    if (!token_.empty() && left_ > 0) return GoOn();
    Post(context_.upkeep, [self = shared_from_this()] { self->Finish(); });
  }

  void Count(const PageRecord& page, const Explanation& explanation, Instant now) {
    v1::ReportShadowResponse& out = *call_.response();
    out.set_pages_read(out.pages_read() + 1);
    out.set_crawls(out.crawls() + page.detail.crawls);
    if (page.state.gone) return out.set_gone_pages(out.gone_pages() + 1);
    importance_ += page.spec.importance;
    fresh_ += page.spec.importance * std::exp(-explanation.staleness);
    if (!page.state.crawled()) return out.set_never_crawled_pages(out.never_crawled_pages() + 1);
    const PageStatistics& statistics = page.detail.statistics;
    const double rate = ObservedCrawlRate(statistics, now - page.state.last_crawl);
    if (rate == 0) return;
    out.set_compared_crawls(out.compared_crawls() + statistics.recent.size());
    const auto changed = std::count_if(statistics.recent.begin(), statistics.recent.end(),
                                       [](const auto& observation) { return observation.changed; });
    out.set_changes(out.changes() + static_cast<uint64_t>(changed));
    sample_.Add({page.key.url, PerDay(page, explanation.estimate.rates, rate)});
  }

  void Finish() {
    v1::ReportShadowResponse& out = *call_.response();
    uint64_t all = 0;
    for (const uint64_t pages : pages_of_shard_) all += pages;
    out.set_pages(std::max<uint64_t>(all, out.pages_read()));
    out.set_compared_pages(sample_.seen());
    if (importance_ > 0) out.set_believed_freshness(fresh_ / importance_);
    const std::string why_not = WhyNot();
    if (why_not.empty()) {
      Compare();
    } else {
      out.set_why_not(why_not);
    }
    call_.Answer(grpc::Status::OK);
  }

  // The reason why no comparison is possible yet: with too few crawls, the rates of most pages are
  // only taken from other pages.
  [[nodiscard]] std::string WhyNot() {
    const v1::ReportShadowResponse& out = *call_.response();
    const uint64_t crawled = out.pages_read() - out.gone_pages() - out.never_crawled_pages();
    if (crawled == 0) return "no page of it was crawled yet";
    if (sample_.seen() == 0) {
      return "no page was crawled twice, or their metadata does not say whether they have changed "
             "(frontier.status_keys, frontier.digest_keys)";
    }
    if (sample_.seen() * 2 < crawled) {
      return "less than half of the pages were crawled twice: too early to tell how often";
    }
    return {};
  }

  void Compare() {
    std::vector<ComparedPage> pages;
    for (const Sampled& sampled : sample_.items()) pages.push_back(sampled.page);
    const StatusOr<CrawlComparison> comparison = CompareCrawls(pages);
    v1::ReportShadowResponse& out = *call_.response();
    if (!comparison.ok()) return out.set_why_not(std::string(comparison.status().message()));
    // The sample stands for all compared pages, and the pages that were read stand for all pages.
    const double scale = static_cast<double>(sample_.seen()) / static_cast<double>(pages.size()) *
                         static_cast<double>(out.pages()) / static_cast<double>(out.pages_read());
    v1::ShadowComparison& to = *out.mutable_comparison();
    to.set_crawls_per_day(comparison->crawl_rate * scale);
    to.set_freshness(comparison->freshness);
    to.set_best_freshness(comparison->best);
    to.set_best_freshness_without_signals(comparison->best_without_signals);
    to.set_crawls_per_day_for_same(comparison->rate_for_same * scale);
    to.set_sampled_pages(pages.size());
    AddExamples(*comparison, -1, out.mutable_too_often());
    AddExamples(*comparison, 1, out.mutable_too_rarely());
  }

  // Adds the pages whose crawl rate would rise most, or fall most if `sign` is -1.
  void AddExamples(const CrawlComparison& comparison, double sign,
                   google::protobuf::RepeatedPtrField<v1::ShadowPage>* out) {
    const std::vector<Sampled>& sampled = sample_.items();
    std::vector<std::pair<double, size_t>> more;
    for (size_t i = 0; i < sampled.size(); ++i) {
      const double is = sampled[i].page.crawl_rate;
      const double by = sign * (comparison.best_rate[i] - is);
      // Smaller differences are not worth reporting.
      if (by > 0.1 * is) more.emplace_back(-by, i);
    }
    std::sort(more.begin(), more.end());
    const v1::ReportShadowRequest& request = call_.request();
    const size_t most =
        request.has_examples() ? request.examples() : limits::kUsualShadowReportExamples;
    if (more.size() > most) more.resize(most);
    for (const auto& [by, i] : more) {
      v1::ShadowPage& page = *out->Add();
      page.set_url(sampled[i].url);
      page.set_importance(sampled[i].page.rates.importance);
      page.set_change_rate_per_day(sampled[i].page.rates.change_rate);
      page.set_crawls_per_day(sampled[i].page.crawl_rate);
      page.set_best_crawls_per_day(comparison.best_rate[i]);
    }
  }

  const ServerContext& context_;
  Call& call_;
  ListQuery query_;
  uint64_t left_;      // pages that may still be read
  std::string token_;  // a token of the store; empty at the start and at the end
  std::vector<uint64_t> pages_of_shard_;
  std::vector<PageRecord> pages_;
  std::vector<Explanation> explanations_;
  double importance_ = 0;
  double fresh_ = 0;
  Reservoir<Sampled> sample_{limits::kShadowReportSample, kSeed};
};

Status CheckRequest(const v1::ReportShadowRequest& request) {
  if (request.has_limit() &&
      (request.limit() == 0 || request.limit() > limits::kMaxShadowReportPages)) {
    return InvalidArgument("limit: {} is not from 1 to {}", request.limit(),
                           limits::kMaxShadowReportPages);
  }
  if (request.examples() > limits::kMaxShadowReportExamples) {
    return InvalidArgument("examples: {} is above the maximum of {}", request.examples(),
                           limits::kMaxShadowReportExamples);
  }
  return absl::OkStatus();
}

}  // namespace

void HandleReportShadow(const ServerContext& context, Call* call) {
  const Status valid = CheckRequest(call->request());
  if (!valid.ok()) return call->Answer(GrpcStatusOf(valid));
  const StatusOr<std::string> crawl_id = CanonicalCrawlId(call->request().crawl_id());
  if (!crawl_id.ok()) return call->Answer(GrpcStatusOf(crawl_id.status()));
  if (context.crawls.modes()->Of(*crawl_id) != FrontierMode::kShadow) {
    return call->Answer(GrpcStatusOf(
        MakeStatus(absl::StatusCode::kFailedPrecondition,
                   "crawl_id: {} is not in shadow mode: set it by `freshet crawls set {} "
                   "--frontier-mode shadow`, then let its clients crawl for a while",
                   *crawl_id, *crawl_id)));
  }
  if (!call->TakePlace()) return call->Answer(UnreadStatus(PushOutcome::kFull));
  std::make_shared<ShadowReport>(context, *crawl_id, call)->Begin();
}

}  // namespace freshet
