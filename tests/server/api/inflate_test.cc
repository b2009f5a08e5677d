#include "server/api/inflate.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/gzip.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;

TEST(Inflate, GivesBackWhatWasCompressed) {
  for (const size_t size : {0, 1, 1000, 65'536, 65'537, 1'000'000}) {
    std::string text;
    while (text.size() < size) text += std::to_string(text.size() * 7919) + "\n";
    text.resize(size);
    const std::string gzip = Gzip(text);
    EXPECT_TRUE(IsGzip(gzip));
    const StatusOr<std::string> inflated = Inflate(gzip, size);
    ASSERT_TRUE(inflated.ok()) << inflated.status().ToString();
    EXPECT_EQ(*inflated, text);
  }
  EXPECT_FALSE(IsGzip(""));
  EXPECT_FALSE(IsGzip("\x0a\x03"));
}

TEST(Inflate, StopsAtTheLimit) {
  const std::string gzip = Gzip(std::string(50 << 20, '\0'));
  EXPECT_LT(gzip.size(), size_t{100} << 10);
  const Status status = Inflate(gzip, 1 << 20).status();
  EXPECT_EQ(status.message(),
            "the message inflates to 52428800 bytes, at most 1048576 are allowed");
  EXPECT_FALSE(Inflate(Gzip("ab"), 1).ok());
}

// The server checks the size in the trailer before it inflates.
TEST(Inflate, RefusesOtherBytesThanTheTrailerSays) {
  const std::string gzip = Gzip(std::string(1000, 'x'));
  EXPECT_EQ(SizeFromTrailer(gzip.substr(gzip.size() - kGzipSizeBytes)), 1000U);
  for (const char* lie : {"\xe7\x03\0", "\xe9\x03\0", "\0\0\0", "\x10\x27\0"}) {
    const std::string lying =
        gzip.substr(0, gzip.size() - kGzipSizeBytes) + std::string(lie, 3) + std::string(1, '\0');
    EXPECT_FALSE(Inflate(lying, 10'000).ok()) << SizeFromTrailer(lying.substr(lying.size() - 4));
  }
  EXPECT_FALSE(Inflate(gzip + gzip, 10'000).ok()) << "two members, the last of which is counted";
  EXPECT_FALSE(Inflate(Gzip(std::string(100'000, 'x')) + Gzip("x"), 200'000).ok());
}

TEST(Inflate, RefusesWhatIsDamaged) {
  const std::string gzip = Gzip(std::string(1000, 'x'));
  for (size_t length = 0; length < gzip.size(); ++length) {
    EXPECT_FALSE(Inflate(gzip.substr(0, length), 10'000).ok()) << length;
  }
  std::string broken = gzip;
  broken[gzip.size() - 6] ^= 1;  // part of the checksum
  EXPECT_FALSE(Inflate(broken, 10'000).ok());
}

}  // namespace
}  // namespace freshet
