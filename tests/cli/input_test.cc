// Tests misleading input: tables in a wrong format, and compressed bytes that grow a thousandfold.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/fake_server.h"
#include "tests/support/gzip.h"
#include "tests/support/temp_dir.h"
#include "tools/cli/lines.h"

namespace freshet::cli {
namespace {

using testing::HasSubstr;

std::string Written(const TempDir& dir, const std::string& name, const std::string& text) {
  std::ofstream(dir / name, std::ios::binary) << text;
  return dir / name;
}

// Writes a gzip file with `members` members, which decompresses to `mib` MiB of equal bytes. The
// file itself is about a thousand times smaller.
std::string WriteBomb(const TempDir& dir, int mib, int members = 1) {
  const std::string path = dir / "bomb.gz";
  const std::string block(size_t{1} << 20, 'a');
  for (int member = 0; member < members; ++member) {
    gzFile file = gzopen(path.c_str(), member == 0 ? "wb9" : "ab9");
    for (int i = 0; i < mib / members; ++i) {
      EXPECT_EQ(gzwrite(file, block.data(), static_cast<unsigned>(block.size())), 1 << 20);
    }
    gzclose(file);
  }
  return path;
}

TEST(ByteSourceTest, DecompressesAPieceAtATime) {
  const TempDir dir;
  for (const int members : {1, 4}) {
    const std::string path = WriteBomb(dir, 16, members);
    ASSERT_LT(std::filesystem::file_size(path), size_t{64} << 10);
    const auto source = ByteSource::Open(path);
    ASSERT_TRUE(source.ok());
    size_t total = 0;
    std::string piece;
    for (bool more = true; more; total += piece.size()) {
      piece.clear();
      const absl::StatusOr<bool> read = (*source)->Read(&piece);
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_LE(piece.size(), size_t{64} << 10);
      more = *read;
    }
    EXPECT_EQ(total, size_t{16} << 20);
  }
}

TEST(ByteSourceTest, SaysThatCompressedInputIsCutOff) {
  const TempDir dir;
  const std::string path = WriteBomb(dir, 1);
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 9);
  const auto source = ByteSource::Open(path);
  std::string text;
  absl::StatusOr<bool> read = true;
  while (read.ok() && *read) read = (*source)->Read(&text);
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("cut off"));
}

TEST(BombTest, IsRefusedAsALineAndAsASitemap) {
  const TempDir dir;
  FakeServer server;
  const std::string path = WriteBomb(dir, 80);
  const Outcome line = server.Run({"upsert", path});
  EXPECT_EQ(line.code, kRefused);
  EXPECT_THAT(line.err, HasSubstr("row 1: longer than 1048576 bytes"));
  const Outcome noise = server.Run({"signal", "--sitemap", path});
  EXPECT_EQ(noise.code, kBadUsage);
  EXPECT_THAT(noise.err, HasSubstr("the document is not XML"));
  const Outcome sitemap =
      server.Run({"signal", "--sitemap", "-"},
                 Gzip("<urlset>" + std::string(size_t{60} << 20, ' ') + "</urlset>"));
  EXPECT_EQ(sitemap.code, kBadUsage);
  EXPECT_THAT(sitemap.err, HasSubstr("larger than 50 MiB"));
}

TEST(ArgumentTest, InputWithoutRowsIsSaidToHaveNone) {
  FakeServer server;
  for (const char* command : {"upsert", "remove", "recheck"}) {
    const Outcome run = server.Run({command}, "");
    EXPECT_EQ(run.code, kAccepted);
    EXPECT_EQ(run.out, "0 pages: the input has no rows\n");
  }
}

TEST(ArgumentTest, AFlagIsNamedAsItIsTyped) {
  FakeServer server;
  EXPECT_THAT(server.Run({"upsert", "--max-interval", "soon", "http://a.test/"}).err,
              testing::StartsWith("freshet: --max-interval: 'soon' is not a duration: "));
  EXPECT_THAT(server.Run({"upsert", "--change-rate", "x", "http://a.test/"}).err,
              testing::StartsWith("freshet: --change-rate: 'x' is not a number"));
}

