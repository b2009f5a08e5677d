#include "server/api/batch.h"

#include <string>
#include <vector>

#include "freshet/v1/fleet.pb.h"
#include "freshet/v1/pages.pb.h"
#include "gtest/gtest.h"
#include "server/api/parted_ack.h"

namespace freshet {
namespace {

v1::BatchAck AckWithNotes(int items, size_t bytes) {
  v1::BatchAck ack;
  ack.set_item_count(static_cast<uint32_t>(items));
  for (int i = 0; i < items; ++i) {
    v1::ItemStatus* status = ack.add_statuses();
    status->set_index(static_cast<uint32_t>(i));
    status->add_notes(std::string(bytes, 'n'));
    status->add_notes("etag: is too long; left out");
    if (i % 2 == 0) continue;
    status->mutable_error()->set_field("url");
    status->mutable_error()->set_reason(std::string(bytes, 'r'));
  }
  return ack;
}

TEST(ShortenTexts, KeepsWhatFits) {
  v1::BatchAck ack = AckWithNotes(100, 300);
  const v1::BatchAck before = ack;
  ShortenTexts(&ack);
  EXPECT_EQ(ack.SerializeAsString(), before.SerializeAsString());
}

TEST(ShortenTexts, BoundsAnAcknowledgementAndSaysWhereTextIsMissing) {
  v1::BatchAck ack = AckWithNotes(1000, 300);
  EXPECT_GT(ack.ByteSizeLong(), 450'000U);
  ShortenTexts(&ack);
  EXPECT_LT(ack.ByteSizeLong(), kMaxTextBytesPerAck + 1000 * 40);
  ASSERT_EQ(ack.statuses_size(), 1000);
  EXPECT_EQ(ack.statuses(0).notes_size(), 2);
  const v1::ItemStatus& last = ack.statuses(999);
  ASSERT_EQ(last.notes_size(), 1);
  EXPECT_EQ(last.notes(0), "...");
  EXPECT_EQ(last.error().field(), "url");
  EXPECT_EQ(last.error().reason(), "...");
}

// Each server of a fleet shortens the texts of its own part only. The joined answer must keep the
// bound, too.
TEST(ShortenTexts, HoldsForPartsTogether) {
  v1::BatchAck all;
  PartedAck parted(/*sequence=*/7, 1000, 3, [&](v1::BatchAck ack) { all = std::move(ack); });
  for (uint32_t division = 1; division <= 2; ++division) {
    Part part{.division = division, .places = {}};
    for (uint32_t i = 0; i < 400; ++i) part.places.push_back(2 * i + division);
    v1::BatchAck ack = AckWithNotes(400, 150);
    ShortenTexts(&ack);
    parted.TakePart(part, ack);
  }
  parted.TakePart({.division = 0, .places = {}}, v1::BatchAck());
  ASSERT_EQ(all.statuses_size(), 800);
  EXPECT_LT(all.ByteSizeLong(), kMaxTextBytesPerAck + 1000 * 40);
}

// In a part of a message, items and faults are numbered from the start of the part.
TEST(PartOfAMessage, KeepsItsItemsAndTheirFaults) {
  v1::ReturnLeasesRequest leases;
  v1::UpsertPagesRequest pages;
  for (int i = 0; i < 6; ++i) {
    leases.add_lease_ids(static_cast<uint64_t>(i));
    pages.add_pages()->set_url(std::to_string(i));
  }
  std::vector<TextFault> faults = {{0, "url"}, {2, "crawl_id"}, {2, "url"}, {3, "url"}, {5, "url"}};
  const std::vector<uint32_t> places = {1, 2, 5};
  v1::UpsertPagesRequest part;
  CopyItems(pages.pages(), places, part.mutable_pages());
  KeepItems(places, pages.mutable_pages());
  KeepItems(places, leases.mutable_lease_ids());
  KeepFaults(places, &faults);
  ASSERT_EQ(pages.pages_size(), 3);
  ASSERT_EQ(leases.lease_ids_size(), 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(pages.pages(i).url(), std::to_string(places[static_cast<size_t>(i)]));
    EXPECT_EQ(part.pages(i).url(), pages.pages(i).url());
    EXPECT_EQ(leases.lease_ids(i), places[static_cast<size_t>(i)]);
  }
  ASSERT_EQ(faults.size(), 3U);
  EXPECT_EQ(faults[0].item, 1);
  EXPECT_EQ(faults[1].field, "url");
  EXPECT_EQ(faults[2].item, 2);
}

// Reading a message replaces its invalid bytes. If the item were passed on, another server would
// therefore accept it.
TEST(PartOfAMessage, HasNoItemThatIsRefusedForItsTexts) {
  const std::vector<TextFault> faults = {{1, "etag"}, {2, "etag"}, {2, "url"}};
  EXPECT_FALSE(HasRefusedText(faults, 0));
  EXPECT_FALSE(HasRefusedText(faults, 1));
  EXPECT_TRUE(HasRefusedText(faults, 2));
}

}  // namespace
}  // namespace freshet
