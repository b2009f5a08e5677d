// Tests completion scripts by running them in their shells.
#include "tools/cli/completion.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "tests/cli/fake_server.h"
#include "tests/support/temp_dir.h"

namespace freshet::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

// Returns the output of a shell, split into words.
std::vector<std::string> RunShell(const std::string& shell, const std::string& script) {
  const TempDir dir;
  std::ofstream(dir / "script") << script;
  std::FILE* pipe = popen((shell + " " + (dir / "script") + " 2>&1").c_str(), "r");
  std::string text;
  char part[4096];
  for (size_t size = 0; (size = fread(part, 1, sizeof(part), pipe)) > 0;) text.append(part, size);
  EXPECT_EQ(pclose(pipe), 0) << text;
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::string Script(const char* shell) {
  const Outcome run = RunClient({"completion", shell});
  EXPECT_EQ(run.code, kAccepted) << run.err;
  return run.out;
}

// Returns bash's completions of the last word of a line. `words` are split as bash splits them,
// even at `=`.
std::vector<std::string> InBash(const std::string& words) {
  return RunShell("bash --norc", "set -eu\n" + Script("bash") + "COMP_WORDS=(freshet " + words +
                                     ")\nCOMP_CWORD=$((${#COMP_WORDS[@]} - 1))\n_freshet\n"
                                     "echo \"${COMPREPLY[@]-}\"\n");
}

// Returns zsh's completions. Functions that print their arguments replace the functions of zsh.
std::vector<std::string> InZsh(const std::string& words) {
  return RunShell("zsh -f",
                  "compdef() { }\n_files() { print FILES }\ncompset() { }\n"
                  "compadd() { print -l -- ${(P)2} }\n"
                  "_describe() { print -l -- ${${(P)@[-1]}%%:*} }\n" +
                      Script("zsh") + "words=(freshet " + words + ")\nCURRENT=$#words\n_freshet\n");
}

bool HasZsh() { return std::system("command -v zsh >/dev/null") == 0; }

TEST(CompletionTest, BashOffersCommandsOptionsAndValues) {
  EXPECT_THAT(InBash("''"), Contains("upsert"));
  EXPECT_THAT(InBash("ups"), ElementsAre("upsert"));
  EXPECT_THAT(InBash("--server a:1 ups"), ElementsAre("upsert"));
  EXPECT_THAT(InBash("--server = a:1 ups"), ElementsAre("upsert"));
  EXPECT_THAT(InBash("--server upsert --imp"), IsEmpty()) << "the value of an option";
  EXPECT_THAT(InBash("upsert --imp"), ElementsAre("--importance"));
  EXPECT_THAT(InBash("upsert --ser"), ElementsAre("--server")) << "an option of the program";
  EXPECT_THAT(InBash("upsert --complete-signals ''"), ElementsAre("true", "false"));
  EXPECT_THAT(InBash("upsert --complete-signals = "), ElementsAre("true", "false"));
  EXPECT_THAT(InBash("upsert --complete-signals = t"), ElementsAre("true"));
  EXPECT_THAT(InBash("upsert --crawl-id ''"), IsEmpty()) << "any value: files, as usual";
  EXPECT_THAT(InBash("crawls s"), ElementsAre("show", "set", "shadow"));
  EXPECT_THAT(InBash("crawls set --max-r"), ElementsAre("--max-rate"));
  EXPECT_THAT(InBash("--json auth hash-token --gen"), ElementsAre("--generate"));
  EXPECT_THAT(InBash("completion ''"), ElementsAre("bash", "zsh"));
  EXPECT_THAT(InBash("upsert ''"), IsEmpty());
}

TEST(CompletionTest, ZshOffersTheSame) {
  if (!HasZsh()) GTEST_SKIP() << "there is no zsh here";
  EXPECT_THAT(InZsh("''"), Contains("upsert"));
  EXPECT_THAT(InZsh("--server a:1 ''"), Contains("upsert"));
  EXPECT_THAT(InZsh("upsert --"), Contains("--importance"));
  EXPECT_THAT(InZsh("upsert --"), Contains("--server"));
  EXPECT_THAT(InZsh("upsert --complete-signals ''"), ElementsAre("true", "false"));
  EXPECT_THAT(InZsh("upsert --complete-signals=t"), ElementsAre("true", "false"));
  EXPECT_THAT(InZsh("upsert --crawl-id ''"), ElementsAre("FILES"));
  EXPECT_THAT(InZsh("crawls ''"), ElementsAre("list", "show", "set", "shadow", "delete"));
  EXPECT_THAT(InZsh("crawls set --"), Contains("--max-rate"));
  EXPECT_THAT(InZsh("crawls set --"), Not(Contains("--importance")));
  EXPECT_THAT(InZsh("upsert ''"), ElementsAre("FILES"));
}

TEST(CompletionTest, KnowsEveryCommandAndOtherShellsNot) {
  CLI::App app("It's a test.", "freshet");
  std::string value;
  app.add_subcommand("one", "The owner's; $HOME `id`")
      ->add_option("--how", value)
      ->check(CLI::IsMember(std::vector<std::string>{"well", "badly"}));
  EXPECT_THAT(RunShell("bash --norc", BashCompletion(app) +
                                          "COMP_WORDS=(freshet one --how '')\nCOMP_CWORD=3\n"
                                          "_freshet\necho \"${COMPREPLY[@]}\"\n"),
              ElementsAre("well", "badly"));
  EXPECT_EQ(RunClient({"completion", "fish"}).code, kBadUsage);
  EXPECT_EQ(RunClient({"completion"}).code, kBadUsage);
}

}  // namespace
}  // namespace freshet::cli
