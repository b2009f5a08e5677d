// What is set for a crawl id, as the store keeps it. Value types, thread-compatible.
#ifndef FRESHET_CORE_MODEL_CRAWL_H_
#define FRESHET_CORE_MODEL_CRAWL_H_

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/units.h"

namespace freshet {

// How URLs go out that clients of the crawl-frontier API have put under a crawl id.
enum class FrontierMode : uint8_t {
  kDates = 0,      // when their clients have said
  kShadow = 1,     // likewise; each is a page as well, of which Freshet learns and hands out none
  kScheduled = 2,  // by crawl value, as pages
};

// What an operator has set for a crawl id. What is unset is as for crawl ids without a record.
struct CrawlRecord {
  std::string crawl_id;
  // The part of the crawl rate, in (0, 1], that its pages get while one of them is eligible.
  std::optional<double> share;
  std::optional<Rate> max_rate;       // of its assignments, > 0
  std::optional<uint64_t> max_pages;  // that it may have
  // Politeness of its pages and their hosts where the host has none of its own.
  std::optional<Duration> min_delay;
  std::optional<uint32_t> max_in_flight;  // 0: no limit
  std::optional<Duration> min_page_interval;
  // All its pages are being removed, and no new ones are taken until they are.
  bool deleting = false;
  std::optional<FrontierMode> frontier_mode;  // unset: as configured
  bool operator==(const CrawlRecord&) const = default;
};

}  // namespace freshet

#endif  // FRESHET_CORE_MODEL_CRAWL_H_
