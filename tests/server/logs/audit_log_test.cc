#include "server/logs/audit_log.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/said_lines.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

std::string FileText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

class AuditLogTest : public testing::Test {
 protected:
  std::unique_ptr<AuditLog> Open(size_t max_bytes = 1 << 20) {
    auto log = AuditLog::Open({.path = path_, .max_bytes = max_bytes, .older_files = 2}, clock_);
    EXPECT_TRUE(log.ok()) << log.status();
    return *std::move(log);
  }
  // Writes an entry and waits until it is on the disk.
  static Status Write(AuditLog& log, AuditEntry entry) {
    std::promise<Status> written;
    log.Append(std::move(entry), [&](const Status& status) { written.set_value(status); });
    return written.get_future().get();
  }
  static std::vector<std::string> Actions(const std::vector<AuditEntry>& entries) {
    std::vector<std::string> actions;
    for (const AuditEntry& entry : entries) actions.push_back(entry.action);
    return actions;
  }

  const TempDir dir_;
  const std::string path_ = dir_ / "audit.jsonl";
  SystemClock clock_;
};

TEST_F(AuditLogTest, IsOnTheDiskBeforeItSaysSo) {
  const auto log = Open();
  const AuditEntry entry = {.request_id = "r1",
                            .who = "identity ops",
                            .from = "192.0.2.7",
                            .action = "/freshet.v1.AdminService/SetCrawlRate",
                            .request = "{\"rate\":5}",
                            .before = "10",
                            .after = "5",
                            .outcome = "OK"};
  ASSERT_TRUE(Write(*log, entry).ok());
  const std::optional<AuditEntry> read = ParseAuditLine(FileText(path_));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->request_id, "r1");
  EXPECT_EQ(read->who, "identity ops");
  EXPECT_EQ(read->from, "192.0.2.7");
  EXPECT_EQ(read->action, entry.action);
  EXPECT_EQ(read->request, entry.request);
  EXPECT_EQ(read->before, "10");
  EXPECT_EQ(read->after, "5");
  EXPECT_EQ(read->outcome, "OK");
  EXPECT_GT(read->at, Instant());
  struct stat about {};
  ASSERT_EQ(::stat(path_.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
}

TEST_F(AuditLogTest, RecentGoesFromTheNewestBackAlsoOverARestart) {
  for (const std::string action : {"a", "b"}) ASSERT_TRUE(Write(*Open(), {.action = action}).ok());
  const auto log = Open();
  ASSERT_TRUE(Write(*log, {.action = "c"}).ok());
  EXPECT_THAT(Actions(log->Recent(10)), ElementsAre("c", "b", "a"));
  EXPECT_THAT(Actions(log->Recent(2)), ElementsAre("c", "b"));
  const Instant since = log->Recent(10)[1].at;
  EXPECT_THAT(Actions(log->Recent(10, since)), ElementsAre("c", "b"));
  EXPECT_THAT(log->Recent(10, since + Duration::Hours(1)), SizeIs(0));
}

TEST_F(AuditLogTest, NoTextCanForgeALine) {
  const auto log = Open();
  const std::string hostile =
      "x\n{\"at\":\"2026-01-02T03:04:05.000006Z\",\"action\":\"forged\"}\n\x1b[2J\xff\u009b\u2028";
  ASSERT_TRUE(Write(*log, {.who = hostile, .action = hostile}).ok());
  const std::string text = FileText(path_);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_TRUE(std::all_of(text.begin(), text.end(), [](char c) {
    return c == '\n' || (c >= 0x20 && c < 0x7f);
  })) << text;
}

TEST_F(AuditLogTest, CutsWhatIsLong) {
  const auto log = Open();
  ASSERT_TRUE(Write(*log, {.action = "a", .request = std::string(1 << 20, 'x')}).ok());
  EXPECT_LT(FileText(path_).size(), kMaxAuditTextBytes + 200);
}

TEST_F(AuditLogTest, ItsFilesAreBounded) {
  const auto log = Open(2000);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Write(*log, {.action = std::to_string(i), .request = std::string(100, 'x')}).ok());
  }
  uintmax_t bytes = 0;
  size_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator(dir_.path())) {
    bytes += file.file_size();
    ++files;
  }
  EXPECT_EQ(files, 3u);
  EXPECT_LE(bytes, 6000u);
  // After a restart the lines of the newest two files are still there.
  const size_t lines = static_cast<size_t>([&] {
    const std::string text = FileText(path_) + FileText(path_ + ".1");
    return std::count(text.begin(), text.end(), '\n');
  }());
  EXPECT_THAT(Open(2000)->Recent(1000), SizeIs(lines));
}

// A crash in the middle of a line damages only that line.
TEST_F(AuditLogTest, ATornLineHarmsNoOther) {
  ASSERT_TRUE(Write(*Open(), {.action = "a"}).ok());
  std::ofstream(path_, std::ios::app) << "{\"at\":\"2026-01-02T03:0";
  const auto log = Open();
  ASSERT_TRUE(Write(*log, {.action = "b"}).ok());
  EXPECT_THAT(Actions(Open()->Recent(10)), ElementsAre("b", "a"));
}

