// The command line of freshetd: exit codes and the one line on standard output.
#include <cstdlib>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;

TEST(Daemon, RefusesBadUsageWithOneLine) {
  for (const std::string flags :
       {"--crawl-rate -1", "--crawl-rate nan", "--crawl-rate x", "--policy clever", "--listen here",
        "--shards 0", "--durability maybe", "--config /nowhere.yaml", "--unknown", "extra",
        "--log-level loud", "--data-dir ''", "--crawl-rate"}) {
    const testing::ProgramResult result = testing::RunProgram("freshetd " + flags, "");
    EXPECT_EQ(result.exit_code, 2) << flags;
    EXPECT_EQ(result.out, "") << flags;
    EXPECT_THAT(result.err, MatchesRegex("freshetd: [^\n]+\n")) << flags;
  }
}

TEST(Daemon, TellsHelpAndVersion) {
  EXPECT_EQ(testing::RunProgram("freshetd --help", "").exit_code, 0);
  const testing::ProgramResult version = testing::RunProgram("freshetd --version", "");
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, MatchesRegex("freshetd [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Daemon, FailsWithOneWhenItCannotServe) {
  const TempDir dir;
  const std::string ports = " --listen 127.0.0.1:0 --http-listen 127.0.0.1:0";
  testing::ProgramResult result =
      testing::RunProgram("freshetd --data-dir /proc/nothing" + ports, "");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("cannot start: data_dir: "));
  // An address that no machine has.
  result = testing::RunProgram(
      "freshetd --listen 192.0.2.1:1 --http-listen 127.0.0.1:0 --data-dir " + (dir / "d"), "");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot start: listen: "));
}

// Runs a script that finds the program in $freshetd and an empty directory in $dir.
testing::ProgramResult RunScript(const TempDir& dir, const std::string& script) {
  std::ofstream(dir / "script") << "freshetd='" FRESHET_BIN_DIR "/freshetd'; dir='" << dir.path()
                                << "'\nports='--listen 127.0.0.1:0 --http-listen 127.0.0.1:0'\n"
                                // Waits for the ready line in file $1 of process $2.
                                << "ready() { until grep -q ready $1; do kill -0 $2 || exit 9; "
                                   "done; }\n"
                                << script;
  const std::string line =
      "bash " + (dir / "script") + " >" + (dir / "out") + " 2>" + (dir / "err");
  const int status = std::system(line.c_str());
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .out = testing::ReadWholeFile(dir / "out"),
          .err = testing::ReadWholeFile(dir / "err")};
}

TEST(Daemon, SaysThatItIsReadyAndEndsCleanly) {
  for (const std::string signal : {"TERM", "INT"}) {
    const TempDir dir;
    const testing::ProgramResult result = RunScript(
        dir,
        "$freshetd $ports --data-dir $dir/d >$dir/d.out & pid=$!; ready $dir/d.out $pid; kill -" +
            signal + " $pid; wait $pid; code=$?; cat $dir/d.out; exit $code\n");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_THAT(result.out, MatchesRegex("ready grpc=127\\.0\\.0\\.1:[0-9]+ "
                                         "http=127\\.0\\.0\\.1:[0-9]+ pages=0 "
                                         "recovered_seconds=[0-9.]+\n"));
    EXPECT_THAT(result.err, HasSubstr("stopped"));
  }
}

TEST(Daemon, LeavesADirectoryThatIsInUse) {
  const TempDir dir;
  const testing::ProgramResult result =
      RunScript(dir,
                "$freshetd $ports --data-dir $dir/d >$dir/d.out & pid=$!; ready $dir/d.out $pid\n"
                "$freshetd $ports --data-dir $dir/d; code=$?; kill $pid; wait $pid; exit $code\n");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("cannot start: "));
}

}  // namespace
}  // namespace freshet
