// Tests `freshet export` to a file. The export is written in parts, so that it can continue after
// an interruption.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/cli/fake_server.h"
#include "tests/support/temp_dir.h"
#include "tools/cli/lines.h"

namespace freshet::cli {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

v1::ExportPagesResponse Part(int from, int to, const std::string& token) {
  v1::ExportPagesResponse part;
  for (int i = from; i < to; ++i) {
    v1::Page* page = part.add_pages()->mutable_page();
    page->set_url("https://a.test/" + std::to_string(i));
    page->set_crawl_id("DEFAULT");
    page->set_importance(1);
  }
  part.set_next_page_token(token);
  return part;
}

std::vector<std::string> LinesOf(const std::string& path) {
  LineSource lines(*ByteSource::Open(path));
  std::vector<std::string> all;
  std::string line;
  for (absl::StatusOr<bool> more = lines.Next(&line); more.ok() && *more;
       more = lines.Next(&line)) {
    all.push_back(line);
  }
  return all;
}

TEST(ExportTest, AnInterruptedExportGoesOnInItsFile) {
  const TempDir dir;
  for (const char* name : {"pages.jsonl", "pages.jsonl.gz"}) {
    const std::string path = dir / name;
    FakeServer server;
    server.pages.exported = {Part(0, 1000, "first")};
    server.pages.export_status = {grpc::StatusCode::UNAVAILABLE, "going down"};
    const Outcome cut = server.Run({"export", "--output", path});
    EXPECT_EQ(cut.code, kUnreachable);
    EXPECT_THAT(cut.err, HasSubstr("1,000 pages in " + path +
                                   "; to continue, run the same command with --resume"));
    // A crash leaves bytes after the last recorded part. They are written again.
    std::ofstream(path, std::ios::app) << "half a li";
    EXPECT_EQ(server.Run({"export", "--output", path, "--resume", "a.test"}).code, kBadUsage);

    server.pages.exported = {Part(1000, 1500, "")};
    server.pages.export_status = grpc::Status::OK;
    const Outcome rest = server.Run({"export", "--output", path, "--resume"});
    EXPECT_EQ(rest.code, kAccepted) << rest.err;
    EXPECT_THAT(rest.err, HasSubstr("1,500 pages, complete"));
    EXPECT_EQ(server.pages.export_requests.back().page_token(), "first");
    const std::vector<std::string> lines = LinesOf(path);
    ASSERT_THAT(lines, SizeIs(1500));
    EXPECT_THAT(lines[1499], HasSubstr("https://a.test/1499"));
    EXPECT_FALSE(std::filesystem::exists(path + ".resume"));
    const size_t asked = server.pages.export_requests.size();
    const Outcome again = server.Run({"export", "--output", path, "--resume"});
    EXPECT_EQ(again.code, kAccepted);
    EXPECT_THAT(again.err, HasSubstr("this export is complete"));
    EXPECT_THAT(server.pages.export_requests, SizeIs(asked));
  }
}

TEST(ExportTest, ALimitEndsItAndRowsHaveAHeader) {
  const TempDir dir;
  FakeServer server;
  server.pages.exported = {Part(0, 2, "more")};
  const std::string path = dir / "pages.tsv";
  const Outcome run = server.Run({"export", "--format", "tsv", "--limit", "2", "--output", path});
  EXPECT_EQ(run.code, kAccepted) << run.err;
  EXPECT_THAT(run.err, HasSubstr("2 pages, more follows: --page-token more"));
  const std::vector<std::string> lines = LinesOf(path);
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], testing::StartsWith("url\tcrawl_id\timportance\t"));
  EXPECT_THAT(lines[1], testing::StartsWith("https://a.test/0\tDEFAULT\t1\t"));
  const Outcome printed = server.Run({"export", "--format", "tsv", "--limit", "2"});
  EXPECT_EQ(printed.out, lines[0] + "\n" + lines[1] + "\n" + lines[2] + "\n");
}

TEST(ExportTest, AFullDiskIsLostOutput) {
  FakeServer server;
  server.pages.exported = {Part(0, 2, "")};
  const Outcome run = server.Run({"export", "--output", "/dev/full"});
  EXPECT_NE(run.code, kAccepted);
  EXPECT_THAT(run.err, HasSubstr("/dev/full"));
}

}  // namespace
}  // namespace freshet::cli
