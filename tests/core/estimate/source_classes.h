// Signal classes for tests of the estimators.
#ifndef FRESHET_TESTS_CORE_ESTIMATE_SOURCE_CLASSES_H_
#define FRESHET_TESTS_CORE_ESTIMATE_SOURCE_CLASSES_H_

#include "core/model/signal.h"

namespace freshet {

inline constexpr SourceClass kPing(0, BurstClass::kFew);
inline constexpr SourceClass kSeveralPings(0, BurstClass::kSeveral);
inline constexpr SourceClass kMassPing(0, BurstClass::kMass);
inline constexpr SourceClass kSitemap(3, BurstClass::kMany);

}  // namespace freshet

#endif  // FRESHET_TESTS_CORE_ESTIMATE_SOURCE_CLASSES_H_
