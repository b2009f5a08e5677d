// What a batch of events teaches an estimator, before it is known whether the batch is taken.
#ifndef FRESHET_CORE_ESTIMATE_LESSONS_H_
#define FRESHET_CORE_ESTIMATE_LESSONS_H_

#include <cstdint>
#include <vector>

#include "core/base/units.h"
#include "core/estimate/bursts.h"
#include "core/estimate/quarantine.h"
#include "core/estimate/signal_windows.h"
#include "core/estimate/site.h"
#include "core/model/page_number.h"

namespace freshet {

// A quarantine that began or ended.
struct QuarantineNews {
  bool begun = false;
  SourceStanding standing;
};

// One count for the model of a site. Value type, thread-compatible.
struct SiteLesson {
  enum class Kind : uint8_t {
    kEvent,     // at the age `from`
    kExposure,  // of AgeCounts, with `rate`, `from` and `to`
    kCensored,  // likewise
    kCrawl,     // of LifeCounts: of a page that was there with the chance `rate`; `found`
    kLook,  // at a page that had been gone for `to`, `from` of it since the look before; `found`
  };
  uint16_t site = 0;
  PageNumber page;
  Kind kind = Kind::kEvent;
  bool found = false;
  double rate = 0;
  double from = 0;
  double to = 0;

  void AddTo(const LifeModel& model, SiteCounts& counts) const;
};

// Filled by the Record functions of Estimator, which leave the estimator itself as it is and go by
// what the batch has taught so far; Estimator::Install takes it over. Dropped, it leaves no trace.
// Thread-compatible.
struct Lessons {
  SignalWindows::Staged windows;
  Bursts::Staged bursts;
  Quarantine::Staged quarantine;
  std::vector<SiteLesson> sites;     // in order
  std::vector<QuarantineNews> news;  // likewise
  Instant first;                     // event, where none had been recorded before
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_LESSONS_H_
