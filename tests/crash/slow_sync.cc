// Preloaded with LD_PRELOAD: makes syncs of a disk take longer.
#include <dlfcn.h>

#include <cstdlib>

#include "tests/support/wall_time.h"

extern "C" __attribute__((visibility("default"))) int fdatasync(int descriptor) {
  using Sync = int (*)(int);
  static const auto kSync = reinterpret_cast<Sync>(dlsym(RTLD_NEXT, "fdatasync"));
  static const char* const kMillis = std::getenv("FRESHET_SLOW_SYNC_MS");
  if (kMillis != nullptr) {
    freshet::LetPass(freshet::Duration::Millis(std::atoi(kMillis)));
  }
  return kSync(descriptor);
}
