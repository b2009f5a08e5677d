// The lessons that an estimator draws from a batch of events, before the batch is committed.
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

// One count for the model of a site. Value type, thread-compatible.
struct SiteLesson {
  enum class Kind : uint8_t {
    kEvent,     // an event at the age `from`
    kExposure,  // AgeCounts::AddExposure(rate, from, to)
    kCensored,  // AgeCounts::AddCensored(rate, from, to)
    kCrawl,     // LifeCounts::AddCrawl; the page existed with the probability `rate`
    kLook,      // LifeCounts::AddLook; gone for `to` days, `from` of them since the previous look
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

// The lessons of a batch. The Record functions of Estimator fill and read them, and do not change
// the estimator. Estimator::Install makes them current. A dropped batch leaves no trace.
// Thread-compatible.
struct Lessons {
  SignalWindows::Staged windows;
  Bursts::Staged bursts;
  Quarantine::Staged quarantine;
  std::vector<SiteLesson> sites;  // in order
  Instant first;                  // the first event ever recorded, if in this batch
};

}  // namespace freshet

#endif  // FRESHET_CORE_ESTIMATE_LESSONS_H_
