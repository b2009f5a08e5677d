// Honest workers that report answers of hostile sites: absurd validators, pauses of years, odd
// codes, odd redirects. Whatever the site answers, the result must end its lease.
#include "fmt/format.h"
#include "tests/hostile/scripts.h"
#include "tests/hostile/worker.h"

namespace freshet::hostile {
namespace {

void Answer(Attack& attack, v1::CrawlResult* result) {
  // Only a few pages are gone and only a few hosts ask for pauses, so that other pages are fetched,
  // too.
  static constexpr v1::CrawlOutcome kOutcomes[] = {
      v1::CRAWL_OUTCOME_CHANGED, v1::CRAWL_OUTCOME_UNCHANGED, v1::CRAWL_OUTCOME_ERROR};
  static constexpr v1::CrawlOutcome kEnds[] = {v1::CRAWL_OUTCOME_GONE, v1::CRAWL_OUTCOME_MOVED};
  result->set_outcome(attack.OneIn(20) ? kEnds[attack.Below(2)] : kOutcomes[attack.Below(3)]);
  if (attack.OneIn(2)) {
    // This field can only carry UTF-8.
    std::string etag = attack.OneIn(2) ? "\"" + std::string(attack.Below(9000), 'e') + "\""
                                       : std::string("\"a\tb\r\n\0\x1b\"", 9);
    result->set_etag(etag);
  }
  if (attack.OneIn(3)) result->set_content_digest(attack.Bytes(64));
  if (attack.OneIn(2)) result->set_http_status(static_cast<int32_t>(100 + attack.Below(500)));
  if (attack.OneIn(4)) attack.SetOddTime(result->mutable_last_modified());
  if (attack.OneIn(400)) {
    result->mutable_retry_after()->set_seconds(attack.OneIn(2) ? 400LL * 86400 : INT32_MAX);
  }
}

}  // namespace

void Sites(Attack& attack) {
  const auto channel = attack.Connect();
  while (!attack.Over()) {
    Worker worker(attack, channel, "honest, of hostile sites", 120);
    worker.Grant(20);
    for (int round = 0; round < 20 && !attack.Over(); ++round) {
      const std::vector<v1::Assignment> assignments = worker.Receive();
      if (assignments.empty()) break;
      const v1::CrawlRequest request =
          ResultsOf(assignments, [&](v1::CrawlResult* result) { Answer(attack, result); });
      if (!worker.Send(request)) break;
      const v1::BatchAck ack = worker.ReceiveAck();
      if (ack.item_count() == 0) break;
      for (const v1::ItemStatus& status : ack.statuses()) {
        if (status.outcome() == v1::ITEM_OUTCOME_REFUSED && !status.error().retryable()) {
          attack.Fail(fmt::format("what a site answered made the result be refused: {}: {}",
                                  status.error().reason(),
                                  request.results()
                                      .results(static_cast<int>(status.index()))
                                      .ShortDebugString()
                                      .substr(0, 300)));
        }
      }
      worker.Grant(static_cast<uint32_t>(assignments.size()));
    }
  }
}

}  // namespace freshet::hostile
