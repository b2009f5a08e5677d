// Tests the command line of freshetd: exit codes and its one line on standard output.
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"

namespace freshet {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

TEST(Daemon, RefusesBadUsageWithOneLine) {
  for (const std::string flags :
       {"--crawl-rate=-1", "--crawl-rate nan", "--crawl-rate x", "--policy clever", "--listen here",
        "--shards 0", "--durability maybe", "--config /nowhere.yaml", "--config /", "--unknown",
        "extra", "--log-level loud", "--data-dir ''", "--crawl-rate"}) {
    const ProgramResult result = RunProgram("freshetd " + flags, "");
    EXPECT_EQ(result.exit_code, 2) << flags;
    EXPECT_EQ(result.out, "") << flags;
    EXPECT_THAT(result.err, MatchesRegex("freshetd: [^\n]+\n")) << flags;
  }
}

TEST(Daemon, TellsHelpAndVersion) {
  EXPECT_EQ(RunProgram("freshetd --help", "").exit_code, 0);
  const ProgramResult version = RunProgram("freshetd --version", "");
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_THAT(version.out, MatchesRegex("freshetd [0-9]+\\.[0-9]+\\.[0-9]+\n"));
}

TEST(Daemon, FailsWithOneWhenItCannotServe) {
  const TempDir dir;
  const std::string ports = " --listen 127.0.0.1:0 --http-listen 127.0.0.1:0";
  ProgramResult result = RunProgram("freshetd --data-dir /proc/nothing" + ports, "");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("cannot start: data_dir: "));
  // No machine has this address.
  result =
      RunProgram("freshetd --insecure --listen 192.0.2.1:1 --http-listen 127.0.0.1:0 --data-dir " +
                     (dir / "d"),
                 "");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_THAT(result.err, HasSubstr("cannot start: listen: "));
}

// Runs a script with the program in $freshetd and an empty directory in $dir.
ProgramResult RunScript(const TempDir& dir, const std::string& script) {
  std::ofstream(dir / "script") << "freshetd='" FRESHET_BIN_DIR "/freshetd'; dir='" << dir.path()
                                << "'\nports='--listen 127.0.0.1:0 --http-listen 127.0.0.1:0'\n"
                                // Waits for the ready line in file $1 of process $2.
                                << "ready() { until grep -qs ready $1; do kill -0 $2 || exit 9; "
                                   "done; }\n"
                                << script;
  const std::string line =
      "bash " + (dir / "script") + " >" + (dir / "out") + " 2>" + (dir / "err");
  const int status = std::system(line.c_str());
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .out = ReadWholeFile(dir / "out"),
          .err = ReadWholeFile(dir / "err")};
}

TEST(Daemon, NamesTheFlagTheValueAndWhatIsAllowed) {
  const std::pair<const char*, const char*> faults[] = {
      {"--craw-rate 5", "unknown flag --craw-rate, did you mean --crawl-rate? (see --help)"},
      {"start", "'start' is not expected: freshetd takes only flags (see --help)"},
      {"--crawl-rate abc", "--crawl-rate: 'abc' is not a number (see --help)"},
      {"--crawl-rate", "--crawl-rate: its value is missing, a number (see --help)"},
      {"--crawl-rate=-1", "--crawl-rate: '-1' is not a number from 0 to 10000000"},
      {"--shards 1.5", "--shards: '1.5' is not a whole number (see --help)"},
      {"--listen localhost:99999",
       "--listen: 'localhost:99999' is not an address host:port; the port must be 0 to 65535"},
      {"--policy gredy", "--policy: 'gredy' is not a policy, did you mean greedy?"},
      {"--durability snyc",
       "--durability: 'snyc' is not one of sync, wal, none, did you mean sync?"},
      {"--verify --repair", "--verify and --repair cannot be given together (see --help)"},
      {"--leave-cluster", "--leave-cluster needs --restore (see --help)"}};
  for (const auto& [flags, fault] : faults) {
    const ProgramResult result = RunProgram(std::string("freshetd ") + flags, "");
    EXPECT_EQ(result.exit_code, 2) << flags;
    EXPECT_EQ(result.err, std::string("freshetd: ") + fault + "\n");
  }
}

