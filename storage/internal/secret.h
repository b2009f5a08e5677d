// The secret of a store's fingerprints (core/base/fingerprint.h).
#ifndef FRESHET_STORAGE_INTERNAL_SECRET_H_
#define FRESHET_STORAGE_INTERNAL_SECRET_H_

#include "core/base/fingerprint.h"
#include "core/base/status.h"

namespace freshet::storage {

// Draws a new secret from the system's source of random bytes. Unavailable: there is none.
// Thread-safe.
[[nodiscard]] StatusOr<FingerprintSecret> DrawSecret();

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_INTERNAL_SECRET_H_
