// Messages with what the pages of a division showed (core/estimate/epoch_sums.h).
#ifndef FRESHET_SERVER_API_EPOCH_TOTALS_H_
#define FRESHET_SERVER_API_EPOCH_TOTALS_H_

#include "core/base/status.h"
#include "core/estimate/epoch_sums.h"
#include "freshet/v1/fleet.pb.h"
#include "server/engine/sources.h"

namespace freshet {

// Both are thread-safe.
//
// Sources have their names, because each division has indices of its own.
void ToProto(const EpochTotals& totals, const Sources& sources, v1::EpochTotals* out);
// Leaves out sources that are unknown here. InvalidArgument, naming the field, for impossible
// numbers and sizes.
[[nodiscard]] StatusOr<EpochTotals> FromProto(const v1::EpochTotals& totals,
                                              const Sources& sources);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_EPOCH_TOTALS_H_