TEST_F(AuditLogTest, CountsWhatIsRepeated) {
  {
    const auto log = Open();
    for (int i = 0; i < 532; ++i)
      log->AppendLimited({.who = "network 192.0.2.7", .action = "a", .outcome = "refused"}, "of 7");
    log->AppendLimited({.who = "network 192.0.2.8", .action = "a"}, "of 8");
  }
  const auto log = Open();
  const std::vector<AuditEntry> recent = log->Recent(1000);
  EXPECT_THAT(recent, SizeIs(Repeats<AuditEntry>::kPerWindow + 2));
  uint64_t repeats = 0;
  for (const AuditEntry& entry : recent) repeats += entry.repeats;
  EXPECT_EQ(repeats, 532 - Repeats<AuditEntry>::kPerWindow);
}

// If a kind of change that the log no longer remembers counted as a repeat, the change would be
// hidden.
TEST_F(AuditLogTest, ChangesOfMoreKindsThanItRemembersAreAllWritten) {
  constexpr size_t kKinds = Repeats<AuditEntry>::kMaxKinds + 500;
  {
    const auto log = Open();
    for (size_t i = 0; i < kKinds; ++i) {
      std::promise<void> written;
      const std::string kind = "kind " + std::to_string(i);
      log->AppendChange({.action = kind}, kind, [&](const Status&) { written.set_value(); });
      written.get_future().wait();
    }
    EXPECT_EQ(log->stats().written, kKinds);
    // Refusals and changes are counted by kind, separately.
    for (int i = 0; i < 30; ++i) log->AppendLimited({.action = "refused"}, "refused");
    for (int i = 0; i < 30; ++i) log->AppendChange({.action = "kind 1"}, "kind 1");
  }
  const auto log = Open();
  EXPECT_THAT(log->Recent(1000)[0].action, testing::AnyOf("refused", "kind 1"));
  uint64_t repeats = 0;
  for (const AuditEntry& entry : log->Recent(1000)) repeats += entry.repeats;
  EXPECT_EQ(repeats, 30 - Repeats<AuditEntry>::kPerWindow + 31 - Repeats<AuditEntry>::kPerWindow);
}

// While the disk hangs, refused clients try again immediately.
TEST_F(AuditLogTest, SaysOnceThatTooManyWait) {
  const SaidLines said;
  std::promise<void> writes;
  std::promise<void> goes_on;
  int refused = 0;
  {
    const auto log = Open();
    log->Append({.action = "first"}, [&](const Status&) {
      writes.set_value();
      goes_on.get_future().wait();
    });
    writes.get_future().wait();
    for (size_t i = 0; i < kMaxWaitingAudit; ++i) log->Append({.action = "waits"});
    for (int i = 0; i < 100; ++i) {
      log->Append({.action = "more"}, [&](const Status& status) {
        if (absl::IsResourceExhausted(status)) ++refused;
      });
    }
    goes_on.set_value();
  }
  EXPECT_EQ(refused, 100);
  const std::string text = said.text();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
}

// Previously, calls that a client repeated took the places of changes.
TEST_F(AuditLogTest, WhatIsOnlyCountedLeavesRoomForChanges) {
  std::promise<void> writes;
  std::promise<void> goes_on;
  size_t counted = 0;
  Status change = MakeStatus(absl::StatusCode::kUnknown, "not called");
  {
    const auto log = Open();
    log->Append({.action = "first"}, [&](const Status&) {
      writes.set_value();
      goes_on.get_future().wait();
    });
    writes.get_future().wait();
    for (size_t i = 0; i < 2 * kMaxWaitingAudit; ++i) {
      log->AppendLimited({.action = "repeated"}, "kind",
                         [&](const Status& status) { counted += status.ok() ? 1 : 0; });
    }
    log->Append({.action = "change"}, [&](const Status& status) { change = status; });
    goes_on.set_value();
  }
  EXPECT_TRUE(change.ok()) << change;
  EXPECT_EQ(counted, 2 * kMaxWaitingAudit);
}

TEST_F(AuditLogTest, SaysWhyItCannotBeWritten) {
  for (const std::string& path :
       {dir_ / "no/such/audit.jsonl", dir_.path(), std::string("/dev/null")}) {
    const auto log = AuditLog::Open({.path = path}, clock_);
    ASSERT_FALSE(log.ok()) << path;
    EXPECT_THAT(std::string(log.status().message()), HasSubstr("audit_log: "));
    EXPECT_THAT(std::string(log.status().message()), HasSubstr(path));
  }
}

TEST_F(AuditLogTest, TakesNoLinesForEntriesThatAreNone) {
  for (const std::string line : {"", "{}", "[]", "x", "{\"at\":5}", "{\"at\":\"yesterday\"}"}) {
    EXPECT_FALSE(ParseAuditLine(line)) << line;
  }
}

}  // namespace
}  // namespace freshet
