#include "storage/internal/records.h"

#include <cmath>

#include "core/base/id_limits.h"
#include "core/base/limits.h"
#include "core/base/url.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "storage/internal/codec.h"
#include "storage/internal/keys.h"
#include "storage/internal/lease_rows.h"
#include "storage/internal/sealing.h"
#include "storage/internal/validate.h"
#include "tests/storage/random_records.h"

namespace freshet::storage {
namespace {

using testing::HasSubstr;

constexpr int kRounds = 500;

std::string Message(const Status& status) { return std::string(status.message()); }

// Gives every kind of record the same interface: make a valid value for a key, decode it, and
// compare both records.
struct Kind {
  std::string name;
  std::string key;
  std::function<std::string(const std::string& key)> encode;  // remembers the record
  std::function<Status(std::string_view key, std::string_view value)> decode;
  std::function<bool()> same;  // the last decoded record equals the last encoded one
};

// All kinds of records. One generator draws their values. Owner thread only.
class Kinds {
 public:
  explicit Kinds(uint64_t seed) : random_(seed) {
    const std::string host = "example.org";
    const PageNumber page = MakePageNumber(SlotOfHost(host), 77);
    AddPageKinds(page, host);
    AddOtherKinds(page, host);
  }
  [[nodiscard]] std::vector<Kind>& all() { return all_; }
  [[nodiscard]] RandomRecords& random() { return random_; }

 private:
  void AddPageKinds(PageNumber page, const std::string& host) {
    all_.push_back({"page", PageKeyOf(page),
                    [this, page, host](const std::string& key) {
                      page_ = random_.Page(host, 5, SerialOf(page));
                      if (random_.Chance(20)) page_ = PlainPage(page_);
                      // An earlier release might have found another host in the URL.
                      if (random_.Chance(20)) page_.key.url = "http://192.0.2.7/";
                      host_serial_ = static_cast<uint32_t>(random_.Below(1 << 30));
                      EncodePage(key, host_serial_, page_, &value_);
                      return value_;
                    },
                    [this](auto key, auto value) { return Decode(key, value); },
                    [this] {
                      return page_ == page2_ && head_.host_serial == host_serial_ &&
                             head_.crawl_id == page_.key.crawl_id && head_.url == page_.key.url &&
                             head_.spec == page_.spec && head_.state == page_.state;
                    }});
  }

