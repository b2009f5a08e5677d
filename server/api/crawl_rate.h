// The crawl rate that operators set: this server's, or that of the fleet that it is of.
#ifndef FRESHET_SERVER_API_CRAWL_RATE_H_
#define FRESHET_SERVER_API_CRAWL_RATE_H_

#include "core/base/units.h"
#include "server/api/context.h"
#include "server/api/rate_sharing.h"
#include "server/engine/dispatcher.h"
#include "server/engine/plan_runner.h"

namespace freshet {

// Both are thread-safe. Of a fleet's rate they are for the server that keeps it (RateSharing).
[[nodiscard]] inline Rate CrawlRateOf(const ServerContext& context) {
  return context.rates != nullptr ? context.rates->total() : context.dispatcher.rate();
}

// Returns the rate before.
inline Rate ChangeCrawlRate(const ServerContext& context, Rate rate) {
  // What is granted of it is planned for as it comes.
  if (context.rates != nullptr) return context.rates->SetTotal(rate);
  const Rate before = context.dispatcher.SetRate(rate);
  context.plans.Poke();
  return before;
}

}  // namespace freshet

#endif  // FRESHET_SERVER_API_CRAWL_RATE_H_
