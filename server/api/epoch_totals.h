// What the pages of a division showed (core/estimate/epoch_sums.h), as a message to another one.
#ifndef FRESHET_SERVER_API_EPOCH_TOTALS_H_
#define FRESHET_SERVER_API_EPOCH_TOTALS_H_

#include "core/base/status.h"
#include "core/estimate/epoch_sums.h"
#include "freshet/v1/fleet.pb.h"
#include "server/engine/sources.h"

namespace freshet {

// Both are thread-safe.
//
// Sources go by their names: each division has indices of its own.
void ToProto(const EpochTotals& totals, const Sources& sources, v1::EpochTotals* out);
// What is of sources that are not known here is left out. InvalidArgument, naming the field, for
// numbers and sizes that no server means.
[[nodiscard]] StatusOr<EpochTotals> FromProto(const v1::EpochTotals& totals,
                                              const Sources& sources);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_EPOCH_TOTALS_H_
