#include "tools/sitemap/spool.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tools/sitemap/fetch.h"

namespace freshet::sitemap {
namespace {

absl::Status Failed(std::string_view done) {
  return TemporaryFileError(done, std::strerror(errno));
}

}  // namespace

std::string TemporaryDirectory() {
  const char* directory = std::getenv("TMPDIR");
  return directory != nullptr && *directory != '\0' ? directory : "/tmp";
}

absl::Status TemporaryFileError(std::string_view done, std::string_view why) {
  return absl::ResourceExhaustedError(
      fmt::format("a temporary file in {} cannot be {}: {}", TemporaryDirectory(), done, why));
}

absl::StatusOr<std::unique_ptr<Spool>> Spool::Create() {
  std::string name = TemporaryDirectory() + "/freshet-sitemap-XXXXXX";
  const int descriptor = mkostemp(name.data(), O_CLOEXEC);
  if (descriptor < 0) return Failed("made");
  unlink(name.c_str());
  return std::unique_ptr<Spool>(new Spool(descriptor));
}

Spool::~Spool() { close(descriptor_); }

absl::Status Spool::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed("written");
    size_ += static_cast<size_t>(written);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

absl::Status Spool::Clear() {
  if (ftruncate(descriptor_, 0) != 0) return Failed("emptied");
  size_ = 0;
  return absl::OkStatus();
}

std::unique_ptr<cli::ByteSource> Spool::Read() const {
  lseek(descriptor_, 0, SEEK_SET);
  return cli::ByteSource::Of(cli::ByteSource::FromDescriptor(descriptor_), kMaxFetchedBytes);
}

}  // namespace freshet::sitemap
