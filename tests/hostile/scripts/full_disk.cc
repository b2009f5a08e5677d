// A disk that fills up under load, to the last byte, and then has space again. The disk is in
// memory and visible only to this thread and the server. Mounting it needs root; without root, the
// script is skipped.
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "fmt/format.h"
#include "tests/crash/daemon.h"
#include "tests/hostile/honest.h"
#include "tests/hostile/scripts.h"
#include "tests/hostile/socket.h"

namespace freshet::hostile {
namespace {

bool Mount(const std::string& path) {
  return unshare(CLONE_NEWNS) == 0 && mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
         mount("freshet", path.c_str(), "tmpfs", 0, "size=400m") == 0;
}

// Uses up space until at most `free_mib` MiB are free.
void Fill(const std::string& disk, uint64_t free_mib) {
  struct statvfs about = {};
  if (statvfs(disk.c_str(), &about) != 0) return;
  const auto free = static_cast<int64_t>(about.f_bavail * about.f_frsize);
  const int fd = open((disk + "/ballast").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const int64_t size = lseek(fd, 0, SEEK_END);
  (void)posix_fallocate(fd, size,
                        std::max<int64_t>(free - static_cast<int64_t>(free_mib << 20), 1));
  close(fd);
}

std::vector<std::string> Urls(Random& random) {
  std::vector<std::string> urls;
  for (int i = 0; i < 500; ++i) {
    urls.push_back(fmt::format("https://a{}.test/{}", i % 20, random.Below(20'000)));
  }
  return urls;
}

std::string Play(crash::Daemon& daemon, const std::string& disk, Random& random) {
  const auto channel = Connect(daemon.grpc_address());
  std::string wrong = Insist([&] { return UpsertOnce(channel, Urls(random)); });
  if (!wrong.empty()) return "with space left: " + wrong;
  for (int round = 0; round < 2; ++round) {
    Fill(disk, 100);
    if (Insist([&] { return UpsertOnce(channel, Urls(random)).empty() ? "taken" : ""; }) != "") {
      return "pages are still taken with 100 MiB left";
    }
    Fill(disk, 0);
    for (int i = 0; i < 20; ++i) (void)UpsertOnce(channel, Urls(random));
    if (daemon.EndsWithin(0)) return "the server ended on a full disk";
    wrong = Insist([&] { return ProbeOnce(daemon.http_address(), "/healthz"); });
    if (!wrong.empty()) return "on a full disk: " + wrong;
    std::filesystem::remove(disk + "/ballast");
    wrong = Insist([&] { return UpsertOnce(channel, Urls(random)); });
    if (!wrong.empty()) return "with space again: " + wrong;
  }
  wrong = Insist([&] { return ProbeOnce(daemon.http_address(), "/readyz"); });
  return wrong.empty() ? "" : "with space again: " + wrong;
}

}  // namespace

std::string FullDisk(const std::string& directory, Random random) {
  const std::string disk = directory + "/disk";
  std::filesystem::create_directories(disk);
  if (!Mount(disk)) {
    fmt::print("hostile: full_disk SKIPPED: mounting a disk of its own needs root\n");
    return {};
  }
  crash::Daemon daemon("disk/data", directory + "/log", directory);
  daemon.Spawn({});
  std::string wrong = daemon.AwaitReady();
  if (wrong.empty()) wrong = Play(daemon, disk, random);
  if (!wrong.empty()) return wrong;
  daemon.RequestStop();
  if (!daemon.EndsWithin(3 * kPatienceSeconds)) return "the server did not stop";
  wrong = daemon.AwaitEnd();
  return wrong.empty() ? daemon.Verify({}) : wrong;
}

}  // namespace freshet::hostile