TEST(Daemon, ServesOtherMachinesOnlyIfItIsToldTo) {
  ProgramResult result = RunProgram("freshetd --listen 0.0.0.0:0", "");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("freshetd: --listen: 0.0.0.0:0 can be reached from other"));
  const TempDir dir;
  result = RunScript(dir,
                     "$freshetd --listen 0.0.0.0:0 --http-listen 127.0.0.1:0 --insecure "
                     "--data-dir $dir/d >$dir/d.out & pid=$!; ready $dir/d.out $pid; kill $pid; "
                     "wait $pid\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("insecure: without TLS anybody"));
  EXPECT_THAT(result.err, HasSubstr("insecure: without identities anybody"));
}

TEST(Daemon, ChecksAConfigurationWithoutTouchingAnything) {
  const TempDir dir;
  std::ofstream(dir / "bad") << "crawlrate: 5\nlimits: {streems: 1}\ndata_dir: " << (dir / "d")
                             << "\ntls: {certificate: /nowhere, key: /nowhere}\n"
                             << "cluster: {tls_ca: /nowhere}\n";
  ProgramResult result = RunProgram("freshetd --check-config --config " + (dir / "bad"), "");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("bad:1: crawlrate: unknown key, did you mean crawl_rate?\n"));
  EXPECT_THAT(result.err, HasSubstr("bad:2: limits.streems: unknown key, did you mean "
                                    "limits.streams?\n"));
  EXPECT_THAT(result.err, HasSubstr("tls.certificate: "));
  EXPECT_THAT(result.err, HasSubstr("cluster.tls_ca: "));
  EXPECT_THAT(RunCommand("ls " + (dir / "d"), "").exit_code, testing::Ne(0));
  std::ofstream(dir / "good") << "crawl_rate: 5\n";
  result = RunProgram("freshetd --check-config --config " + (dir / "good"), "");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "the configuration is good\n");
}

// Root can read all files, but the server's user cannot.
TEST(Daemon, ChecksFilesForTheOwnerOfTheDataDirectoryAsWell) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const TempDir dir;
  const ProgramResult result =
      RunScript(dir,
                "chmod 755 $dir; install -d -o 65534 $dir/d\n"
                "digest=$(sha256sum </dev/null | cut -d ' ' -f 1)\n"
                "echo \"identities: [{name: a, token_sha256: $digest, roles: [reader]}]\" "
                ">$dir/auth; chmod 600 $dir/auth\n"
                "check() { $freshetd --check-config --data-dir $dir/$1 --auth-file $dir/auth; }\n"
                "check d; echo root $?; check missing; echo other $?\n"
                "chown 65534 $dir/auth; check d; echo own $?\n");
  EXPECT_EQ(result.out,
            "the configuration is good\nroot 0\nthe configuration is good\nother 0\n"
            "the configuration is good\nown 0\n");
  EXPECT_THAT(result.err, MatchesRegex("freshetd: warning, for user 65534, who owns " + dir.path() +
                                       "/d: auth.file: [^\n]*Permission denied\n"));
}

