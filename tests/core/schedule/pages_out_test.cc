#include "core/schedule/pages_out.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/core/schedule/instants.h"

namespace freshet {
namespace {

class PagesOutTest : public testing::Test {
 protected:
  void Open(uint32_t page, uint64_t lease, Instant deadline) {
    out_.Pick(PageId(page), HostId(0), /*planned=*/false);
    (void)out_.Lease(PageId(page), LeaseId(lease), deadline);
  }
  std::vector<LeaseId> Expired(Instant now, size_t max = 100) {
    std::vector<LeaseId> expired;
    out_.TakeExpired(now, max, &expired);
    return expired;
  }

  PagesOut out_;
};

TEST_F(PagesOutTest, APageIsOutFromItsPickOn) {
  EXPECT_EQ(out_.Find(PageId(3)), nullptr);
  out_.Pick(PageId(3), HostId(7), /*planned=*/true);
  ASSERT_NE(out_.Find(PageId(3)), nullptr);
  EXPECT_EQ(out_.Find(PageId(3))->lease, LeaseId());
  EXPECT_EQ(out_.next_deadline(), Instant::Infinite()) << "no lease yet";
  EXPECT_EQ(out_.Lease(PageId(3), LeaseId(5), At(60)).host, HostId(7));
  EXPECT_EQ(out_.next_deadline(), At(60));
  const PagesOut::Out ended = out_.End(PageId(3));
  EXPECT_EQ(ended.lease, LeaseId(5));
  EXPECT_EQ(ended.host, HostId(7));
  EXPECT_TRUE(ended.planned);
  EXPECT_FALSE(out_.Has(PageId(3)));
}

TEST_F(PagesOutTest, TellsEachLeaseThatRanOutOnceInOrder) {
  Open(1, 11, At(60));
  Open(2, 12, At(40));
  Open(3, 13, At(50));
  Open(4, 14, At(80));
  EXPECT_TRUE(Expired(At(39)).empty());
  EXPECT_EQ(Expired(At(60), 2), (std::vector{LeaseId(12), LeaseId(13)}));
  EXPECT_EQ(Expired(At(60)), std::vector{LeaseId(11)});
  EXPECT_TRUE(Expired(At(60)).empty());
  EXPECT_EQ(out_.next_deadline(), At(80));
  EXPECT_TRUE(out_.Has(PageId(1))) << "until its lease is closed";
}

TEST_F(PagesOutTest, SaysNothingOfLeasesThatEndedBefore) {
  Open(1, 11, At(40));
  Open(2, 12, At(50));
  (void)out_.End(PageId(1));
  EXPECT_EQ(Expired(At(60), 1), std::vector{LeaseId(12)}) << "what has ended counts for nothing";
  EXPECT_EQ(out_.next_deadline(), Instant::Infinite());
}

// A worker can take leases of a day and answer immediately. Their deadlines must not accumulate
// until the day has passed.
TEST_F(PagesOutTest, DeadlinesOfLeasesThatEndedAreForgotten) {
  Open(1, 1, At(90'000));
  for (uint64_t lease = 2; lease < 1000; ++lease) {
    Open(2, lease, At(static_cast<int>(lease)));
    (void)out_.End(PageId(2));
    ASSERT_EQ(out_.next_deadline(), At(90'000));
  }
  Open(3, 1000, At(80'000));
  EXPECT_EQ(Expired(At(90'000)), (std::vector{LeaseId(1000), LeaseId(1)}));
}

TEST_F(PagesOutTest, TheLeaseOfARemovedPageGoesOn) {
  out_.Pick(PageId(1), HostId(7), /*planned=*/false);
  (void)out_.Lease(PageId(1), LeaseId(11), At(40));
  out_.Orphan(PageId(1));
  EXPECT_FALSE(out_.Has(PageId(1)));
  // Another page reuses the id.
  Open(1, 12, At(50));
  EXPECT_EQ(out_.size(), 2u);
  EXPECT_TRUE(out_.IsOrphan(LeaseId(11)));
  EXPECT_FALSE(out_.IsOrphan(LeaseId(12)));
  EXPECT_EQ(Expired(At(40)), std::vector{LeaseId(11)});
  EXPECT_EQ(out_.EndOrphan(LeaseId(11)), HostId(7));
  EXPECT_FALSE(out_.IsOrphan(LeaseId(11)));
  EXPECT_EQ(out_.size(), 1u);
  EXPECT_EQ(out_.Find(PageId(1))->lease, LeaseId(12));
}

TEST_F(PagesOutTest, TheLeaseOfAPageThatWasRemovedBeforeTheStartIsOutToo) {
  out_.AddOrphan(LeaseId(11), HostId(7), At(40));
  EXPECT_EQ(out_.size(), 1u);
  EXPECT_EQ(Expired(At(40)), std::vector{LeaseId(11)});
  EXPECT_EQ(out_.EndOrphan(LeaseId(11)), HostId(7));
  EXPECT_EQ(out_.size(), 0u);
}

using PagesOutDeathTest = PagesOutTest;

TEST_F(PagesOutDeathTest, NoPageIsOutTwice) {
  out_.Pick(PageId(1), HostId(0), /*planned=*/false);
  EXPECT_DEATH(out_.Pick(PageId(1), HostId(0), /*planned=*/false), "page 1 is out");
  (void)out_.Lease(PageId(1), LeaseId(11), At(60));
  EXPECT_DEATH((void)out_.Lease(PageId(1), LeaseId(12), At(60)), "has lease");
  EXPECT_DEATH((void)out_.End(PageId(2)), "is not out");
  EXPECT_DEATH((void)out_.EndOrphan(LeaseId(11)), "of no removed page");
}

}  // namespace
}  // namespace freshet
