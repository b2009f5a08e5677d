// Tests that this build opens stores that releases have written. Each directory
// tests/golden/release-VERSION never changes. It has `store`, from a stopped server; `checkpoint`,
// from a running one; the configuration of both, and the texts that clients saw. Each store goes
// through the procedure of docs/upgrading.md. This build refuses stores that it must not open and
// does not change them.
//
// FRESHET_WRITE_GOLDEN=1 writes the files of this build's version if they are missing, with a
// running freshetd.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "rocksdb/db.h"
#include "server/base/system_clock.h"
#include "server/config.h"
#include "storage/format.h"
#include "storage/frontier_store.h"
#include "tests/crash/daemon.h"
#include "tests/grpc/frontier_client.h"
#include "tests/grpc/test_server.h"
#include "tests/storage/raw_database.h"
#include "tests/support/ahead_of_clock.h"
#include "tests/support/run_program.h"
#include "tests/support/temp_dir.h"
#include "tests/upgrade/release_store.h"

namespace freshet {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

constexpr char kVersion[] = FRESHET_TEST_VERSION;
constexpr char kConfig[] =
    "shards: 2\n"
    "politeness: {min_delay: 0, max_in_flight: 0}\n"
    "frontier: {scheduled_crawls: [web]}\n";

fs::path GoldenOf(const std::string& version) {
  return fs::path(FRESHET_SOURCE_DIR) / "tests" / "golden" / ("release-" + version);
}

void WriteFile(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  ASSERT_TRUE(out.flush().good()) << path;
}

// Copies a store without the files that a running server writes.
void CopyStore(const fs::path& from, const fs::path& to) {
  fs::copy(from, to, fs::copy_options::recursive);
  for (const auto& entry : fs::recursive_directory_iterator(to)) {
    const std::string name = entry.path().filename();
    if (name == "LOG" || name.starts_with("LOG.old")) fs::remove(entry.path());
  }
}

void WriteGolden() {
  const TempDir dir;
  const fs::path golden = GoldenOf(std::string(kVersion) + ".new");
  fs::remove_all(golden);
  fs::create_directories(golden);
  WriteFile(golden / "freshet.yaml", kConfig);
  crash::Daemon server(dir / "data", dir / "log");
  server.Spawn({"--config", golden / "freshet.yaml"});
  ASSERT_EQ(server.AwaitReady(), "");
  SystemClock clock;
  FillStore(server.channel(), clock.Now());
  WriteFile(golden / "seen.txt", DescribeStore(server.channel()));
  WriteFile(golden / "seconds", std::to_string(clock.Now().micros() / 1'000'000) + "\n");
  v1::CreateCheckpointRequest request;
  request.set_name("checkpoint");
  v1::CreateCheckpointResponse response;
  grpc::ClientContext call;
  ASSERT_TRUE(v1::AdminService::NewStub(server.channel())
                  ->CreateCheckpoint(&call, request, &response)
                  .ok());
  server.RequestStop();
  ASSERT_EQ(server.AwaitEnd(), "");
  CopyStore(response.path(), golden / "checkpoint");
  fs::remove_all(dir / "data/checkpoints");
  CopyStore(dir / "data", golden / "store");
  if (!testing::Test::HasFailure()) fs::rename(golden, GoldenOf(kVersion));
}

// Returns the contents of all files, by path.
std::map<std::string, std::string> FilesOf(const fs::path& dir) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(dir)) {
    if (entry.is_regular_file()) {
      files[entry.path().lexically_relative(dir)] = ReadWholeFile(entry.path());
    }
  }
  return files;
}

// Returns the files that differ, or that only one of the two has.
std::vector<std::string> Changed(const std::map<std::string, std::string>& before,
                                 const std::map<std::string, std::string>& after) {
  std::map<std::string, std::string> all = before;
  all.insert(after.begin(), after.end());
  std::vector<std::string> names;
  for (const auto& [name, bytes] : all) {
    const auto old = before.find(name);
    const auto now = after.find(name);
    if (old == before.end() || now == after.end() || old->second != now->second) {
      names.push_back(name);
    }
  }
  return names;
}

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Returns true if `now` has all fields of `then` with equal values. A later API can have more
// fields.
bool Holds(const nlohmann::json& now, const nlohmann::json& then) {
  if (then.is_object()) {
    return std::all_of(then.items().begin(), then.items().end(), [&](const auto& item) {
      return now.is_object() && now.contains(item.key()) && Holds(now[item.key()], item.value());
    });
  }
  if (!then.is_array()) return now == then;
  if (!now.is_array() || now.size() != then.size()) return false;
  for (size_t i = 0; i < then.size(); ++i) {
    if (!Holds(now[i], then[i])) return false;
  }
  return true;
}