TEST(ArgumentTest, ThatIsNeitherUrlNorFileIsSaidToBe) {
  FakeServer server;
  for (const char* command : {"upsert", "remove", "sitemap"}) {
    const Outcome file = server.Run({command, "pages.txt"});
    EXPECT_EQ(file.code, kBadUsage) << command;
    EXPECT_EQ(file.out, "") << command;
    EXPECT_EQ(file.err, "freshet: argument 1: 'pages.txt' is not a URL (https://...) or a file\n");
    const Outcome host = server.Run({command, "example.org"});
    EXPECT_EQ(host.code, kBadUsage) << command;
    EXPECT_EQ(host.out, "") << command;
    EXPECT_EQ(host.err,
              "freshet: argument 1: 'example.org' is not a URL (https://...) or a file, did you "
              "mean https://example.org/?\n");
  }
}

TEST(CsvTest, WithAHeaderIsRead) {
  const TempDir dir;
  for (const char* text :
       {"url,importance,crawl_id\nhttp://a.test/x,2.5,news\n\"http://b.test/1,2\",,\n",
        "\"url\";\"importance\";\"crawl_id\"\r\nhttp://a.test/x;\"2.5\";news\r\n"
        "\"http://b.test/1,2\";;\r\n"}) {
    FakeServer server;
    const Outcome run = server.Run({"upsert"}, text);
    EXPECT_EQ(run.code, kAccepted) << run.err;
    const auto& pages = server.pages.upserts.requests.at(0).pages();
    ASSERT_EQ(pages.size(), 2);
    EXPECT_EQ(pages[0].url(), "http://a.test/x");
    EXPECT_EQ(pages[0].importance(), 2.5);
    EXPECT_EQ(pages[0].crawl_id(), "news");
    EXPECT_EQ(pages[1].url(), "http://b.test/1,2");
    EXPECT_FALSE(pages[1].has_importance());
  }
}

TEST(CsvTest, WithoutAHeaderIsNotTakenForUrls) {
  for (const char* text :
       {"http://a.test/,2.5\n", "http://a.test/;2\n", "http://a.test/,http://b.test/\n",
        "\"http://a.test/\",x\n", "\n\nhttp://a.test/, 3\nhttp://fine.test/\n"}) {
    FakeServer server;
    const Outcome run = server.Run({"upsert"}, text);
    EXPECT_EQ(run.code, kBadUsage) << text;
    EXPECT_THAT(run.err, HasSubstr("looks like CSV")) << text;
    EXPECT_THAT(run.err, HasSubstr("'url,importance'")) << text;
  }
}

TEST(CsvTest, IsToldByTheNameOfTheFile) {
  const TempDir dir;
  FakeServer server;
  const Outcome bad =
      server.Run({"upsert", Written(dir, "a.csv", "loc,weight\nhttp://a.test/,x\n")});
  EXPECT_EQ(bad.code, kBadUsage);
  EXPECT_THAT(bad.err, HasSubstr("row 1: CSV needs a first line that names its columns, of url, "));
  const Outcome open = server.Run({"upsert", Written(dir, "b.csv", "url\n\"http://a.test/\n")});
  EXPECT_EQ(open.code, kRefused);
  EXPECT_EQ(server.Run({"upsert", Written(dir, "c.csv", "url\nhttp://a.test/\n")}).code, kAccepted);
}

// URLs can contain commas. So a line is refused as CSV only if something else shows that it is CSV.
TEST(CsvTest, LeavesUrlsWithCommasAlone) {
  FakeServer server;
  const Outcome plain = server.Run({"upsert"}, "http://a.test/news,1.html\nhttp://a.test/a;b 2\n");
  EXPECT_EQ(plain.code, kAccepted) << plain.err;
  EXPECT_EQ(server.pages.upserts.requests.at(0).pages(0).url(), "http://a.test/news,1.html");
  EXPECT_EQ(server.pages.upserts.requests.at(0).pages(1).url(), "http://a.test/a;b");
  const Outcome headed = server.Run({"upsert"}, "url\nhttp://a.test/map,5\n");
  EXPECT_EQ(headed.code, kAccepted) << headed.err;
  EXPECT_EQ(server.pages.upserts.requests.at(1).pages(0).url(), "http://a.test/map,5");
}

}  // namespace
}  // namespace freshet::cli
