#include "tools/common/command_line.h"

#include <iostream>
#include <stdexcept>
#include <vector>

#include "gtest/gtest.h"

namespace freshet {
namespace {

// The exit code of a program with one subcommand, which does `action`.
int ExitCode(std::vector<std::string> words, CommandAction action) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  const auto add = [&action](CLI::App& app, CommandAction& chosen) {
    app.add_subcommand("work")->callback([&] { chosen = action; });
  };
  return RunCommandLine("A program.", "program", add, static_cast<int>(argv.size()), argv.data());
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

TEST(RunCommandLine, ReturnsOneForFailuresAndExceptions) {
  EXPECT_EQ(ExitCode({"program", "work"}, [] { return NotFound("pages.tsv"); }), 1);
  EXPECT_EQ(ExitCode({"program", "work"}, []() -> Status { throw std::runtime_error("bad"); }), 1);
}

TEST(RunCommandLine, ReturnsOneWhenItsOutputIsLost) {
  EXPECT_EQ(ExitCode({"program", "work"},
                     [] {
                       std::cout.setstate(std::ios::badbit);  // as a full disk does
                       return Status();
                     }),
            1);
  std::cout.clear();
}

}  // namespace
}  // namespace freshet
