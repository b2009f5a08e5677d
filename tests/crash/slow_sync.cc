// Loaded before the C library by LD_PRELOAD: a disk that takes longer to make sure of what it has.
#include <dlfcn.h>

#include <chrono>
#include <cstdlib>
#include <thread>

extern "C" __attribute__((visibility("default"))) int fdatasync(int descriptor) {
  using Sync = int (*)(int);
  static const auto kSync = reinterpret_cast<Sync>(dlsym(RTLD_NEXT, "fdatasync"));
  static const char* const kMillis = std::getenv("FRESHET_SLOW_SYNC_MS");
  if (kMillis != nullptr) {
    std::this_thread::sleep_for(std::chrono::milliseconds(std::atoi(kMillis)));
  }
  return kSync(descriptor);
}