// A line has a name and then a text or an object; objects are compared by Holds.
bool Says(const std::string& now, const std::string& then) {
  const size_t at = then.find(" {");
  if (now == then || at == std::string::npos || now.compare(0, at + 2, then, 0, at + 2) != 0) {
    return now == then;
  }
  return Holds(nlohmann::json::parse(now.substr(at)), nlohmann::json::parse(then.substr(at)));
}

// Returns the lines of `then` that `now` lacks, and the lines that only `now` has.
std::string Difference(const std::string& then, const std::string& now) {
  std::vector<std::string> left = LinesOf(now);
  std::string text;
  for (const std::string& line : LinesOf(then)) {
    const auto same = std::find_if(left.begin(), left.end(),
                                   [&](const std::string& other) { return Says(other, line); });
    if (same == left.end()) {
      text += "- " + line + "\n";
    } else {
      left.erase(same);
    }
  }
  for (const std::string& line : left) text += "+ " + line + "\n";
  return text;
}

class Upgrade : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    golden_ = GoldenOf(GetParam());
    if (!fs::exists(golden_) && GetParam() == kVersion &&
        std::getenv("FRESHET_WRITE_GOLDEN") != nullptr) {
      WriteGolden();
    }
    ASSERT_TRUE(fs::exists(golden_ / "store" / "CURRENT")) << golden_;
    seen_ = ReadWholeFile(golden_ / "seen.txt");
    // Leases of the golden store must still be open. The stored time was cut to seconds, so the
    // test starts at the next second.
    const int64_t then = (std::stoll(ReadWholeFile(golden_ / "seconds")) + 1) * 1'000'000;
    clock_.Advance(Duration::Micros(then - SystemClock().Now().micros()));
  }

  // Starts a freshetd of this build with the configuration of the release, in the directory `name`.
  std::unique_ptr<TestServer> Serve(const std::string& name) {
    return std::make_unique<TestServer>(
        [&](ServerConfig* config) {
          ServerConfig own;
          const Status read = ApplyYaml(ReadWholeFile(golden_ / "freshet.yaml"), &own);
          EXPECT_TRUE(read.ok()) << read;
          own.data_dir = dir_ / name;
          own.listen = own.http_listen = "127.0.0.1:0";
          own.log_level = "off";
          *config = own;
        },
        nullptr, &clock_);
  }
  ProgramResult Maintain(const std::string& flags) {
    return RunProgram("freshetd --config " + (golden_ / "freshet.yaml").string() + " " + flags, "");
  }
  void ExpectVerified(const std::string& name) {
    const ProgramResult result = Maintain("--verify --data-dir " + (dir_ / name));
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    EXPECT_THAT(result.out, HasSubstr("pages=35 hosts=10 leases=3 problems=0"));
  }

  TempDir dir_;
  fs::path golden_;
  std::string seen_;
  AheadOfClock clock_;
};

v1::Page LeasedPage(TestServer& server) {
  v1::ListPagesRequest request;
  grpc::ClientContext call;
  const auto stream = server.pages->ListPages(&call, request);
  for (v1::ListPagesResponse part; stream->Read(&part);) {
    for (const v1::Page& page : part.pages()) {
      if (page.has_lease()) return page;
    }
  }
  return {};
}

// Does all kinds of work on pages and URLs of the older release.
void Work(TestServer& server) {
  const v1::Page leased = LeasedPage(server);
  ASSERT_EQ(leased.lease().worker(), "holder");
  v1::CrawlResult result;
  result.set_url(leased.url());
  result.set_lease_id(leased.lease().lease_id());
  result.set_outcome(v1::CRAWL_OUTCOME_CHANGED);
  EXPECT_THAT(Described(server.Report(result)), testing::IsEmpty());
  EXPECT_EQ(server.Get(leased.url()).page().crawls(), leased.crawls() + 1);
  EXPECT_EQ(Described(server.Report(result)).size(), 1U) << "a duplicate";
  grpc::ClientContext resume;
  v1::ResumeResponse resumed;
  EXPECT_TRUE(server.admin->Resume(&resume, {}, &resumed).ok());
  EXPECT_TRUE(resumed.was_paused());
  EXPECT_EQ(server.Next(1, 20000).assignments_size(), 1);
  server.UpsertMany(10);
  grpc::ClientContext epoch;
  v1::RunEpochResponse run;
  EXPECT_TRUE(server.admin->RunEpoch(&epoch, {}, &run).ok());
  EXPECT_EQ(run.pages(), 45U);
  FrontierClient frontier(server.channel);
  EXPECT_EQ(frontier.Put(Discovered("https://new.example/", "", "uf")), "OK");
  EXPECT_EQ(frontier.GetInfos(ParamsIn("uf", 1, 100)).size(), 2U)
      << "the new one, and one of before";
}

