#include "server/logs/audit_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "core/base/check.h"
#include "core/base/safe_text.h"
#include "nlohmann/json.hpp"
#include "server/logs/log_text.h"
#include "spdlog/spdlog.h"

namespace freshet {
namespace {

using Json = nlohmann::ordered_json;

std::string ErrorText() { return std::generic_category().message(errno); }

// Visits the texts of an entry with their names in the file.
template <typename Entry, typename Visit>
void ForTexts(Entry& entry, const Visit& visit) {
  visit("request_id", entry.request_id);
  visit("who", entry.who);
  visit("from", entry.from);
  visit("action", entry.action);
  visit("request", entry.request);
  visit("before", entry.before);
  visit("after", entry.after);
  visit("outcome", entry.outcome);
}

// Reads up to `most` bytes from the end of a file, starting at the beginning of a line. Empty = the
// file does not exist, or cannot be read.
std::string ReadTail(const std::string& path, size_t most) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (file == nullptr || std::fseek(file.get(), 0, SEEK_END) != 0) return {};
  const long end = std::ftell(file.get());
  if (end <= 0) return {};
  const auto size = std::min(static_cast<size_t>(end), most);
  if (std::fseek(file.get(), end - static_cast<long>(size), SEEK_SET) != 0) return {};
  std::string text(size, '\0');
  text.resize(std::fread(text.data(), 1, size, file.get()));
  if (size < static_cast<size_t>(end)) text.erase(0, text.find('\n') + 1);
  return text;
}

void ParseLines(std::string_view text, std::deque<AuditEntry>* entries) {
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (std::optional<AuditEntry> entry = ParseAuditLine(text.substr(0, end)); entry) {
      entries->push_back(*std::move(entry));
      if (entries->size() > kMaxRecentAudit) entries->pop_front();
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string Lines(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace

std::string AuditLine(const AuditEntry& entry) {
  Json json;
  json["at"] = TimeText(entry.at);
  ForTexts(entry, [&json](const char* name, const std::string& text) {
    if (!text.empty()) json[name] = CutText(text, kMaxAuditTextBytes);
  });
  if (entry.repeats > 0) json["repeats"] = entry.repeats;
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

std::optional<AuditEntry> ParseAuditLine(std::string_view line) {
  const Json json = Json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return std::nullopt;
  const auto at = json.find("at");
  if (at == json.end() || !at->is_string()) return std::nullopt;
  const std::optional<Instant> time = ParseTimeText(at->get<std::string>());
  if (!time) return std::nullopt;
  AuditEntry entry;
  entry.at = *time;
  ForTexts(entry, [&json](const char* name, std::string& text) {
    const auto it = json.find(name);
    if (it != json.end() && it->is_string()) text = it->get<std::string>();
  });
  const auto repeats = json.find("repeats");
  if (repeats != json.end() && repeats->is_number_unsigned()) entry.repeats = *repeats;
  return entry;
}

// --- The file

// Owner thread only.
class AuditLog::File {
 public:
  explicit File(const AuditOptions& options) : options_(options) {}
  ~File() { Close(); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  Status Open() {
    descriptor_ = ::open(options_.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    struct stat about {};
    if (descriptor_ < 0 || ::fstat(descriptor_, &about) != 0) {
      return InvalidArgument("audit_log: cannot write {}: {}", options_.path, ErrorText());
    }
    if (!S_ISREG(about.st_mode)) {
      return InvalidArgument("audit_log: {} is not a regular file", options_.path);
    }
    bytes_ = static_cast<size_t>(about.st_size);
    // A crash may have cut off the last line. The next entry then begins a new line.
    const std::string tail = ReadTail(options_.path, 1);
    torn_ = bytes_ > 0 && tail != "\n" && !tail.empty();
    return absl::OkStatus();
  }

  Status Write(std::string text) {
    if (torn_) text.insert(0, 1, '\n');
    if (bytes_ > 0 && bytes_ + text.size() > options_.max_bytes) RETURN_IF_ERROR(Rotate());
    if (descriptor_ < 0) RETURN_IF_ERROR(Open());
    // The line counts as torn until all of it is written.
    torn_ = true;
    for (size_t written = 0; written < text.size();) {
      const ssize_t more = ::write(descriptor_, text.data() + written, text.size() - written);
      if (more < 0 && errno == EINTR) continue;
      if (more < 0) return Failed();
      written += static_cast<size_t>(more);
      bytes_ += static_cast<size_t>(more);
    }
    if (::fdatasync(descriptor_) != 0) return Failed();
    torn_ = false;
    return absl::OkStatus();
  }

 private:
  Status Failed() const {
    return MakeStatus(absl::StatusCode::kUnavailable, "audit_log: cannot write {}: {}",
                      options_.path, ErrorText());
  }
  void Close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }
  Status Rotate() {
    Close();
    const auto name = [this](int n) {
      return n == 0 ? options_.path : fmt::format("{}.{}", options_.path, n);
    };
    for (int n = options_.older_files - 1; n >= 0; --n) {
      std::error_code error;
      std::filesystem::rename(name(n), name(n + 1), error);
      if (error && error != std::errc::no_such_file_or_directory) {
        return MakeStatus(absl::StatusCode::kUnavailable, "audit_log: cannot rename {}: {}",
                          name(n), error.message());
      }
    }
    bytes_ = 0;
    return Open();
  }

  const AuditOptions options_;
  int descriptor_ = -1;
  size_t bytes_ = 0;
  bool torn_ = false;
};

// --- The log

StatusOr<std::unique_ptr<AuditLog>> AuditLog::Open(AuditOptions options, Clock& clock) {
  CHECK(options.older_files >= 1 && options.max_bytes > 0);
  auto file = std::make_unique<File>(options);
  RETURN_IF_ERROR(file->Open());
  std::deque<AuditEntry> recent;
  // If the current file is new, most of the recent entries are still in FILE.1.
  for (const std::string& path : {options.path + ".1", options.path}) {
    ParseLines(ReadTail(path, options.max_bytes), &recent);
  }
  return std::unique_ptr<AuditLog>(
      new AuditLog(std::move(options), clock, std::move(file), std::move(recent)));
}

AuditLog::AuditLog(AuditOptions options, Clock& clock, std::unique_ptr<File> file,
                   std::deque<AuditEntry> recent)
    : options_(std::move(options)),
      clock_(clock),
      file_(std::move(file)),
      recent_(std::move(recent)),
      thread_([this] { Run(); }) {}

AuditLog::~AuditLog() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
    wake_.NotifyAll();
  }
  thread_.join();
}

void AuditLog::Append(AuditEntry entry, Done done) {
  std::optional<std::string> said;
  {
    const MutexLock lock(mutex_);
    if (waiting_.size() < kMaxWaitingAudit) {
      entry.at = clock_.Now();
      waiting_.push_back({.entry = std::move(entry), .done = std::move(done)});
      wake_.NotifyAll();
      return;
    }
    ++stats_.failed;
    said = log_unwritten_.Admit(clock_.Now());
  }
  const Status full = MakeStatus(
      absl::StatusCode::kResourceExhausted,
      "audit_log: {} entries already wait to be written to disk, the maximum", kMaxWaitingAudit);
  if (said) {
    spdlog::error("{}: {} of {} is not written{}", std::string(full.message()), entry.action,
                  entry.who, *said);
  }
  if (done) done(full);
}

bool AuditLog::Admit(Repeats<AuditEntry>& repeats, AuditEntry* entry, const std::string& kind,
                     Done* done) {
  entry->at = clock_.Now();
  if (repeats.Admit(kind, *entry, entry->at)) return true;
  // The thread might be in a wait of up to an hour. This wakes it up, so that it waits only until
  // the minute of this kind has ended.
  wake_.NotifyAll();
  if (*done) counted_.push_back(std::move(*done));
  return false;
}

void AuditLog::AppendLimited(AuditEntry entry, const std::string& kind, Done done) {
  {
    const MutexLock lock(mutex_);
    if (!Admit(repeats_, &entry, kind, &done)) return;
  }
  Append(std::move(entry), std::move(done));
}

void AuditLog::AppendChange(AuditEntry entry, const std::string& kind, Done done) {
  {
    const MutexLock lock(mutex_);
    if (changes_.Remembers(kind) && !Admit(changes_, &entry, kind, &done)) return;
  }
  Append(std::move(entry), std::move(done));
}

std::vector<AuditEntry> AuditLog::Recent(size_t most, Instant since) const {
  std::vector<AuditEntry> entries;
  const MutexLock lock(mutex_);
  for (auto it = recent_.rbegin(); it != recent_.rend() && entries.size() < most; ++it) {
    if (it->at < since) break;
    entries.push_back(*it);
  }
  return entries;
}

AuditStats AuditLog::stats() const {
  const MutexLock lock(mutex_);
  return stats_;
}

void AuditLog::Run() {
  while (true) {
    std::vector<Waiting> entries;
    std::vector<Done> counted;
    bool over = false;
    {
      const MutexLock lock(mutex_);
      if (waiting_.empty() && counted_.empty() && !stopping_) {
        wake_.WaitFor(mutex_, repeats_.empty() && changes_.empty()
                                  ? std::chrono::hours(1)
                                  : Repeats<AuditEntry>::kWindow.chrono());
      }
      over = stopping_;
      entries = Overdue(over);
      std::move(waiting_.begin(), waiting_.end(), std::back_inserter(entries));
      waiting_.clear();
      counted.swap(counted_);
    }
    Write(std::move(entries), std::move(counted));
    if (over) return;
  }
}

std::vector<AuditLog::Waiting> AuditLog::Overdue(bool all) {
  std::vector<Waiting> entries;
  const Instant now = clock_.Now();
  for (Repeats<AuditEntry>* repeats : {&repeats_, &changes_}) {
    for (auto& [entry, left_out] : repeats->Take(now, all)) {
      entry.at = now;
      entry.repeats = left_out;
      entries.push_back({.entry = std::move(entry), .done = nullptr});
    }
  }
  return entries;
}

void AuditLog::Write(std::vector<Waiting> entries, std::vector<Done> counted) {
  std::vector<std::string> lines;
  for (const Waiting& waiting : entries) lines.push_back(AuditLine(waiting.entry));
  const Status status = lines.empty() ? absl::OkStatus() : file_->Write(Lines(lines));
  std::optional<std::string> said;
  {
    const MutexLock lock(mutex_);
    if (!status.ok()) said = log_unwritten_.Admit(clock_.Now());
    (status.ok() ? stats_.written : stats_.failed) += lines.size();
    for (const std::string& line : lines) {
      if (std::optional<AuditEntry> entry = ParseAuditLine(line); entry) {
        recent_.push_back(*std::move(entry));
      }
      if (recent_.size() > kMaxRecentAudit) recent_.pop_front();
    }
  }
  if (said) {
    spdlog::error("{}: {} entries are not written{}", std::string(status.message()), lines.size(),
                  *said);
  }
  for (const Waiting& waiting : entries) {
    if (waiting.done) waiting.done(status);
  }
  for (const Done& done : counted) done(status);
}

}  // namespace freshet
