#include "server/ops/history.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "spdlog/spdlog.h"

namespace freshet {
namespace {

namespace fs = std::filesystem;

int64_t SecondOf(Instant now) { return now.micros() / 1'000'000; }

}  // namespace

History::~History() { Flush(); }

void History::Open(const std::string& directory, Instant now) {
  const MutexLock lock(mutex_);
  std::error_code error;
  fs::create_directories(directory, error);
  path_ = (fs::path(directory) / "history.sqlite").string();
  Status status = OpenFile(now);
  if (absl::IsDataLoss(status)) {
    PutAside(status);
    status = OpenFile(now);
  }
  if (status.ok()) return;
  spdlog::warn("the history in {} is not stored: {}", path_, std::string(status.message()));
  file_.reset();
  path_.clear();
}

Status History::OpenFile(Instant now) {
  file_.reset();
  ASSIGN_OR_RETURN(file_, HistoryFile::Open(path_));
  HistoryRings rings;
  RETURN_IF_ERROR(file_->Load(SecondOf(now), &rings));
  rings_ = std::move(rings);
  for (size_t level = 0; level < stored_.size(); ++level) {
    const auto& rows = rings_.rows(level);
    // The last row counts as not stored, because FinishRestoring may have made it. Writing a row
    // twice is harmless.
    stored_[level] = rows.empty() ? -1 : rows.back().at - HistoryRings::kLevels[level].step;
  }
  return absl::OkStatus();
}

void History::PutAside(const Status& why) {
  file_.reset();
  std::error_code error;
  const std::string aside = path_ + ".damaged";
  fs::rename(path_, aside, error);
  for (const char* part : {"-wal", "-shm"}) fs::remove(path_ + part, error);
  spdlog::warn("the history {} is damaged and was put aside as {}: {}", path_, aside,
               std::string(why.message()));
  stored_.fill(-1);
}

void History::Add(Instant now, const Figures& figures) {
  if (figures.empty()) return;
  const MutexLock lock(mutex_);
  const int64_t second = SecondOf(now);
  rings_.Add(second, figures);
  if (second < flushed_at_ + kFlushInterval) return;
  flushed_at_ = second;
  FlushLocked();
}

void History::Flush() {
  const MutexLock lock(mutex_);
  FlushLocked();
}

HistoryFile::Batch History::Unstored() const {
  HistoryFile::Batch batch;
  for (size_t level = 0; level < batch.size(); ++level) {
    const auto& rows = rings_.rows(level);
    const auto stored = stored_[level];
    const auto first = std::find_if(rows.begin(), rows.end(),
                                    [&](const HistoryRow& row) { return row.at > stored; });
    batch[level].assign(first, rows.end());
  }
  return batch;
}

void History::FlushLocked() {
  if (path_.empty()) return;
  Status status = absl::OkStatus();
  if (file_ == nullptr) {
    StatusOr<std::unique_ptr<HistoryFile>> opened = HistoryFile::Open(path_);
    status = opened.status();
    if (status.ok()) file_ = *std::move(opened);
  }
  const HistoryFile::Batch batch = Unstored();
  if (status.ok()) status = file_->Write(rings_.names(), batch);
  if (status.ok()) {
    for (size_t level = 0; level < batch.size(); ++level) {
      if (!batch[level].empty()) stored_[level] = batch[level].back().at;
    }
    complained_ = false;
    return;
  }
  // After this, the next flush creates a new file and stores all rows in memory.
  if (absl::IsDataLoss(status)) return PutAside(status);
  if (!std::exchange(complained_, true)) {
    spdlog::warn("the history {} cannot be written: {}", path_, std::string(status.message()));
  }
}

HistoryWindow History::Read(Instant now, int64_t window, int64_t since) const {
  window = std::clamp<int64_t>(window, 1, kMaxWindow);
  const size_t level = HistoryRings::LevelFor(window);
  const int64_t step = HistoryRings::kLevels[level].step;
  const int64_t after = std::max(since, SecondOf(now) - window - step);
  const MutexLock lock(mutex_);
  HistoryWindow out{.step = step, .names = rings_.names(), .rows = {}};
  const auto& rows = rings_.rows(level);
  // Searches backward, because most readers ask for the newest rows.
  auto first = rows.end();
  while (first != rows.begin() && std::prev(first)->at > after) --first;
  out.rows.assign(first, rows.end());
  if (level == 0) return out;
  for (HistoryRow& row : rings_.Unfinished(level)) {
    if (row.at > after) out.rows.push_back(std::move(row));
  }
  return out;
}

HistoryWindow History::Seconds() const {
  const MutexLock lock(mutex_);
  const auto& rows = rings_.rows(0);
  return {.step = 1, .names = rings_.names(), .rows = {rows.begin(), rows.end()}};
}

}  // namespace freshet
