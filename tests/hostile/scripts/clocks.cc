// Workers whose clocks are wrong by a second or much more. Their reports still end leases, and a
// recheck makes a page come back only once.
#include "freshet/v1/pages.grpc.pb.h"
#include "tests/hostile/scripts.h"
#include "tests/hostile/worker.h"

namespace freshet::hostile {
namespace {

void Recheck(Attack& attack, const std::shared_ptr<grpc::Channel>& channel,
             const std::string& url) {
  const auto call = attack.Call();
  v1::RecheckPagesRequest request;
  request.add_urls(url);
  v1::RecheckPagesResponse response;
  (void)v1::PagesService::NewStub(channel)->RecheckPages(call.get(), request, &response);
}

}  // namespace

void Clocks(Attack& attack) {
  const auto channel = attack.Connect();
  while (!attack.Over()) {
    Worker worker(attack, channel, "wrong clock", 5);
    worker.Grant(20);
    for (int round = 0; round < 20 && !attack.Over(); ++round) {
      const std::vector<v1::Assignment> assignments = worker.Receive();
      if (assignments.empty()) break;
      const v1::CrawlRequest request = ResultsOf(assignments, [&](v1::CrawlResult* result) {
        result->set_outcome(attack.OneIn(2) ? v1::CRAWL_OUTCOME_CHANGED
                                            : v1::CRAWL_OUTCOME_UNCHANGED);
        attack.SetOddTime(result->mutable_fetch_time());
        if (attack.OneIn(2)) attack.SetOddTime(result->mutable_last_modified());
      });
      if (!worker.Send(request) || worker.ReceiveAck().item_count() == 0) break;
      if (round == 0) Recheck(attack, channel, assignments[0].url());
      worker.Grant(static_cast<uint32_t>(assignments.size()));
    }
  }
}

}  // namespace freshet::hostile
