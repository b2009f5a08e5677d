#include "storage/internal/followed_rows.h"

#include <string_view>
#include <utility>

#include "storage/internal/keys.h"
#include "storage/internal/records.h"

namespace freshet::storage {
namespace {

// Returns true for a mark: a row of `meta` that does not affect loaded pages and hosts, or that the
// store reads again when it takes over.
bool IsMark(std::string_view key) {
  if (key.empty()) return false;
  switch (static_cast<MetaKey>(key[0])) {
    case MetaKey::kFormat:
    case MetaKey::kLayout:
    case MetaKey::kNextSerial:
    case MetaKey::kLogOffset:
    case MetaKey::kLogTime:
    case MetaKey::kLogFormat:
    case MetaKey::kLogName:
    case MetaKey::kLogOwners:
    case MetaKey::kLogBirth:
      return true;
    case MetaKey::kGeneration:  // another server has begun to serve; lease ids continue from its
                                // generation
    case MetaKey::kSettings:
    case MetaKey::kEpoch:
    case MetaKey::kEpochPart:
    case MetaKey::kSecret:
    case MetaKey::kCrawl:
      return false;
  }
  return false;
}

}  // namespace

void FollowedRows::Add(const LogRow& row) {
  switch (row.family) {
    case Family::kPages:
      return AddPage(row);
    case Family::kHosts:
      return AddHost(row);
    case Family::kMeta:
      if (!IsMark(row.key)) beyond_ = true;
      return;
    case Family::kLeases:
    case Family::kSources:
    case Family::kFrontierMeta:
    case Family::kFrontierItems:
    case Family::kFrontierDue:
    case Family::kFrontierLeases:
    case Family::kFrontierQueues:
    case Family::kFrontierGone:
      return;
  }
}

void FollowedRows::AddPage(const LogRow& row) {
  const std::optional<PageNumber> number = ParsePageKey(row.key);
  PageRecord page;
  if (!number || (row.value && !DecodePage(row.key, *row.value, &page).ok())) {
    beyond_ = true;
    return;
  }
  pages_[*number] = row.value ? std::optional(std::move(page)) : std::nullopt;
}

void FollowedRows::AddHost(const LogRow& row) {
  const std::optional<HostKeyParts> parts = ParseHostKey(row.key);
  HostRow host;
  if (!parts || (row.value && !DecodeHost(row.key, *row.value, &host).ok())) {
    beyond_ = true;
    return;
  }
  hosts_[std::string(parts->host)] =
      row.value ? std::optional(std::move(host.record)) : std::nullopt;
}

FollowedChanges FollowedRows::Take() {
  FollowedChanges changes;
  for (auto& [number, page] : pages_) {
    if (page) {
      changes.pages.push_back(*std::move(page));
    } else {
      changes.removed_pages.push_back(number);
    }
  }
  for (auto& [name, host] : hosts_) {
    if (host) {
      changes.hosts.push_back(*std::move(host));
    } else {
      changes.removed_hosts.push_back(name);
    }
  }
  pages_.clear();
  hosts_.clear();
  return changes;
}

}  // namespace freshet::storage