TEST(Daemon, PrintsWhereValuesComeFrom) {
  const TempDir dir;
  std::ofstream(dir / "f") << "crawl_rate: 5\nlimits:\n  streams: 7\n";
  const ProgramResult result =
      RunScript(dir,
                "FRESHET_TOKEN=a-secret FRESHET_LIMITS_WORKERS=9 FRESHET_CRAWL_RATE=6 $freshetd "
                "--print-config --config $dir/f --shards 2\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("crawl_rate: 6  # FRESHET_CRAWL_RATE; what is set"));
  EXPECT_THAT(result.out, HasSubstr("  streams: 7  # " + (dir / "f") + ":3\n"));
  EXPECT_THAT(result.out, HasSubstr("  workers: 9  # FRESHET_LIMITS_WORKERS\n"));
  EXPECT_THAT(result.out, HasSubstr("shards: 2  # --shards\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("secret")));
  EXPECT_THAT(result.out, HasSubstr("durability: sync  # default\n"));
}

// A SIGHUP applies the keys that can change and reports the others. A bad file changes nothing.
TEST(Daemon, HangUpTakesWhatCanChange) {
  const TempDir dir;
  const ProgramResult result = RunScript(
      dir,
      "said() { until grep -qF \"$1\" $dir/d.err; do kill -0 $pid || exit 9; done; }\n"
      "echo 'crawl_rate: 5' >$dir/config\n"
      "$freshetd $ports --data-dir $dir/d --config $dir/config --log-format json >$dir/d.out "
      "2>$dir/d.err & pid=$!; ready $dir/d.out $pid\n"
      "echo '{crawl_rate: 6, shards: 4, limits: {streams: 9}}' >$dir/config; kill -HUP $pid\n"
      "said 'crawl_rate: is now 6, was 5'; said 'limits.streams: is now 9, was 10000'\n"
      "said 'shards: stays 1 until a restart; then it becomes 4'\n"
      "echo 'crawl_rat: 7' >$dir/config; kill -HUP $pid\n"
      "said 'config:1: crawl_rat: unknown key, did you mean crawl_rate?'\n"
      "said 'the new configuration is not used; the old one stays in force'\n"
      "kill $pid; wait $pid || exit 8\n"
      "grep -v '^{.*}$' $dir/d.err && exit 7; exit 0\n");
  EXPECT_EQ(result.exit_code, 0) << result.err << ReadWholeFile(dir / "d.err");
}

// A SIGHUP makes the server read the file of identities again. The server keeps running.
TEST(Daemon, HangUpReadsIdentitiesAgain) {
  const TempDir dir;
  const ProgramResult result = RunScript(
      dir,
      "one='{name: a, certificate: a, roles: [reader]}'; two='{name: b, certificate: b, roles: "
      "[reader]}'\n"
      "echo \"identities: [$one]\" >$dir/auth\n"
      "echo 'reload: {interval: 24h}' >$dir/config\n"
      "$freshetd $ports --data-dir $dir/d --auth-file $dir/auth --config $dir/config >$dir/d.out "
      "2>$dir/d.err & pid=$!; ready $dir/d.out $pid\n"
      "echo \"identities: [$one, $two]\" >$dir/auth; kill -HUP $pid\n"
      "until grep -q 'auth.file: has 2 identities' $dir/d.err; do kill -0 $pid || exit 9; done\n"
      "kill $pid; wait $pid\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
}

// Runs the commands of docs/security.md with free ports. Nothing that the server prints contains a
// token.
TEST(Daemon, KeepsSecretsToItself) {
  const TempDir dir;
  const ProgramResult result = RunScript(
      dir, "export PATH=" FRESHET_BIN_DIR
           ":$PATH; cd $dir\n"
           "command -v openssl curl >/dev/null || exit 77\n"
           "awk '/^```/ { inside = 0 } inside { print >(\"block\" n) } /^```sh/ { inside = 1; ++n "
           "}' " FRESHET_SOURCE_DIR
           "/docs/security.md\n"
           "sed -e 's/:707[12]/:0/g' -e 's/^freshetd.*/exec & --log-level trace/' block1 >serve\n"
           "bash -e serve >d.out 2>d.err & pid=$!; ready d.out $pid\n"
           "grpc=$(sed 's/.*grpc=[^ ]*:\\([0-9]*\\) .*/\\1/' d.out)\n"
           "http=$(sed 's/.*http=[^ ]*:\\([0-9]*\\) .*/\\1/' d.out)\n"
           "export FRESHET_SERVER=localhost:$grpc\n"
           "sed \"s/:7072/:$http/\" block2 >try; bash -e try >tried 2>&1; code=$?; cat tried\n"
           "freshet --tls-ca ca.pem --token-file cdn.token rate 1; echo rate=$?\n"
           "FRESHET_TOKEN=wrong-secret freshet --tls-ca ca.pem stats; echo stats=$?\n"
           "curl -s --cacert ca.pem -u x:wrong-secret https://localhost:$http/metrics\n"
           "kill $pid; wait $pid\n"
           "cat d.err tried >said; for token in $(cat admin.token cdn.token) wrong-secret; do\n"
           "  ! grep -F -e $token said || exit 8; done\n"
           "exit $code\n");
  if (result.exit_code == 77) GTEST_SKIP() << "openssl or curl is not installed";
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, HasSubstr("identity          operator\n"));
  EXPECT_THAT(result.out, HasSubstr("freshet_identities 3\n"));
  EXPECT_THAT(result.out, HasSubstr("https://example.org/"));
  EXPECT_THAT(result.out, HasSubstr("rate=1\nstats=1\n"));
  EXPECT_THAT(result.out, HasSubstr("authorization: no identity has this token\n"));
}

TEST(Daemon, SaysThatItIsReadyAndEndsCleanly) {
  for (const std::string signal : {"TERM", "INT"}) {
    const TempDir dir;
    const ProgramResult result = RunScript(
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

// Previously, a clock before 1970 ended RocksDB by an assertion.
TEST(Daemon, SaysThatTheClockCannotBeTrue) {
  const TempDir dir;
  const ProgramResult result = RunScript(
      dir,
      "trap 'kill $pid 2>&-' EXIT\n"
      "now=$(date +%s); ahead() { echo $(($1 - now)) >$dir/ahead; }\n"
      "other=\"env FRESHET_CLOCK_AHEAD=$dir/ahead LD_PRELOAD=" FRESHET_BIN_DIR
      "/../tests/crash/libfreshet_other_clock.so $freshetd $ports --data-dir $dir/d\"\n"
      // The clock is set back to 1970 while a server runs. The server's own time continues; RocksDB
      // sees 1970.
      "ahead $now; $other >$dir/d.out & pid=$!; ready $dir/d.out $pid; ahead -86400\n"
      "run() { '" FRESHET_BIN_DIR
      "/freshet' --server $(sed 's/.*grpc=\\([^ ]*\\).*/\\1/' $dir/d.out) \"$@\" >&2 || exit 7; }\n"
      "run upsert https://example.org/1; run checkpoint now; run upsert https://example.org/2\n"
      "kill $pid; wait $pid || exit 8\n"
      "for at in -86400 0 4133980800; do ahead $at; timeout 60 $other 2>$dir/said; echo $?\n"
      "  grep -o 'cannot start: the clock of this machine says [0-9]*' $dir/said; done\n"
      "ahead -86400; $other --verify 2>$dir/said; echo $?\n"
      "ahead $now; $other --verify >&2 || exit 9\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "1\ncannot start: the clock of this machine says 1969\n"
            "1\ncannot start: the clock of this machine says 1970\n"
            "1\ncannot start: the clock of this machine says 2101\n"
            "1\n");
}

// A slow disk makes opening the store take seconds. A signal arrives in the meantime.
constexpr char kHeldOpening[] =
    "$freshetd $ports --data-dir $dir/d --log-level off >$dir/d.out & pid=$!\n"
    "ready $dir/d.out $pid; kill $pid; wait $pid\n"
    "said() { until grep -q \"$1\" $dir/e.err; do kill -0 $pid || exit 9; done; }\n"
    "FRESHET_SLOW_SYNC_MS=1500 LD_PRELOAD=" FRESHET_BIN_DIR
    "/../tests/crash/libfreshet_slow_sync.so $freshetd $ports --data-dir $dir/d 2>$dir/e.err & "
    "pid=$!\n"
    "said 'opening the store;'; kill -TERM $pid; said stopping\n";

TEST(Daemon, EndsWhileItStarts) {
  const TempDir dir;
  const ProgramResult result = RunScript(
      dir, std::string(kHeldOpening) + "wait $pid; code=$?; cat $dir/e.err >&2; exit $code\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("stopped before it served"));
}

// A supervisor might stop a server that it has just started. The configuration is a pipe, so the
// server waits for it until the test has sent the signal.
TEST(Daemon, EndsInOrderBeforeItHasReadItsConfiguration) {
  for (const std::string signal : {"TERM", "INT"}) {
    const TempDir dir;
    const ProgramResult result =
        RunScript(dir,
                  "mkfifo $dir/c; trap - INT; set -m\n"
                  "$freshetd $ports --data-dir $dir/d --config $dir/c 2>$dir/e.err & pid=$!\n"
                  "exec 3>$dir/c; kill -" +
                      signal +
                      " $pid; echo 'crawl_rate: 5' >&3; exec 3>&-\n"
                      "wait $pid; code=$?; cat $dir/e.err >&2; exit $code\n");
    EXPECT_EQ(result.exit_code, 0) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr("stopping"));
    EXPECT_THAT(result.err, HasSubstr("stopped before it served"));
  }
}

TEST(Daemon, EndsAtOnceAtTheSecondSignal) {
  const TempDir dir;
  const ProgramResult result =
      RunScript(dir, std::string(kHeldOpening) +
                         // A signal that arrives together with the first one does not count as a
                         // second one.
                         "tries=0; until grep -q 'a second signal' $dir/e.err; do kill -INT $pid; "
                         "tries=$((tries + 1)); [ $tries -lt 10000 ] || exit 9; done\n"
                         "wait $pid; code=$?; cat $dir/e.err >&2; exit $code\n");
  EXPECT_EQ(result.exit_code, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("a second signal"));
}

TEST(Daemon, KeepsItsFilesToItself) {
  const TempDir dir;
  const ProgramResult result =
      RunScript(dir,
                "$freshetd $ports --data-dir $dir/d --log-level off >$dir/d.out & pid=$!\n"
                "ready $dir/d.out $pid; kill $pid; wait $pid\n"
                "stat -c %a $dir/d $dir/d/CURRENT\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "700\n600\n");
}

TEST(Daemon, SharesNoPort) {
  const TempDir dir;
  const ProgramResult result =
      RunScript(dir,
                "$freshetd $ports --data-dir $dir/d >$dir/d.out & pid=$!; ready $dir/d.out $pid\n"
                "grpc=$(sed 's/.*grpc=\\([^ ]*\\).*/\\1/' $dir/d.out)\n"
                "http=$(sed 's/.*http=\\([^ ]*\\).*/\\1/' $dir/d.out)\n"
                "$freshetd --listen 127.0.0.1:0 --http-listen $http --data-dir $dir/e; echo $?\n"
                "$freshetd --listen $grpc --http-listen 127.0.0.1:0 --data-dir $dir/e; echo $?\n"
                "kill $pid; wait $pid\n");
  EXPECT_EQ(result.out, "1\n1\n");
  EXPECT_THAT(result.err, ContainsRegex("cannot start: http_listen: cannot listen at "
                                        "127.0.0.1:[0-9]+: Address already in use"));
  EXPECT_THAT(result.err, ContainsRegex("cannot start: listen: cannot listen at "
                                        "127.0.0.1:[0-9]+: Address already in use"));
}

TEST(Daemon, SaysWhyItCannotReadOrWriteAFile) {
  const TempDir dir;
  const ProgramResult result =
      RunScript(dir,
                "echo x >$dir/file; mkdir $dir/locked; chmod 555 $dir/locked; chmod 711 $dir\n"
                "nobody() { if [ $(id -u) = 0 ]; then setpriv --reuid=65534 --clear-groups "
                "--inh-caps=-all --bounding-set=-all \"$@\"; else \"$@\"; fi; }\n"
                "$freshetd $ports --config $dir; echo $?\n"
                "$freshetd $ports --data-dir $dir/file; echo $?\n"
                "$freshetd $ports --data-dir $dir/file/below; echo $?\n"
                "cp $freshetd $dir/program; chmod 755 $dir/program\n"
                "nobody $dir/program $ports --data-dir $dir/locked/d; echo $?\n"
                "nobody $dir/program $ports --data-dir $dir/locked; echo $?\n");
  EXPECT_EQ(result.out, "2\n1\n1\n1\n1\n") << result.err;
  EXPECT_THAT(result.err,
              HasSubstr("freshetd: config: cannot read " + dir.path() + ": Is a directory\n"));
  EXPECT_THAT(result.err,
              HasSubstr("data_dir: cannot create " + dir.path() + "/file: Not a directory"));
  EXPECT_THAT(result.err, HasSubstr("/file/below: Not a directory"));
  EXPECT_THAT(result.err, HasSubstr("/locked/d: Permission denied"));
  EXPECT_THAT(result.err, ContainsRegex("locked.*: .*Permission denied"));
  EXPECT_THAT(result.err, Not(HasSubstr("in use")));
}

TEST(Daemon, LeavesADirectoryThatIsInUse) {
  const TempDir dir;
  const ProgramResult result =
      RunScript(dir,
                "$freshetd $ports --data-dir $dir/d >$dir/d.out & pid=$!; ready $dir/d.out $pid\n"
                "$freshetd $ports --data-dir $dir/d; code=$?; kill $pid; wait $pid; exit $code\n");
  EXPECT_EQ(result.exit_code, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, HasSubstr("cannot start: "));
}

// Starts a server with the directory $1 and the flags $2, adds the page http://$3/, makes the
// checkpoint $4, and stops it.
constexpr char kServeOnce[] =
    "freshet=${freshetd%d}\n"
    "serve() { rm -f out.txt; touch out.txt; $freshetd $ports --data-dir $1 $2 >out.txt 2>>err.txt "
    "& pid=$!\n"
    "  ready out.txt $pid; address=$(sed 's/.*grpc=\\([^ ]*\\).*/\\1/' out.txt)\n"
    "  [ -z \"$3\" ] || $freshet --server $address upsert http://$3/ >/dev/null || echo upsert $?\n"
    "  [ -z \"$4\" ] || $freshet --server $address checkpoint $4 >/dev/null || echo checkpoint $?\n"
    "  kill $pid; wait $pid; sed 's/.*\\(pages=[0-9]*\\).*/\\1/' out.txt; }\n";

// Regression: every relative name meant the working directory itself.
TEST(Daemon, ARelativeDataDirectoryIsInTheWorkingDirectory) {
  const TempDir dir;
  const ProgramResult result =
      RunScript(dir, std::string(kServeOnce) +
                         "mkdir -p $dir/w/sub && cd $dir/w && ln -s sub link\n"
                         "serve data/a '' one.test; serve ./data/b '' two.test\n"
                         "serve c/ '' three.test; serve ../x '' four.test\n"
                         "serve link/d '' five.test\n"
                         // The loop finds each store under a different name of its directory.
                         "for d in $dir/w/data/a data//b/ ./c $dir/x sub/d; do serve $d; done\n"
                         "ls; ls data sub; ls | grep -c CURRENT; cat err.txt\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  std::string added;
  std::string found;
  for (int i = 0; i < 5; ++i) added += "pages=0\n", found += "pages=1\n";
  EXPECT_THAT(result.out, HasSubstr(added + found + "c\ndata\nerr.txt\nlink\nout.txt\nsub\n" +
                                    "data:\na\nb\n\nsub:\nd\n0\n"));
  for (const std::string path : {"/w/data/a", "/w/data/b", "/w/c", "/w/../x", "/w/link/d"}) {
    EXPECT_THAT(result.out, HasSubstr("opening " + dir.path() + path + "\n"));
  }
}

TEST(Daemon, MaintenanceTakesRelativeDirectories) {
  const TempDir dir;
  const ProgramResult result = RunScript(
      dir,
      std::string(kServeOnce) +
          "mkdir $dir/w && cd $dir/w\n"
          "serve data/a '' one.test saved; serve data/b '' '' saved\n"
          "ls data/a/checkpoints data/b/checkpoints\n"
          "$freshetd --restore data/a/checkpoints/saved --data-dir r 2>err.txt; echo restore $?\n"
          "$freshetd --verify --data-dir ./r/ 2>err.txt; echo verify $?\n"
          "$freshetd --verify --data-dir data/b 2>err.txt; echo verify $?\n"
          "$freshetd --repair --data-dir data/a 2>err.txt; echo repair $?\n"
          "for t in data/a/*.sst; do truncate -s -9 $t; done\n"
          "$freshetd --repair --data-dir data/../data/a >repair.txt 2>err.txt; echo repair $?\n"
          "ls data/a | grep -c damaged-1; ls\n");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const std::string w = dir.path() + "/w";
  EXPECT_THAT(result.out, HasSubstr("data/a/checkpoints:\nsaved\n\ndata/b/checkpoints:\nsaved\n"));
  EXPECT_THAT(result.out, HasSubstr("restored " + w + "/r: pages=1 "));
  EXPECT_THAT(result.out, HasSubstr("verified " + w + "/r: pages=1 "));
  EXPECT_THAT(result.out, HasSubstr("verified " + w + "/data/b: pages=0 "));
  EXPECT_THAT(result.out, HasSubstr("intact " + w + "/data/a: pages=1 "));
  EXPECT_THAT(result.out, HasSubstr("repair 0\n1\ndata\nerr.txt\nout.txt\nr\nrepair.txt\n"));
}

// --- Without serving

// Makes a data directory $dir/d with ten pages, one of them leased, and a checkpoint of it.
constexpr char kFill[] =
    "set -e; freshet=${freshetd%d}\n"
    "$freshetd $ports --data-dir $dir/d --log-level warn >$dir/d.out & pid=$!\n"
    "ready $dir/d.out $pid; address=$(sed 's/.*grpc=\\([^ ]*\\).*/\\1/' $dir/d.out)\n"
    "for i in 0 1 2 3 4 5 6 7 8 9; do echo http://host$((i % 3)).test/page-$i; done |\n"
    "  $freshet --server $address upsert - >/dev/null\n"
    "$freshet --server $address next >/dev/null\n"
    "$freshet --server $address checkpoint backup >/dev/null\n"
    "kill $pid; wait $pid; set +e\n";

TEST(Daemon, SaysAtTheStartThatItIsPausedAndWhy) {
  const TempDir dir;
  const ProgramResult result = RunScript(
      dir, std::string(kFill) +
               "run() {\n"
               "  rm $dir/d.out\n"  // it still has the line of the previous server
               "  $freshetd $ports --data-dir $dir/d >$dir/d.out 2>$dir/d.err & pid=$!\n"
               "  ready $dir/d.out $pid\n"
               "  server=$(sed 's/.*grpc=\\([^ ]*\\) .*/\\1/' $dir/d.out)\n"
               "  \"$@\"; kill $pid; wait $pid; grep 'assignments are paused' $dir/d.err\n"
               "}\n"
               "pause() { $freshet --server $server pause --reason 'new disk'; }\n"
               "show() { $freshet --server $server stats | grep -o 'paused: new disk'; }\n"
               "run pause; run show\n");
  EXPECT_THAT(result.out, MatchesRegex("(.*\n)?paused\npaused: new disk\n"
                                       "[^\n]*warn[^\n]* assignments are paused, as they were "
                                       "before the start: new disk; [^\n]*\n"))
      << result.err;
}

TEST(Daemon, VerifiesRestoresAndRepairs) {
  const TempDir dir;
  const ProgramResult result =
      RunScript(dir, std::string(kFill) +
                         "$freshetd --verify --data-dir $dir/d 2>/dev/null; echo verify $?\n"
                         "mv $dir/d/checkpoints/backup $dir/backup\n"
                         "$freshet restore $dir/backup $dir/r; echo restore $?\n"
                         "$freshet restore $dir/backup $dir/r 2>$dir/again; echo again $?\n"
                         "$freshetd --verify --data-dir $dir/r 2>/dev/null; echo verify $?\n"
                         "$freshetd --repair --data-dir $dir/r 2>/dev/null; echo repair $?\n"
                         // The footer at the end of a table tells where everything else in the
                         // table is.
                         "for t in $dir/r/*.sst; do truncate -s -9 $t; done\n"
                         "$freshetd --verify --data-dir $dir/r 2>/dev/null; echo verify $?\n"
                         "$freshetd --repair --data-dir $dir/r 2>/dev/null; echo repair $?\n"
                         "cat $dir/again\n");
  EXPECT_THAT(result.out, HasSubstr("verified " + dir.path() +
                                    "/d: pages=10 hosts=3 leases=1 problems=0\nverify 0\n"));
  EXPECT_THAT(result.out, HasSubstr("restored " + dir.path() +
                                    "/r: pages=10 hosts=3 leases=1 problems=0\nrestore 0\n"));
  EXPECT_THAT(result.out, HasSubstr("again 1\n"));
  EXPECT_THAT(result.out, HasSubstr("is not empty"));
  EXPECT_THAT(result.out, HasSubstr("intact " + dir.path() + "/r: pages=10"));
  EXPECT_THAT(result.out, HasSubstr("problem: "));
  EXPECT_THAT(result.out, HasSubstr("verify 1\n"));
  EXPECT_THAT(result.out, ContainsRegex("lost: tables=([0-9]+) of [0-9]+, [0-9]+ bytes that cannot "
                                        "be read at all: how many pages"));
  EXPECT_THAT(result.out, HasSubstr("repaired " + dir.path() + "/r\nrepair 0\n")) << result.err;
}

// If root owned files in a service's directory, the service could not open its store.
TEST(Daemon, MaintenanceLeavesFilesToTheOwnerOfTheDirectory) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const TempDir dir;
  const ProgramResult result =
      RunScript(dir,
                "chmod 755 $dir\n"
                "$freshetd --data-dir $dir/d $ports >$dir/ready.txt 2>/dev/null &\n"
                "pid=$!; ready $dir/ready.txt $pid; kill $pid; wait $pid\n"
                "chown -R 65534:65534 $dir/d\n"
                "$freshetd --verify --data-dir $dir/d 2>&1; echo verify $?\n"
                "find $dir/d -not -user 65534\n"
                "f=$(ls $dir/d/*.sst | head -n 1); printf junk | dd of=$f conv=notrunc "
                "2>/dev/null\n"
                "$freshetd --repair --data-dir $dir/d 2>&1; echo repair $?\n"
                "find $dir/d -not -user 65534; echo end\n");
  EXPECT_THAT(result.out, HasSubstr("problems=0\nverify 0\n"));
  EXPECT_THAT(result.out, HasSubstr("repair 0\nend\n"));
}

TEST(Daemon, ARestoreByRootLeavesFilesToTheOwnerOfTheDirectory) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const TempDir dir;
  const ProgramResult result = RunScript(
      dir, std::string(kFill) +
               "chmod 755 $dir; mv $dir/d/checkpoints/backup $dir/backup\n"
               "chown -R 65534:65534 $dir/backup\n"
               "install -d -o 65534 -g 65534 -m 700 $dir/there $dir/above\n"
               "for to in there above/new; do\n"
               "  $freshet restore $dir/backup $dir/$to; echo restore $?\n"
               "  $freshetd --verify --data-dir $dir/$to 2>/dev/null; echo verify $?\n"
               "done; find $dir/there $dir/above -not -user 65534\n"
               // If root owns the parent directory, the files belong to root.
               "install -d -m 700 $dir/closed; $freshet restore $dir/backup $dir/closed/d\n"
               "find $dir/closed -not -user 0\n"
               // A restore for an owner refuses files that the owner may not read.
               "mv $dir/backup $dir/closed/backup\n"
               "$freshet restore $dir/closed/backup $dir/above/other; echo restore $?\n"
               "ls $dir/above\n");
  const std::string restored = ": pages=10 hosts=3 leases=1 problems=0\n";
  const std::string& d = dir.path();
  EXPECT_EQ(result.out, "restored " + d + "/there" + restored + "restore 0\nverified " + d +
                            "/there" + restored + "verify 0\nrestored " + d + "/above/new" +
                            restored + "restore 0\nverified " + d + "/above/new" + restored +
                            "verify 0\nrestored " + d + "/closed/d" + restored +
                            "restore 1\nnew\n");
  EXPECT_EQ(result.err, "freshetd: cannot restore: " + d +
                            "/closed/backup: user 65534 has no permission to enter " + d +
                            "/closed; root acts here as user 65534, who owns " + d + "/above\n");
}

TEST(Daemon, MaintenanceSaysThatTheOwnerMayNotEnterADirectory) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  const TempDir dir;
  const ProgramResult result = RunScript(
      dir,
      "chmod 755 $dir\n"
      "$freshetd --data-dir $dir/d $ports >$dir/ready.txt 2>/dev/null &\n"
      "pid=$!; ready $dir/ready.txt $pid; kill $pid; wait $pid\n"
      "mkdir -m 700 $dir/closed; mv $dir/d $dir/closed/d; chown -R 65534 $dir/closed/d\n"
      "for do in verify repair; do $freshetd --$do --data-dir $dir/closed/d; echo $do $?; done\n"
      "chmod 711 $dir/closed; chmod 300 $dir/closed/d\n"
      "for do in verify repair; do $freshetd --$do --data-dir $dir/closed/d; echo $do $?; done\n");
  EXPECT_EQ(result.out, "verify 1\nrepair 1\nverify 1\nrepair 1\n");
  const std::string d = dir.path() + "/closed/d: user 65534 has no permission to ";
  EXPECT_THAT(result.err, HasSubstr("cannot verify: " + d + "enter " + dir.path() +
                                    "/closed; root acts here as user 65534, who owns " +
                                    dir.path() + "/closed/d\n"));
  EXPECT_THAT(result.err, HasSubstr("all files are unchanged: " + d + "enter " + dir.path()));
  EXPECT_THAT(result.err, HasSubstr("cannot verify: " + d + "read it; "));
  EXPECT_THAT(result.err, HasSubstr("all files are unchanged: " + d + "read it; "));
  EXPECT_THAT(result.err, Not(HasSubstr("does not exist")));
}

TEST(Daemon, RefusesMaintenanceOfWhatIsNotThere) {
  const TempDir dir;
  const std::string missing = dir / "missing";
  const ProgramResult restored =
      RunScript(dir, "$freshetd --restore $dir/missing --data-dir $dir/d; echo code $?\n");
  EXPECT_EQ(restored.out, "code 1\n");
  EXPECT_EQ(restored.err, "freshetd: cannot restore: " + missing + ": does not exist\n");
  EXPECT_EQ(RunProgram("freshetd --verify --data-dir " + missing, "").exit_code, 1);
  EXPECT_EQ(RunProgram("freshetd --repair --data-dir " + missing, "").exit_code, 1);
  EXPECT_EQ(
      RunProgram("freshetd --restore " + missing + " --data-dir " + (dir / "d"), "").exit_code, 1);
  EXPECT_EQ(RunProgram("freshetd --verify --repair --data-dir " + missing, "").exit_code, 2);
  EXPECT_FALSE(std::ifstream(missing).good());
  // A directory that has other files cannot become a store.
  const ProgramResult other =
      RunScript(dir,
                "mkdir $dir/other; echo notes >$dir/other/notes\n"
                "$freshetd --verify --data-dir $dir/other; echo code $?; ls $dir/other\n");
  EXPECT_EQ(other.out, "code 1\nnotes\n");
  EXPECT_THAT(other.err, HasSubstr("/other: holds no store"));
}

}  // namespace
}  // namespace freshet
