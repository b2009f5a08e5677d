#include "storage/internal/secret.h"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

namespace freshet::storage {

StatusOr<FingerprintSecret> DrawSecret() {
  FingerprintSecret secret{};
  ssize_t drawn = 0;
  // For a request of so few bytes, getrandom returns all bytes, or none if a signal interrupts the
  // call.
  do {
    drawn = getrandom(secret.data(), secret.size(), 0);
  } while (drawn < 0 && errno == EINTR);
  if (drawn == static_cast<ssize_t>(secret.size())) return secret;
  return MakeStatus(absl::StatusCode::kUnavailable, "drawing a secret for a new store: {}",
                    std::generic_category().message(errno));
}

}  // namespace freshet::storage
