// Valid random records, including extreme ones.
#ifndef FRESHET_TESTS_STORAGE_RANDOM_RECORDS_H_
#define FRESHET_TESTS_STORAGE_RANDOM_RECORDS_H_

#include <string>

#include "core/base/random.h"
#include "core/model/crawl.h"
#include "core/model/epoch.h"
#include "core/model/host.h"
#include "core/model/lease.h"
#include "core/model/page.h"
#include "core/model/settings.h"

namespace freshet {

// Makes records; the same seed gives the same records on every machine. Owner thread only.
class RandomRecords {
 public:
  explicit RandomRecords(uint64_t seed) : random_(seed) {}

  // Returns a uniform number in [0, n). Precondition: n > 0.
  uint64_t Below(uint64_t n) { return random_.Below(n); }
  bool Chance(int percent) { return Below(100) < static_cast<uint64_t>(percent); }
  std::string Bytes(size_t size);

  Instant Time();
  PageSpec Spec();
  PageState State();
  PageDetail Detail();
  // Returns page `index` of host `host`, with this serial in the host's slot.
  PageRecord Page(const std::string& host, uint64_t index, uint64_t serial);
  HostRecord Host(const std::string& host);
  LeaseRecord Lease(PageNumber page, uint64_t sequence);
  SignalCounts Signals();
  Settings RandomSettings();
  CrawlRecord Crawl(const std::string& crawl_id);
  EpochRecord Epoch(uint16_t shard);

 private:
  double Rate();
  std::string Text(size_t max);

  Random random_;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_STORAGE_RANDOM_RECORDS_H_
