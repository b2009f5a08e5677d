#include "server/api/batch.h"

#include <string>

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

// Each server of a fleet has shortened its own part.
TEST(ShortenTexts, HoldsForPartsTogether) {
  v1::BatchAck all;
  PartedAck parted(2, [&](v1::BatchAck ack) { all = std::move(ack); });
  for (uint32_t division = 1; division <= 2; ++division) {
    Batch::Part part{.division = division, .places = {}};
    for (uint32_t i = 0; i < 400; ++i) part.places.push_back(2 * i + division);
    v1::BatchAck ack = AckWithNotes(400, 150);
    ShortenTexts(&ack);
    parted.TakePart(part, ack);
  }
  v1::BatchAck own;
  own.set_item_count(1000);
  parted.TakeOwn(std::move(own));
  ASSERT_EQ(all.statuses_size(), 800);
  EXPECT_LT(all.ByteSizeLong(), kMaxTextBytesPerAck + 1000 * 40);
}

}  // namespace
}  // namespace freshet
