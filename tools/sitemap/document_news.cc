#include "tools/sitemap/document_news.h"

#include <algorithm>

#include "core/base/status.h"

namespace freshet::sitemap {
namespace {

// The size of a piece is adapted so that the server takes between kShortPieceTime and kPieceTime to
// answer a piece.
constexpr Duration kShortPieceTime = Duration::Millis(50);
constexpr Duration kPieceTime = Duration::Millis(200);

// Returns the latest past instant that the date can mean.
Instant ChangeOf(const FeedDate& date, Instant now) { return std::min(date.latest, now); }

}  // namespace

void PieceSize::Adapt(size_t sent, Duration took) {
  if (took > kPieceTime) {
    entries_ = std::max(entries_ / 2, kLeast);
  } else if (sent >= entries_ && took < kShortPieceTime) {
    entries_ = std::min(entries_ * 2, kMaxPiece);
  }
}

absl::StatusOr<DocumentNews::Counts> DocumentNews::Stage(SiteTurn& turn) {
  size_t looked = 0;
  const auto stage = [&](uint64_t row, const auto& entry) FRESHET_REQUIRES(turn) -> absl::Status {
    RETURN_IF_ERROR(StageEntry(row, entry));
    return ++looked % kMaxPiece == 0 ? turn.GiveOn() : absl::OkStatus();
  };
  RETURN_IF_ERROR(entries_.ForEach(stage));
  return staged_;
}

absl::Status DocumentNews::StageEntry(uint64_t row, const FeedEntry& entry) {
  Instant modified;
  if (absl::IsNotFound(entry.modified.status())) {
    ++report_->undated;
  } else if (!entry.modified.ok() || entry.modified->told < kEarliestDate) {
    ++report_->unreadable;
  } else if (entry.modified->earliest > now_ + kMaxDateAhead) {
    ++report_->future;
  } else {
    modified = entry.modified->told;
  }
  ASSIGN_OR_RETURN(const KnownPage page, state_.FindPage(entry.url, stage_));
  if (page.staged ? modified <= page.staged->modified : page.known && modified <= page.modified) {
    return absl::OkStatus();
  }
  if (!page.staged) ++(page.known ? staged_.signals : staged_.pages);
  return state_.Stage(stage_, row, entry.url, modified);
}

absl::StatusOr<bool> DocumentNews::Send(Sender& sender, bool keep, PieceSize* piece,
                                        SiteTurn& turn) {
  bool all = true;
  uint64_t last = 0;  // last row
  size_t looked = 0;
  size_t sent = 0;
  const auto settle = [&]() -> absl::Status {
    const Instant begin = clock_();
    ASSIGN_OR_RETURN(const bool taken, Settle(sender, last, keep));
    piece->Adapt(sent, clock_() - begin);
    all = all && taken;
    looked = sent = 0;
    return absl::OkStatus();
  };
  const auto send = [&](uint64_t row, const FeedEntry& entry)
                        FRESHET_REQUIRES(turn) -> absl::Status {
    // A piece ends before an entry, not after one, so that the next turn always has something to
    // do.
    if (sent >= piece->entries() || looked == kMaxPiece) {
      RETURN_IF_ERROR(settle());
      RETURN_IF_ERROR(turn.GiveOn());
    }
    ASSIGN_OR_RETURN(const bool one, SendEntry(sender, row, entry));
    last = row;
    ++looked;
    sent += one ? 1 : 0;
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(entries_.ForEach(send));
  RETURN_IF_ERROR(settle());
  return all;
}

absl::StatusOr<bool> DocumentNews::SendEntry(Sender& sender, uint64_t row, const FeedEntry& entry) {
  ASSIGN_OR_RETURN(const KnownPage page, state_.FindPage(entry.url, stage_));
  if (!page.staged || page.staged->row != row) return false;
  // A poll of another site might have sent the same entry since it was staged here. If so, the
  // entry is not sent again.
  if (page.known && page.staged->modified <= page.modified) {
    RETURN_IF_ERROR(state_.Unstage(stage_, row));
    return false;
  }
  ++(page.known ? report_->signals : report_->new_pages);
  announced_ += 1 + (entry.url.size() - 1) / kUrlBytesPerPage;
  const bool sent = page.known ? sender.SendSignal(row, entry, ChangeOf(*entry.modified, now_))
                               : sender.SendPage(row, entry);
  if (sent) return true;
  RETURN_IF_ERROR(sender.Settle().status());
  return absl::UnavailableError("the connection is lost");
}

absl::StatusOr<bool> DocumentNews::Settle(Sender& sender, uint64_t row, bool keep) {
  ASSIGN_OR_RETURN(const Receipt receipt, sender.Settle());
  report_->refused += receipt.refused;
  report_->refusals.insert(report_->refusals.end(), receipt.refusals.begin(),
                           receipt.refusals.end());
  for (const uint64_t again : receipt.again) RETURN_IF_ERROR(state_.Unstage(stage_, again));
  if (keep) RETURN_IF_ERROR(state_.Commit(stage_, row));
  return receipt.again.empty();
}

}  // namespace freshet::sitemap
