// Converts what a division has learned in an epoch to messages and back
// (core/estimate/epoch_sums.h).
#ifndef FRESHET_SERVER_API_EPOCH_TOTALS_H_
#define FRESHET_SERVER_API_EPOCH_TOTALS_H_

#include "core/base/status.h"
#include "core/estimate/epoch_sums.h"
#include "freshet/v1/fleet.pb.h"
#include "server/engine/sources.h"

namespace freshet {

// Both functions are thread-safe.
//
// Sources are written by name, because each division numbers its sources differently.
void ToProto(const EpochTotals& totals, const Sources& sources, v1::EpochTotals* out);
// Leaves out sources that this server does not know. InvalidArgument names the field of an
// impossible number or size.
[[nodiscard]] StatusOr<EpochTotals> FromProto(const v1::EpochTotals& totals,
                                              const Sources& sources);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_EPOCH_TOTALS_H_