TEST_P(Upgrade, AStoreOfTheReleaseIsVerifiedServedAndGivenBack) {
  CopyStore(golden_ / "store", dir_ / "data");
  ExpectVerified("data");
  {
    const auto server = Serve("data");
    EXPECT_EQ(Difference(seen_, DescribeStore(server->channel)), "");
    Work(*server);
    const std::string worked = DescribeStore(server->channel);
    server->Restart();
    EXPECT_EQ(Difference(worked, DescribeStore(server->channel)), "");
    EXPECT_TRUE(server->Stop().ok());
  }
  const ProgramResult verified = Maintain("--verify --data-dir " + (dir_ / "data"));
  EXPECT_EQ(verified.exit_code, 0) << verified.out << verified.err;
  EXPECT_THAT(verified.out, HasSubstr("pages=45 "));
}

// Restores the release's data, although a newer build has run.
TEST_P(Upgrade, ACheckpointOfTheReleaseIsRestored) {
  const ProgramResult restored = Maintain("--restore " + (golden_ / "checkpoint").string() +
                                          " --data-dir " + (dir_ / "restored"));
  ASSERT_EQ(restored.exit_code, 0) << restored.out << restored.err;
  ExpectVerified("restored");
  {
    const auto server = Serve("restored");
    EXPECT_EQ(Difference(seen_, DescribeStore(server->channel)), "");
    EXPECT_TRUE(server->Stop().ok());
  }
  // The restore did not change the checkpoint in git.
  EXPECT_FALSE(fs::exists(golden_ / "checkpoint" / "LOG"));
}

INSTANTIATE_TEST_SUITE_P(Releases, Upgrade, testing::Values("0.1.0"), [](const auto& release) {
  std::string name = release.param;
  std::replace(name.begin(), name.end(), '.', '_');
  return "Release" + name;
});

// --- Stores that this build refuses

class Refusal : public testing::Test {
 protected:
  Refusal() { CopyStore(GoldenOf(kVersion) / "store", dir_ / "data"); }

  void SetFormat(uint64_t format) {
    storage::RawDatabase raw(dir_ / "data");
    raw.SetFormat(format);
    Flush(*raw.db);
  }
  static void Flush(rocksdb::DB& db) { EXPECT_TRUE(db.Flush(rocksdb::FlushOptions()).ok()); }

  // For every command on the store, freshetd prints `message`, ends with 1 and changes no byte.
  void ExpectRefused(const std::string& message) {
    const auto before = FilesOf(dir_ / "data");
    const std::string data = " --data-dir " + (dir_ / "data");
    std::vector<std::string> commands = {
        "--listen 127.0.0.1:0 --http-listen 127.0.0.1:0" + data, "--verify" + data,
        "--repair" + data, "--restore " + (dir_ / "data") + " --data-dir " + (dir_ / "new")};
    for (const std::string& flags : commands) {
      const ProgramResult result = RunProgram("freshetd " + flags, "");
      EXPECT_EQ(result.exit_code, 1) << flags;
      EXPECT_THAT(result.err, HasSubstr(message)) << flags;
      EXPECT_THAT(Changed(before, FilesOf(dir_ / "data")), testing::IsEmpty()) << flags;
    }
  }

  TempDir dir_;
};

TEST_F(Refusal, AStoreOfANewerReleaseIsLeftAsItIs) {
  SetFormat(storage::kFormatVersion + 1);
  ExpectRefused(
      fmt::format("format {} was written by a newer release; this one knows formats up to {}",
                  storage::kFormatVersion + 1, storage::kFormatVersion));
}

TEST_F(Refusal, AStoreThatIsTooOldIsLeftAsItIs) {
  SetFormat(2);
  ExpectRefused("format 2 is too old for this release");
}

}  // namespace
}  // namespace freshet
