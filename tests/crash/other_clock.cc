// Preloaded with LD_PRELOAD: shifts the wall clock by the seconds in a file that the environment
// names. The file can change while the program runs. It is read each time the program reads the
// clock.
#include <dlfcn.h>
#include <sys/time.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace {

long long Ahead() {
  const char* const file = std::getenv("FRESHET_CLOCK_AHEAD");
  long long seconds = 0;
  if (file == nullptr) return 0;
  if (FILE* const in = std::fopen(file, "re"); in != nullptr) {
    if (std::fscanf(in, "%lld", &seconds) != 1) seconds = 0;
    std::fclose(in);
  }
  return seconds;
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec* time) noexcept {
  using Get = int (*)(clockid_t, timespec*);
  static const auto kGet = reinterpret_cast<Get>(dlsym(RTLD_NEXT, "clock_gettime"));
  const int result = kGet(clock, time);
  if (result == 0 && clock == CLOCK_REALTIME) time->tv_sec += Ahead();
  return result;
}

__attribute__((visibility("default"))) int gettimeofday(timeval* time, void*) noexcept {
  timespec now{};
  const int result = clock_gettime(CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec;
  time->tv_usec = now.tv_nsec / 1000;
  return result;
}

__attribute__((visibility("default"))) time_t time(time_t* time) noexcept {
  timespec now{};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  if (time != nullptr) *time = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
