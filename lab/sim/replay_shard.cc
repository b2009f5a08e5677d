#include "lab/sim/replay_shard.h"

#include <utility>

#include "core/base/check.h"
#include "core/base/fingerprint.h"
#include "core/base/url.h"
#include "core/schedule/pick.h"
#include "lab/sim/crawl_report.h"

namespace freshet {
namespace {

constexpr const char* kCrawlId = "replay";

}  // namespace

ShardReplay::ShardReplay(const std::vector<ReplayPage>& pages, const ShardOptions& options,
                         Duration epoch, Rate crawl_rate, bool named_polls)
    : pages_(pages), shard_(options), epoch_(epoch), named_polls_(named_polls) {
  shard_.set_crawl_rate(crawl_rate);
}

void ShardReplay::CatchUp(Instant now) {
  shard_.RunTimers(now);
  if (last_epoch_.is_none()) last_epoch_ = now;
  if (now - last_epoch_ < epoch_) return;
  last_epoch_ = now;
  shard_.RunEpoch(now);
}

void ShardReplay::Add(size_t page, Instant now) {
  UpsertPage upsert;
  upsert.key = {kCrawlId, pages_[page].url};
  upsert.host = pages_[page].host;
  upsert.importance = pages_[page].importance;
  upsert.last_crawl = now;
  const Reply reply = shard_.Apply(upsert, now);
  CHECK(reply.disposition == Disposition::kCreated, "{}: {}", pages_[page].url,
        std::string(reply.status.message()));
  by_url_.emplace(pages_[page].url, page);
}

void ShardReplay::Signal(std::span<const ReplaySignal> poll, Instant now) {
  CatchUp(now);
  batch_sizes_.clear();
  for (const ReplaySignal& signal : poll) ++batch_sizes_[pages_[signal.page].host];
  batch_.clear();
  for (const ReplaySignal& signal : poll) {
    SignalChange event;
    event.key = {kCrawlId, pages_[signal.page].url};
    event.pages_in_poll = batch_sizes_[pages_[signal.page].host];
    if (named_polls_)
      event.poll = HashOfTexts(pages_[signal.page].host, std::to_string(now.micros()));
    event.changed = signal.changed;
    batch_.emplace_back(std::move(event));
  }
  for (const Reply& reply : shard_.Apply(batch_, now)) CHECK(reply.status.ok());
}

std::optional<size_t> ShardReplay::Pick(Instant now) {
  CatchUp(now);
  const std::optional<Assignment> assignment = shard_.Next(now, kSimulatedLease);
  if (!assignment) return std::nullopt;
  lease_ = assignment->lease;
  return by_url_.at(assignment->key.url);
}

void ShardReplay::Crawled(size_t page, Instant now, bool changed) {
  Report(page, now, changed ? CrawlOutcome::kChanged : CrawlOutcome::kUnchanged);
}

void ShardReplay::Gone(size_t page, Instant now) { Report(page, now, CrawlOutcome::kGone); }

void ShardReplay::Report(size_t page, Instant now, CrawlOutcome outcome) {
  ReportLeased(shard_, PageKey{kCrawlId, pages_[page].url}, lease_, now, outcome);
}

}  // namespace freshet
