// Tests that the help of every command has examples, and that they use this command.
#include "tools/cli/examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/fake_server.h"

namespace freshet::cli {
namespace {

using testing::HasSubstr;

std::vector<std::string> WordsOf(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Returns the commands that a help text lists.
std::vector<std::string> CommandsIn(const std::string& help) {
  std::vector<std::string> commands;
  std::istringstream stream(help);
  bool listed = false;
  for (std::string line; std::getline(stream, line);) {
    if (line.empty()) listed = false;
    // Continuation lines are indented further.
    if (listed && line.starts_with("  ") && line[2] != ' ') commands.push_back(WordsOf(line)[0]);
    if (line == "Commands:" || line.ends_with(" commands:")) listed = true;
  }
  return commands;
}

// Checks the help of a command and of all commands below it. Returns the number of checked
// commands.
int CheckHelp(const std::vector<std::string>& path, const std::string& above) {
  std::vector<std::string> line = path;
  line.emplace_back("--help");
  const Outcome run = RunClient(line);
  EXPECT_EQ(run.code, kAccepted);
  std::string name = "freshet";
  for (const std::string& word : path) name += " " + word;
  const size_t at = run.out.find("\nExamples:\n");
  EXPECT_NE(at, std::string::npos) << name;
  EXPECT_THAT(run.out, HasSubstr("\nExit code: 0 all accepted")) << name;
  if (at == std::string::npos) return 1;
  const std::string examples = run.out.substr(at, run.out.find("\n\n", at + 1) - at);
  EXPECT_THAT(examples, HasSubstr(name)) << name;
  const std::string known = run.out.substr(0, at) + above;
  const std::vector<std::string> commands = CommandsIn(run.out.substr(0, at));
  // A group shows examples of its commands, so their options are checked there.
  for (const std::string& word : WordsOf(commands.empty() ? examples : "")) {
    if (word.starts_with("--")) {
      EXPECT_THAT(known, HasSubstr(word)) << name;
    }
  }
  int checked = 1;
  for (const std::string& command : commands) {
    std::vector<std::string> below = path;
    below.push_back(command);
    checked += CheckHelp(below, known);
  }
  return checked;
}

TEST(ExamplesTest, EveryCommandHasSomeOfItsOwn) { EXPECT_GE(CheckHelp({}, ""), 38); }

TEST(ExamplesTest, CommandsStandInGroups) {
  const std::string help = RunClient({"--help"}).out;
  for (const char* group : {"Page", "Work", "Signal", "Operating", "Watching", "Other"}) {
    EXPECT_THAT(help, HasSubstr(std::string("\n\n") + group + " commands:\n  "));
  }
  // Every command belongs to a named group.
  EXPECT_THAT(help, testing::Not(HasSubstr("\nCommands:")));
  EXPECT_THAT(help, testing::Not(HasSubstr("Subcommands")));
  EXPECT_THAT(RunClient({"crawls", "--help"}).out, HasSubstr("\nCommands:\n  list "));
}

TEST(ExamplesTest, OptionsSayWhatTheyTake) {
  const std::string help = RunClient({"--help"}).out;
  EXPECT_THAT(help, HasSubstr("  --timeout N (0.1 to 86400; default 60)\n"));
  EXPECT_THAT(help, HasSubstr("  --server TEXT (default 127.0.0.1:7071; or FRESHET_SERVER)\n"));
  EXPECT_THAT(help, HasSubstr("  --json,--no-json "));
  EXPECT_THAT(RunClient({"export", "--help"}).out, HasSubstr("  --format {jsonl,tsv} (default "));
}

TEST(ExamplesTest, WhatAsksNoServerPrintsJsonToo) {
  const auto version = nlohmann::json::parse(RunClient({"version", "--json"}).out);
  EXPECT_THAT(version["version"].get<std::string>(), HasSubstr("."));
  const auto hash = nlohmann::json::parse(RunClient({"--json", "auth", "hash-token"}, "test").out);
  EXPECT_THAT(hash["token_sha256"].get<std::string>(), testing::StartsWith("9f86d081884c"));
}

}  // namespace
}  // namespace freshet::cli
