#include "core/estimate/lessons.h"

namespace freshet {

void SiteLesson::AddTo(const LifeModel& model, SiteCounts& counts) const {
  switch (kind) {
    case Kind::kEvent:
      return counts.ages.AddEvent(from);
    case Kind::kExposure:
      return counts.ages.AddExposure(rate, from, to);
    case Kind::kCensored:
      return counts.ages.AddCensored(rate, from, to);
    case Kind::kCrawl:
      return counts.lives.AddCrawl(model, rate, found);
    case Kind::kLook:
      return counts.lives.AddLook(to, from, found);
  }
}

}  // namespace freshet