  // Returns the record of an upsert without settings.
  static PageRecord PlainPage(const PageRecord& page) {
    PageRecord plain{.key = page.key, .host = page.host, .number = page.number};
    plain.state.first_seen = plain.state.carried_at = plain.state.last_event =
        Instant::FromUnixSeconds(1'700'000'000);
    return plain;
  }

  Status Decode(std::string_view key, std::string_view value) {
    decoded_ = value;  // the head refers to its bytes
    const Status head = DecodePageHead(key, decoded_, &head_);
    const Status whole = DecodePage(key, decoded_, &page2_);
    EXPECT_TRUE(head.ok() || !whole.ok()) << head;
    return whole;
  }

  void AddOtherKinds(PageNumber page, const std::string& host) {
    all_.push_back({"host", HostKeyOf(SlotOf(page), host),
                    [this, host](const std::string& key) {
                      host_ = {.serial = static_cast<uint32_t>(1 + random_.Below(UINT32_MAX)),
                               .record = random_.Host(host)};
                      EncodeHost(key, host_.serial, host_.record, &value_);
                      return value_;
                    },
                    [this](auto key, auto value) { return DecodeHost(key, value, &host2_); },
                    [this] { return host_ == host2_; }});
    all_.push_back({"leases", LeaseKeyOf(3, 77),
                    [this, page](const std::string& key) {
                      leases_ = SomeLeases(page);
                      EncodeLeases(key, leases_, &value_);
                      return value_;
                    },
                    [this](auto key, auto value) {
                      leases2_.clear();
                      return DecodeLeases(key, value, &leases2_);
                    },
                    [this] { return leases_ == leases2_; }});
    all_.push_back({"source", SourceKeyOf(31),
                    [this](const std::string& key) {
                      source_ = {.name = "feed" + std::to_string(random_.Below(99)), .index = 31};
                      EncodeSource(key, source_, &value_);
                      return value_;
                    },
                    [this](auto key, auto value) { return DecodeSource(key, value, &source2_); },
                    [this] { return source_ == source2_; }});
    all_.push_back(
        {"settings", MetaKeyOf(MetaKey::kSettings),
         [this](const std::string& key) {
           settings_ = random_.RandomSettings();
           EncodeSettings(key, settings_, &value_);
           return value_;
         },
         [this](auto key, auto value) { return DecodeSettings(key, value, &settings2_); },
         [this] { return settings_ == settings2_; }});
    all_.push_back({"crawl", CrawlKeyOf("shop"),
                    [this](const std::string& key) {
                      crawl_ = random_.Crawl("shop");
                      EncodeCrawl(key, crawl_, &value_);
                      return value_;
                    },
                    [this](auto key, auto value) { return DecodeCrawl(key, value, &crawl2_); },
                    [this] { return crawl_ == crawl2_; }});
    all_.push_back({"epoch", MetaKeyOf(MetaKey::kEpoch, 63),
                    [this](const std::string& key) {
                      epoch_ = random_.Epoch(63);
                      EncodeEpoch(key, epoch_, &value_);
                      return value_;
                    },
                    [this](auto key, auto value) { return DecodeEpoch(key, value, &epoch2_); },
                    [this] { return epoch_ == epoch2_; }});
    all_.push_back(
        {"epoch part", EpochPartKeyOf(63, 2),
         [this](const std::string& key) {
           epoch_ = random_.Epoch(63);
           EncodeEpochPart(key, epoch_.number, epoch_.site_model, &value_);
           return value_;
         },
         [this](auto key, auto value) { return DecodeEpochPart(key, value, &part_); },
         [this] { return part_.number == epoch_.number && part_.text == epoch_.site_model; }});
  }

  // Returns random entries for the leases of one commit, of all three kinds.
  std::vector<LeaseEntry> SomeLeases(PageNumber page) {
    std::vector<LeaseEntry> leases(1 + random_.Below(9));
    for (LeaseEntry& entry : leases) {
      const PageNumber other = MakePageNumber(SlotOf(page), 1 + random_.Below(1000));
      const LeaseRecord lease = random_.Lease(other, 1 + random_.Below(100));
      if (random_.Chance(60)) {
        entry.record = lease;
      } else if (random_.Chance(50)) {
        entry.kind = LeaseEntry::Kind::kDropped;
        entry.record.id = lease.id;
      } else {
        entry.kind = LeaseEntry::Kind::kAssigned;
        entry.record.page = other;
        entry.record.assigned = Instant::FromMicros(static_cast<int64_t>(1 + random_.Below(99)));
      }
    }
    return leases;
  }

  RandomRecords random_;
  std::vector<Kind> all_;
  std::string value_;
  std::string decoded_;
  PageRecord page_, page2_;
  PageHead head_;
  uint32_t host_serial_ = 0;
  HostRow host_, host2_;
  std::vector<LeaseEntry> leases_, leases2_;
  SourceRecord source_, source2_;
  Settings settings_, settings2_;
  CrawlRecord crawl_, crawl2_;
  EpochRecord epoch_, epoch2_;
  EpochPart part_;
};

TEST(Records, DecodeGivesBackWhatWasEncoded) {
  Kinds kinds(1);
  for (Kind& kind : kinds.all()) {
    SCOPED_TRACE(kind.name);
    for (int i = 0; i < kRounds; ++i) {
      const std::string value = kind.encode(kind.key);
      const Status status = kind.decode(kind.key, value);
      ASSERT_TRUE(status.ok()) << status;
      ASSERT_TRUE(kind.same());
    }
  }
}

TEST(Records, EveryFlippedBitIsFound) {
  Kinds kinds(2);
  for (Kind& kind : kinds.all()) {
    SCOPED_TRACE(kind.name);
    const std::string value = kind.encode(kind.key);
    for (size_t bit = 0; bit < value.size() * 8; ++bit) {
      std::string damaged = value;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ 1 << bit % 8);
      EXPECT_TRUE(absl::IsDataLoss(kind.decode(kind.key, damaged))) << bit;
    }
    for (size_t size = 0; size < value.size(); ++size) {
      EXPECT_FALSE(kind.decode(kind.key, value.substr(0, size)).ok());
    }
  }
}

TEST(Records, AValueUnderAnotherKeyIsFound) {
  Kinds kinds(3);
  for (Kind& kind : kinds.all()) {
    SCOPED_TRACE(kind.name);
    const std::string value = kind.encode(kind.key);
    std::string other = kind.key;
    other.back() = static_cast<char>(other.back() ^ 1);
    EXPECT_THAT(Message(kind.decode(other, value)), HasSubstr("checksum"));
  }
}

// Tests payloads that were changed at random, but have a correct checksum.
TEST(Records, ArbitraryPayloadsNeverCrashAndAreValidOrRefused) {
  Kinds kinds(4);
  const std::map<std::string, Family> families = {
      {"page", Family::kPages},      {"host", Family::kHosts},    {"leases", Family::kLeases},
      {"source", Family::kSources},  {"settings", Family::kMeta}, {"epoch", Family::kMeta},
      {"epoch part", Family::kMeta}, {"crawl", Family::kMeta}};
  int accepted = 0;
  for (Kind& kind : kinds.all()) {
    SCOPED_TRACE(kind.name);
    for (int i = 0; i < 4 * kRounds; ++i) {
      std::string value = kind.encode(kind.key);
      value.resize(value.size() - kChecksumBytes);
      const uint64_t changes = 1 + kinds.random().Below(3);
      for (uint64_t c = 0; c < changes; ++c) {
        const size_t at = 1 + kinds.random().Below(value.size());
        if (kinds.random().Chance(20)) {
          value.erase(std::min(at, value.size()));
        } else if (at < value.size()) {
          value[at] = static_cast<char>(kinds.random().Below(256));
        } else {
          value += kinds.random().Bytes(3);
        }
      }
      SealValue(families.at(kind.name), kind.key, &value);
      const Status status = kind.decode(kind.key, value);
      EXPECT_TRUE(status.ok() || absl::IsDataLoss(status)) << status;
      accepted += status.ok();
    }
  }
  EXPECT_GT(accepted, 0);
}

TEST(Records, AnotherVersionIsNamed) {
  std::string value;
  const std::string key = MetaKeyOf(MetaKey::kFormat);
  BeginValue(9, &value);
  SealValue(Family::kMeta, key, &value);
  uint64_t number = 0;
  EXPECT_THAT(Message(DecodeNumber(key, value, &number)), HasSubstr("version 9"));
}

// The row of a page that was never crawled is little more than its URL.
TEST(Records, APlainPageIsShort) {
  PageRecord page;
  page.key = {.crawl_id = "DEFAULT", .url = "https://example.org/page/5"};
  page.host = "example.org";
  page.number = MakePageNumber(SlotOfHost(page.host), 77);
  page.state.first_seen = page.state.carried_at = page.state.last_event =
      Instant::FromUnixSeconds(1'700'000'000);
  std::string value;
  EncodePage(PageKeyOf(page.number), 3, page, &value);
  EXPECT_LE(value.size(), page.key.url.size() + page.key.crawl_id.size() + 22);
}

TEST(Codec, VarintsHaveOneForm) {
  for (const uint64_t value :
       {uint64_t{0}, uint64_t{127}, uint64_t{128}, uint64_t{1} << 35, UINT64_MAX}) {
    std::string bytes;
    Writer(&bytes).Varint(value);
    Reader reader(bytes);
    EXPECT_EQ(reader.Varint(), value);
    EXPECT_TRUE(reader.done());
  }
  for (const std::string_view bad :
       {std::string_view("\x80\x00", 2),
        std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"),
        std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), std::string_view("\x80"),
        std::string_view()}) {
    Reader reader(bad);
    EXPECT_EQ(reader.Varint(), 0U);
    EXPECT_FALSE(reader.ok());
  }
  for (const int64_t value : {int64_t{0}, int64_t{-1}, INT64_MIN, INT64_MAX}) {
    std::string bytes;
    Writer(&bytes).Signed(value);
    EXPECT_EQ(Reader(bytes).Signed(), value);
  }
}

TEST(Codec, FieldsComeInOrderAndOnce) {
  std::string bytes;
  FieldWriter writer(&bytes);
  writer.Unsigned(1, 5);
  writer.F64(2, 0);  // a default value is omitted
  writer.Bytes(3, "x");
  FieldReader reader(bytes);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.Unsigned(), 5U);
  ASSERT_TRUE(reader.Next());
  EXPECT_EQ(reader.tag(), 3);
  EXPECT_EQ(reader.Bytes(), "x");
  EXPECT_FALSE(reader.Next());
  EXPECT_TRUE(reader.done());

