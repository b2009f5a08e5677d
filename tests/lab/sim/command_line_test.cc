#include "lab/common/command_line.h"

#include <iostream>
#include <stdexcept>
#include <vector>

#include "gtest/gtest.h"

namespace freshet {
namespace {

// Runs a program whose only subcommand does `action`, and returns the exit code.
int ExitCode(std::vector<std::string> words, CommandAction action) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const auto add = [&action](CLI::App& app, CommandAction& chosen) {
    app.add_subcommand("work")->callback([&] { chosen = action; });
  };
  return RunCommandLine("A program.", "program", {}, add, static_cast<int>(argv.size()),
                        argv.data());
}

TEST(RunCommandLine, ReturnsZeroWhenTheActionSucceeds) {
  int runs = 0;
  EXPECT_EQ(ExitCode({"program", "work"},
                     [&runs] {
                       ++runs;
                       return Status();
                     }),
            0);
  EXPECT_EQ(runs, 1);
}

TEST(RunCommandLine, ReturnsTwoForBadUsageAndBadInput) {
  const auto succeed = [] { return Status(); };
  EXPECT_EQ(ExitCode({"program"}, succeed), 2);
  EXPECT_EQ(ExitCode({"program", "rest"}, succeed), 2);
  EXPECT_EQ(ExitCode({"program", "work", "--fast"}, succeed), 2);
  EXPECT_EQ(ExitCode({"program", "work"}, [] { return InvalidArgument("row 3: no column"); }), 2);
}

// Runs a program with flags of every kind on a wrong command line, and returns the error message.
std::string FaultOf(std::vector<std::string> words) {
  words.insert(words.begin(), {"program", "work"});
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  double rate = 0;
  int days = 0;
  size_t threads = 0;
  std::string format;
  std::vector<double> rates;
  bool json = false;
  bool quiet = false;
  const auto add = [&](CLI::App& app, CommandAction& chosen) {
    CLI::App* work = app.add_subcommand("work", "Works");
    work->add_option("--rate", rate);
    work->add_option("--rates", rates)->delimiter(',')->check(CLI::Range(0.5, 10.0));
    work->add_option("--days", days)->check(CLI::Range(1, 36));
    work->add_option("--threads", threads);
    work->add_option("--format", format)->check(CLI::IsMember({"tsv", "json"}));
    CLI::Option* json_flag = work->add_flag("--json", json);
    CLI::Option* quiet_flag = work->add_flag("--quiet", quiet);
    json_flag->excludes(quiet_flag);
    work->add_option("--file", format)->check(CLI::ExistingFile);
    work->callback([&] { chosen = [] { return Status(); }; });
  };
  testing::internal::CaptureStderr();
  EXPECT_EQ(
      RunCommandLine("A program.", "program", {}, add, static_cast<int>(argv.size()), argv.data()),
      2);
  return testing::internal::GetCapturedStderr();
}

TEST(RunCommandLine, NamesTheFlagTheValueAndWhatIsAllowed) {
  const auto fault = [](const std::string& text) { return "program: " + text + " (see --help)\n"; };
  EXPECT_EQ(FaultOf({"--rate", "abc"}), fault("--rate: 'abc' is not a number"));
  EXPECT_EQ(FaultOf({"--days", "1.5"}), fault("--days: '1.5' is not a whole number from 1 to 36"));
  EXPECT_EQ(FaultOf({"--days", "37"}), fault("--days: '37' is not a whole number from 1 to 36"));
  EXPECT_EQ(FaultOf({"--rates", "1,0.1,2"}),
            fault("--rates: '0.1' is not a number from 0.5 to 10"));
  EXPECT_EQ(FaultOf({"--format", "tvs"}),
            fault("--format: 'tvs' is not one of tsv, json, did you mean tsv?"));
  EXPECT_EQ(FaultOf({"--file", "/nowhere"}), fault("--file: '/nowhere' is not a file that exists"));
  EXPECT_EQ(FaultOf({"--rate"}), fault("--rate: its value is missing, a number"));
  EXPECT_EQ(FaultOf({"--ratte", "5"}), fault("unknown flag --ratte, did you mean --rate?"));
  EXPECT_EQ(FaultOf({"--json", "--quiet"}), fault("--json and --quiet cannot be given together"));
  EXPECT_EQ(FaultOf({"twice"}), fault("'twice' is not expected: program work takes only flags"));
}

TEST(RunCommandLine, NamesTheCommandThatWasMeant) {
  testing::internal::CaptureStderr();
  EXPECT_EQ(ExitCode({"program", "wrok"}, [] { return Status(); }), 2);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "program: 'wrok' is not a command, did you mean work? (see --help)\n");
}

TEST(RunCommandLine, ReturnsOneForFailuresAndExceptions) {
  EXPECT_EQ(ExitCode({"program", "work"}, [] { return NotFound("pages.tsv"); }), 1);
  EXPECT_EQ(ExitCode({"program", "work"}, []() -> Status { throw std::runtime_error("bad"); }), 1);
}

TEST(RunCommandLine, ReturnsOneWhenItsOutputIsLost) {
  EXPECT_EQ(ExitCode({"program", "work"},
                     [] {
                       std::cout.setstate(std::ios::badbit);  // like a full disk
                       return Status();
                     }),
            1);
  std::cout.clear();
}

}  // namespace
}  // namespace freshet
