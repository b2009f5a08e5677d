// Tests that rows of a log are converted to changes for a follower.
#include "storage/internal/followed_rows.h"

#include <gtest/gtest.h>

#include <string>

#include "storage/internal/keys.h"
#include "storage/internal/records.h"
#include "tests/storage/random_records.h"

namespace freshet::storage {
namespace {

class FollowedRowsTest : public testing::Test {
 protected:
  void AddPage(const PageRecord& page, bool removed = false) {
    std::string value;
    const std::string key = PageKeyOf(page.number);
    EncodePage(key, 1, page, &value);
    rows_.Add({.family = Family::kPages, .key = key, .value = Unless(removed, value)});
  }
  void AddHost(const HostRecord& host, bool removed = false) {
    std::string value;
    const std::string key = HostKeyOf(Slot(1), host.host);
    EncodeHost(key, 1, host, &value);
    rows_.Add({.family = Family::kHosts, .key = key, .value = Unless(removed, value)});
  }
  static std::optional<std::string_view> Unless(bool removed, const std::string& value) {
    if (removed) return std::nullopt;
    return value;
  }

  RandomRecords random_{5};
  FollowedRows rows_;
};

TEST_F(FollowedRowsTest, TheLastWordOnEachPageAndHostCounts) {
  const PageRecord before = random_.Page("a.example", 1, 1);
  PageRecord page = before;
  page.spec = random_.Spec();
  const PageRecord gone = random_.Page("a.example", 2, 2);
  AddPage(before);
  AddPage(page);
  AddPage(gone);
  AddPage(gone, /*removed=*/true);
  const HostRecord host = random_.Host("a.example");
  AddHost(host, /*removed=*/true);
  AddHost(host);
  AddHost({.host = "b.example"}, /*removed=*/true);
  const FollowedChanges changes = rows_.Take();
  EXPECT_EQ(changes.pages, std::vector{page});
  EXPECT_EQ(changes.removed_pages, std::vector{gone.number});
  EXPECT_EQ(changes.hosts, std::vector{host});
  EXPECT_EQ(changes.removed_hosts, std::vector<std::string>{"b.example"});
  EXPECT_TRUE(rows_.Take().empty());
  EXPECT_FALSE(rows_.beyond());
}

TEST_F(FollowedRowsTest, MarksLeasesAndSourcesAreReadInTheEnd) {
  for (const std::string& key :
       {MetaKeyOf(MetaKey::kNextSerial, 3), MetaKeyOf(MetaKey::kLogOwners, 0),
        MetaKeyOf(MetaKey::kLogBirth, 0), MetaKeyOf(MetaKey::kLogFormat, 0),
        MetaKeyOf(MetaKey::kLayout)}) {
    rows_.Add({.family = Family::kMeta, .key = key, .value = "x"});
  }
  rows_.Add({.family = Family::kLeases, .key = LeaseKeyOf(0, 7), .value = "x"});
  rows_.Add({.family = Family::kSources, .key = SourceKeyOf(2), .value = "x"});
  EXPECT_FALSE(rows_.beyond());
  EXPECT_TRUE(rows_.Take().empty());
}

TEST_F(FollowedRowsTest, WhatShardsAreMadeWithAndDamageAreBeyondIt) {
  struct Row {
    Family family;
    std::string key;
    std::optional<std::string_view> value;
  };
  const Row beyond[] = {
      {Family::kMeta, MetaKeyOf(MetaKey::kGeneration), "x"},
      {Family::kMeta, MetaKeyOf(MetaKey::kSettings), "x"},
      {Family::kMeta, MetaKeyOf(MetaKey::kEpoch, 1), "x"},
      {Family::kMeta, EpochPartKeyOf(1, 0), "x"},
      {Family::kMeta, MetaKeyOf(MetaKey::kSecret), "x"},
      {Family::kMeta, CrawlKeyOf("shop"), std::nullopt},
      {Family::kMeta, "\x63", "of a later release"},
      {Family::kMeta, "", "x"},
      {Family::kPages, PageKeyOf(random_.Page("a.example", 1, 1).number), "damaged"},
      {Family::kPages, "short", std::nullopt},
      {Family::kHosts, HostKeyOf(Slot(1), "a.example"), "damaged"},
      {Family::kHosts, "", std::nullopt},
  };
  const std::string source = SourceKeyOf(2);
  for (const Row& row : beyond) {
    FollowedRows rows;
    rows.Add({.family = row.family, .key = row.key, .value = row.value});
    EXPECT_TRUE(rows.beyond()) << row.key;
    EXPECT_TRUE(rows.Take().empty());
    rows.Add({.family = Family::kSources, .key = source, .value = "x"});
    EXPECT_TRUE(rows.beyond()) << "for good";
  }
}

}  // namespace
}  // namespace freshet::storage