  FieldReader skipping(bytes);
  ASSERT_TRUE(skipping.Next());
  EXPECT_FALSE(skipping.Next());  // the first field was not read
  EXPECT_FALSE(skipping.done());
  FieldReader twice(std::string_view("\x04\x01\x04\x01"));
  ASSERT_TRUE(twice.Next());
  EXPECT_EQ(twice.Unsigned(), 1U);
  EXPECT_FALSE(twice.Next());
  EXPECT_FALSE(twice.done());
  FieldReader wrong_kind(bytes);
  ASSERT_TRUE(wrong_kind.Next());
  EXPECT_EQ(wrong_kind.F64(), 0);
  EXPECT_FALSE(wrong_kind.done());
}

TEST(Validate, NamesTheFieldThatIsWrong) {
  RandomRecords random(5);
  const auto page = [&](auto change) {
    PageRecord record = random.Page("example.org", 1, 1);
    change(record);
    return Message(ValidatePage(record));
  };
  EXPECT_EQ(page([](PageRecord&) {}), "");
  EXPECT_THAT(page([](PageRecord& r) { r.spec.importance = -1; }), HasSubstr("importance"));
  EXPECT_THAT(page([](PageRecord& r) { r.spec.importance = NAN; }), HasSubstr("importance"));
  EXPECT_THAT(page([](PageRecord& r) { r.spec.max_interval = Duration::Infinite(); }),
              HasSubstr("max_interval"));
  EXPECT_THAT(page([](PageRecord& r) { r.state.staleness = NAN; }), HasSubstr("staleness"));
  EXPECT_THAT(page([](PageRecord& r) { r.state.rates.signal_rate = HUGE_VAL; }),
              HasSubstr("signal_rate"));
  EXPECT_THAT(page([](PageRecord& r) { r.state.last_crawl = Instant::FromMicros(-1); }),
              HasSubstr("last_crawl"));
  EXPECT_THAT(page([](PageRecord& r) { r.detail.etag.assign(513, 'x'); }), HasSubstr("etag"));
  EXPECT_THAT(page([](PageRecord& r) {
                r.detail.statistics.recent.assign(limits::kMaxObservations + 1, {});
              }),
              HasSubstr("observations"));
  EXPECT_THAT(page([](PageRecord& r) { r.key.url.assign(limits::kMaxUrlBytes + 1, 'x'); }),
              HasSubstr("url"));
  EXPECT_THAT(page([](PageRecord& r) { r.key.crawl_id = std::string("a\0b", 3); }),
              HasSubstr("crawl_id"));
  EXPECT_THAT(page([](PageRecord& r) { r.host = "other.example"; }), HasSubstr("number"));
  EXPECT_THAT(page([](PageRecord& r) {
                r.state.signals.set_entries({{{.source_class = SourceClass(128), .count = 1}}});
              }),
              HasSubstr("source class"));

  LeaseRecord lease = random.Lease(MakePageNumber(Slot(5), 1), 1);
  EXPECT_TRUE(ValidateLease(lease).ok());
  lease.id = LeaseId(lease.id.value() + 1);
  EXPECT_THAT(Message(ValidateLease(lease)), HasSubstr("another slot"));
  do lease = random.Lease(MakePageNumber(Slot(5), 1), 1);
  while (lease.over);
  lease.reported = true;
  EXPECT_THAT(Message(ValidateLease(lease)), HasSubstr("reported"));
  lease.over = true;
  EXPECT_THAT(Message(ValidateLease(lease)), HasSubstr("over"));
  lease.over = lease.reported = false;
  lease.signals.assign(limits::kMaxSignalsDuringLease + 1, {});
  EXPECT_THAT(Message(ValidateLease(lease)), HasSubstr("signals"));
  EXPECT_FALSE(ValidateSource({.name = "x", .index = limits::kMaxSources}).ok());
  EXPECT_FALSE(ValidateSource({.name = std::string(65, 'x'), .index = 0}).ok());
  EXPECT_FALSE(ValidateEpoch({.shard = limits::kMaxShards, .finished = {}, .site_model = {}}).ok());
  EXPECT_FALSE(ValidateHost({.host = "h", .min_delay = Duration::Micros(-1)}).ok());
  EXPECT_FALSE(ValidateHost({.host = "h", .min_page_interval = Duration::Micros(-1)}).ok());
  EXPECT_FALSE(ValidateHost({.host = "h", .last_throttled = Instant::FromMicros(-1)}).ok());
  EXPECT_FALSE(ValidateSettings({.crawl_rate = Rate::PerSecond(NAN), .policy = {}}).ok());
  EXPECT_FALSE(ValidateSettings({.policy = {}, .min_delay = Duration::Micros(-1)}).ok());
  EXPECT_TRUE(ValidateCrawl({.crawl_id = "c", .share = 1}).ok());
  for (const double share : {0.0, -0.5, 1.001, double{NAN}}) {
    EXPECT_FALSE(ValidateCrawl({.crawl_id = "c", .share = share}).ok()) << share;
  }
  EXPECT_FALSE(ValidateCrawl({.crawl_id = "", .share = 1}).ok());
  EXPECT_FALSE(ValidateCrawl({.crawl_id = "c", .max_rate = Rate::PerSecond(0)}).ok());
  EXPECT_FALSE(ValidateCrawl({.crawl_id = "c", .max_pages = limits::kMaxPageIds + 1}).ok());
  EXPECT_FALSE(ValidateCrawl({.crawl_id = "c", .min_delay = Duration::Micros(-1)}).ok());
  EXPECT_FALSE(ValidateSettings({.policy = {}, .min_page_interval = Duration::Micros(-1)}).ok());
}

TEST(Validate, RefusesTermsOfHostsThatCannotBe) {
  EXPECT_TRUE(ValidateHost({.host = "h", .max_crawls = CrawlCap()}).ok());
  EXPECT_FALSE(ValidateHost({.host = "h", .max_crawls = CrawlCap{.count = 1, .per = {}}}).ok());
  EXPECT_FALSE(ValidateHost({.host = "h", .hours = DayHours{.from = 5, .until = 5}}).ok());
  EXPECT_FALSE(ValidateHost({.host = "h", .crawl_delay = Duration::Micros(-1)}).ok());
  EXPECT_FALSE(ValidateHost({.host = "h", .recent_crawls = {{Instant(), 0}}}).ok());
  EXPECT_FALSE(
      ValidateHost({.host = "h",
                    .recent_crawls = {{Instant::FromMicros(2), 1}, {Instant::FromMicros(1), 1}}})
          .ok());
  EXPECT_FALSE(ValidateHost({.host = "h", .recent_crawls = RecentCrawls(19, {Instant(), 1})}).ok());
}

}  // namespace
}  // namespace freshet::storage
