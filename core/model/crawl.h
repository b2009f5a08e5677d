// Settings of a crawl id, as the store keeps them. Value types, thread-compatible.
#ifndef FRESHET_CORE_MODEL_CRAWL_H_
#define FRESHET_CORE_MODEL_CRAWL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/units.h"

namespace freshet {

// How the server hands out the URLs that clients of the crawl-frontier API put under a crawl id.
enum class FrontierMode : uint8_t {
  kDates = 0,  // at the date that the client gave
  // Like kDates. In addition, Freshet learns from each URL as if it were a page, but does not
  // schedule it.
  kShadow = 1,
  kScheduled = 2,  // by crawl value, like pages
};

// The settings that an operator gave a crawl id. Unset = the default, which also applies to crawl
// ids without a record.
struct CrawlRecord {
  std::string crawl_id;
  // Share of the crawl rate, in (0, 1], that the crawl id's pages get while one of them is
  // eligible.
  std::optional<double> share;
  std::optional<Rate> max_rate;  // assignments per unit of time, > 0
  std::optional<uint64_t> max_pages;
  // Politeness for hosts that have no setting of their own.
  std::optional<Duration> min_delay;
  std::optional<uint32_t> max_in_flight;  // 0 = no limit
  std::optional<Duration> min_page_interval;
  // All pages of the crawl id are being removed. The server accepts no new ones until all are gone.
  bool deleting = false;
  std::optional<FrontierMode> frontier_mode;  // unset: configured default
  bool operator==(const CrawlRecord&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_CRAWL_H_
