// A library to preload that makes the clock and the disk of one process wrong. The file
// FRESHET_MACHINE says how, and may change at any time: 16 bytes, two little-endian numbers.
// - The first number is the error of the wall clock in nanoseconds. Waits until a time of the wall
//   clock keep their right length.
// - The second number is the state of the disk with the directory FRESHET_DISK. Reads always work.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000LL

enum disk { WELL, FAILS, HANGS };

struct machine {
  int64_t offset;
  int64_t disk;
};

static const volatile struct machine* machine;
static const char* disk;

__attribute__((constructor)) static void map_machine(void) {
  disk = getenv("FRESHET_DISK");
  const char* path = getenv("FRESHET_MACHINE");
  const int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  void* mapped = mmap(NULL, sizeof(*machine), PROT_READ, MAP_SHARED, file, 0);
  close(file);
  if (mapped != MAP_FAILED) machine = mapped;
}

// The original function.
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static void add(struct timespec* time, int64_t nanoseconds) {
  const int64_t sum = (int64_t)time->tv_sec * SECOND + time->tv_nsec + nanoseconds;
  time->tv_sec = sum / SECOND;
  time->tv_nsec = sum % SECOND;
}

int clock_gettime(clockid_t clock, struct timespec* time) {
  static __typeof__(&clock_gettime) real;
  if (real == NULL) real = NEXT(clock_gettime);
  const int failed = real(clock, time);
  const int is_wall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
  if (failed == 0 && is_wall && machine != NULL) add(time, machine->offset);
  return failed;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec time;
  if (clock_gettime(CLOCK_REALTIME, &time) != 0) return -1;
  now->tv_sec = time.tv_sec;
  now->tv_usec = time.tv_nsec / 1000;
  return 0;
}

time_t time(time_t* where) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (where != NULL) *where = now.tv_sec;
  return now.tv_sec;
}

long syscall(long number, ...) {
  static __typeof__(&syscall) real;
  if (real == NULL) real = NEXT(syscall);
  va_list list;
  va_start(list, number);
  long a[6];
  for (int i = 0; i < 6; ++i) a[i] = va_arg(list, long);
  va_end(list);
  struct timespec until;
  if (number == SYS_futex && (a[1] & FUTEX_CLOCK_REALTIME) != 0 && a[3] != 0 && machine != NULL) {
    until = *(const struct timespec*)a[3];
    add(&until, -machine->offset);
    a[3] = (long)&until;
  }
  return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

// Waits while the disk hangs. If the disk fails, sets errno and returns 1.
static int disk_fails(void) {
  const struct timespec moment = {.tv_nsec = 10000000};
  while (machine->disk == HANGS) nanosleep(&moment, NULL);
  if (machine->disk != FAILS) return 0;
  errno = EIO;
  return 1;
}

static int is_on_disk(const char* path) {
  return disk != NULL && strncmp(path, disk, strlen(disk)) == 0;
}

static int file_fails(int file) {
  if (machine == NULL || machine->disk == WELL) return 0;
  char name[32];
  char path[4096];
  snprintf(name, sizeof(name), "/proc/self/fd/%d", file);
  const ssize_t size = readlink(name, path, sizeof(path) - 1);
  if (size < 0) return 0;
  path[size] = 0;
  return is_on_disk(path) && disk_fails();
}

static int open_fails(const char* path, int flags) {
  if (machine == NULL || machine->disk == WELL) return 0;
  return (flags & O_ACCMODE) != O_RDONLY && is_on_disk(path) && disk_fails();
}

#define OPEN(name)                                    \
  int name(const char* path, int flags, ...) {        \
    if (open_fails(path, flags)) return -1;           \
    va_list list;                                     \
    va_start(list, flags);                            \
    const mode_t mode = va_arg(list, mode_t);         \
    va_end(list);                                     \
    return NEXT(name)(path, flags, mode);             \
  }
OPEN(open)
OPEN(open64)

ssize_t write(int file, const void* bytes, size_t size) {
  static __typeof__(&write) real;
  if (real == NULL) real = NEXT(write);
  return file_fails(file) ? -1 : real(file, bytes, size);
}

#define PWRITE(name)                                                        \
  ssize_t name(int file, const void* bytes, size_t size, off_t at) {        \
    return file_fails(file) ? -1 : NEXT(name)(file, bytes, size, at);       \
  }
PWRITE(pwrite)
PWRITE(pwrite64)

int fsync(int file) { return file_fails(file) ? -1 : NEXT(fsync)(file); }

int fdatasync(int file) { return file_fails(file) ? -1 : NEXT(fdatasync)(file); }
