#include "lab/common/history.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

namespace freshet {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::string_view kTwoPages =
    "https://a.example/x\t2.5\t100\t300:m,200:c,300:c\n"
    "https://a.example/y\t0\t150\t\n";

class HistoryTest : public ::testing::Test {
 protected:
  HistoryTest() {
    std::string name = (std::filesystem::temp_directory_path() / "freshet-history-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~HistoryTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  std::string Plain(std::string_view text) {
    const std::string path = folder_ + "/plain.tsv";
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
  std::string Zipped(std::string_view text) {
    const std::string path = folder_ + "/zipped.tsv.gz";
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
    gzclose(file);
    return path;
  }

 private:
  std::string folder_;
};

std::string ErrorOf(std::string_view row) {
  return std::string(ParseHistoryRow(row).status().message());
}

void ExpectTwoPages(const StatusOr<std::vector<HistoryPage>>& pages) {
  ASSERT_TRUE(pages.ok()) << pages.status();
  ASSERT_EQ(pages->size(), 2U);
  EXPECT_EQ((*pages)[0].url, "https://a.example/x");
  EXPECT_EQ((*pages)[0].importance, 2.5);
  EXPECT_EQ((*pages)[0].first_seen_seconds, 100);
  EXPECT_THAT((*pages)[0].touches,
              ElementsAre(Touch{200, true}, Touch{300, true}, Touch{300, false}));
  EXPECT_EQ((*pages)[1].importance, 0);
  EXPECT_TRUE((*pages)[1].touches.empty());
}

TEST_F(HistoryTest, ReadsPlainAndZippedFilesAlike) {
  ExpectTwoPages(ReadHistory(Plain(kTwoPages)));
  ExpectTwoPages(ReadHistory(Zipped(kTwoPages)));
}

TEST_F(HistoryTest, SkipsEmptyLinesAndTakesAnyLineEnd) {
  ExpectTwoPages(
      ReadHistory(Plain("\nhttps://a.example/x\t2.5\t100\t300:m,200:c,300:c\r\n\r\n"
                        "https://a.example/y\t0\t150\t")));
}

TEST_F(HistoryTest, NamesTheRowAtFault) {
  const auto bad =
      ReadHistory(Plain("https://a.example/x\t1\t100\t\nhttps://a.example/y\t-1\t100\t\n"));
  EXPECT_EQ(bad.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(bad.status().message()), HasSubstr("row 2: importance '-1'"));

  const auto twice =
      ReadHistory(Plain("https://a.example/x\t1\t100\t\nhttps://a.example/x\t1\t100\t\n"));
  EXPECT_THAT(std::string(twice.status().message()),
              HasSubstr("row 2: url 'https://a.example/x' is already in row 1"));
}

TEST_F(HistoryTest, RefusesWhatIsMissingEmptyOrCutOff) {
  EXPECT_EQ(ReadHistory("/nonexistent/history.tsv").status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(ReadHistory(Plain("\n")).status().message()), HasSubstr("holds no page"));

  std::string many;
  for (int i = 0; i < 5000; ++i)
    many += fmt::format("https://a.example/{}\t{}\t100\t{}:c\n", i, i * 7 % 91, i + 1000);
  const std::string path = Zipped(many);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
  EXPECT_FALSE(ReadHistory(path).ok());
}

TEST(ParseHistoryRowTest, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf("https://a.example/x\t1\t100"), HasSubstr("four fields"));
  EXPECT_THAT(ErrorOf("\t1\t100\t"), HasSubstr("url is empty"));
  EXPECT_THAT(ErrorOf("u\tnan\t100\t"), HasSubstr("importance 'nan'"));
  EXPECT_THAT(ErrorOf("u\t1x\t100\t"), HasSubstr("importance '1x'"));
  EXPECT_THAT(ErrorOf("u\t1\t-5\t"), HasSubstr("first_seen '-5'"));
  EXPECT_THAT(ErrorOf("u\t1\t99999999999999\t"), HasSubstr("first_seen"));
  EXPECT_THAT(ErrorOf("u\t1\t100\t200"), HasSubstr("change '200'"));
  EXPECT_THAT(ErrorOf("u\t1\t100\t200:x"), HasSubstr("change '200:x'"));
  EXPECT_THAT(ErrorOf("u\t1\t100\t200:c,,300:c"), HasSubstr("change ''"));
}

TEST(ShippedHistoryTest, HasTheCountsThatItsDescriptionNames) {
  const auto pages = ReadHistory(FRESHET_SOURCE_DIR "/examples/histories/php.tsv.gz");
  ASSERT_TRUE(pages.ok()) << pages.status();
  size_t touches = 0;
  size_t changes = 0;
  for (const HistoryPage& page : *pages) {
    touches += page.touches.size();
    for (const Touch& touch : page.touches) changes += touch.change ? 1 : 0;
  }
  EXPECT_EQ(pages->size(), 11329U);
  EXPECT_EQ(touches, 96572U);
  EXPECT_EQ(changes, 52800U);
}

}  // namespace
}  // namespace freshet
