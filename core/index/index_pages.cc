#include "core/index/index_pages.h"

#include "core/base/check.h"

namespace freshet {

uint64_t IndexPages::InternPolicy(const Policy& policy) {
  for (size_t i = 0; i < policies_.size(); ++i) {
    if (policy_pages_[i] > 0 && policies_[i] == policy) return i;
  }
  for (size_t i = 0; i < policies_.size(); ++i) {
    if (policy_pages_[i] > 0) continue;
    policies_[i] = policy;
    return i;
  }
  CHECK(false, "pages of more than {} policies", policies_.size());
  return 0;
}

bool IndexPages::Enter(PageRow row, const IndexEntry& entry, Instant now) {
  IndexRecord& record = row.record();
  if (record.place() == PagePlace::kNone) {
    ++size_;
  } else {
    --policy_pages_[record.policy()];
  }
  const uint8_t tag = record.tag();
  record = EncodeRecord(entry);
  record.set_tag(tag);
  record.set_policy(InternPolicy(entry.policy));
  ++policy_pages_[record.policy()];
  row.set_host(entry.host);
  const bool delayed = entry.eligible_from > now;
  if (!delayed && entry.forced_at.infinite()) {
    times_.Erase(row.page());
    return false;
  }
  const Instant eligible_from = delayed ? entry.eligible_from : Instant();
  const PageTimes* const before = TimesOf(row.page());
  if (before != nullptr && before->eligible_from == eligible_from &&
      before->forced_at == entry.forced_at) {
    return false;
  }
  times_.Set(row.page(), {eligible_from, entry.forced_at, ++last_tag_});
  return true;
}

void IndexPages::Leave(PageRow row) {
  CHECK(size_ > 0 && policy_pages_[row.record().policy()] > 0);
  --policy_pages_[row.record().policy()];
  times_.Erase(row.page());
  --size_;
}

void IndexPages::Restart(PageRow row, double exponent, Instant since) {
  IndexRecord& record = row.record();
  const Policy& policy = PolicyOf(record);
  EncodeClock(exponent, since, exponent == 0 ? 0 : SpeedOf(policy, record), Saturates(policy),
              &record);
}

std::optional<IndexEntry> IndexPages::Find(PageId page) const {
  if (!Has(page)) return std::nullopt;
  const IndexRecord& record = rows_.record(page);
  IndexEntry entry = DecodeRecord(PolicyOf(record), record);
  entry.host = rows_.host(page);
  if (const PageTimes* times = TimesOf(page)) {
    entry.eligible_from = times->eligible_from;
    entry.forced_at = times->forced_at;
  }
  return entry;
}

double IndexPages::ExponentOf(PageId page, Instant at) const {
  DCHECK(Has(page));
  const IndexRecord& record = rows_.record(page);
  return freshet::ExponentOf(record, SpeedOf(PolicyOf(record), record), at);
}

}  // namespace freshet
