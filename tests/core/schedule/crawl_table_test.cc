#include "core/schedule/crawl_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace freshet {
namespace {

TEST(CrawlTable, CountsPagesAndHostsOfEachCrawlId) {
  CrawlTable crawls;
  const CrawlIndex first = *crawls.Intern("first");
  const CrawlIndex second = *crawls.Intern("second");
  EXPECT_NE(first, second);
  EXPECT_EQ(*crawls.Intern("first"), first);
  // Host 1 has pages of both crawl ids. Host 2 has only pages of the first.
  crawls.Add(PageId(0), HostId(1), first, 1, false);
  crawls.Add(PageId(1), HostId(1), second, 2, false);
  crawls.Add(PageId(2), HostId(1), second, 3, false);
  crawls.Add(PageId(3), HostId(2), first, 1, false);
  EXPECT_EQ(crawls[first].counters.pages, 2U);
  EXPECT_EQ(crawls[first].counters.hosts, 2U);
  EXPECT_EQ(crawls[second].counters.pages, 2U);
  EXPECT_EQ(crawls[second].counters.hosts, 1U);
  EXPECT_EQ(crawls.Of(PageId(1)), second);
  EXPECT_EQ(crawls.Of(PageId(3)), first);
  EXPECT_EQ(crawls.PagesOf(HostId(1), first, 3), 1U);
  crawls.Remove(PageId(0), HostId(1), 2);
  EXPECT_EQ(crawls[first].counters.hosts, 1U);
  crawls.Remove(PageId(1), HostId(1), 1);
  EXPECT_EQ(crawls[second].counters.hosts, 1U);
  crawls.Remove(PageId(2), HostId(1), 0);
  // Without pages and settings the crawl id is forgotten, and its number is free for another.
  EXPECT_FALSE(crawls.Find("second"));
  EXPECT_EQ(*crawls.Intern("third"), second);
  EXPECT_EQ(crawls[second].counters, CrawlCounters());
}

TEST(CrawlTable, WhatIsSetKeepsACrawlIdWithoutPages) {
  CrawlTable crawls;
  const CrawlIndex crawl = *crawls.Intern("c");
  crawls.SetTerms(crawl, {.record = {.crawl_id = "c", .share = 0.5, .deleting = true},
                          .crawl_class = 3,
                          .quota = nullptr});
  EXPECT_EQ(crawls.deletions(), 1U);
  crawls.Add(PageId(0), HostId(0), crawl, 1, false);
  EXPECT_EQ(crawls.ClassOf(PageId(0)), 3);
  crawls.Remove(PageId(0), HostId(0), 0);
  EXPECT_TRUE(crawls.Find("c"));
  crawls.DropTerms(crawl);
  EXPECT_EQ(crawls.deletions(), 0U);
  EXPECT_FALSE(crawls.Find("c"));
}

TEST(CrawlTable, ACrawlIdCountsForItsClientUntilItIsForgotten) {
  CrawlTable crawls;
  const CrawlIndex crawl = *crawls.Intern("c");
  crawls.Own(crawl, 7);
  crawls.Own(crawl, 8);
  EXPECT_EQ(crawls.shares().held(7), 1U);
  EXPECT_EQ(crawls.shares().held(8), 0U);
  crawls.Add(PageId(0), HostId(1), crawl, 1, false);
  crawls.Remove(PageId(0), HostId(1), 0);
  EXPECT_EQ(crawls.shares().held(7), 0U);
  EXPECT_EQ(crawls.shares().taken(), 0U);
}

}  // namespace
}  // namespace freshet
