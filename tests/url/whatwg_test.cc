// Compares canonical URLs with those of Node, which is an independent implementation of the WHATWG
// URL standard. Node's earlier answers are in node_digests.txt. If Node is installed on this
// machine, its answers are compared, too.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "absl/container/flat_hash_set.h"
#include "core/base/url.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include "tests/support/run_program.h"
#include "tests/url/corpus.h"

namespace freshet {
namespace {

constexpr size_t kBlock = 100;    // texts per digest
constexpr int kLaterEdition = 3;  // an exit code of node_urls.mjs
constexpr int kNoSuchProgram = 127;

const std::vector<std::string>& Corpus() {
  static const auto* const kCorpus = new std::vector<std::string>(UrlCorpus());
  return *kCorpus;
}

std::string Answer(const std::string& text) {
  const StatusOr<CanonicalUrl> url = Canonicalise(text);
  return url.ok() ? url->text : "-";
}

// Returns the 32-bit FNV-1a hash.
std::string Digest(std::string_view text) {
  uint32_t hash = 0x811c9dc5;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193;
  return fmt::format("{:08x}", hash);
}

std::vector<std::string> Lines(std::istream& in) {
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Whatwg, AnswersAsNodeDid) {
  std::ifstream file(FRESHET_SOURCE_DIR "/tests/url/node_digests.txt");
  const std::vector<std::string> expected = Lines(file);
  ASSERT_EQ(expected.size(), 1 + kCorpusSize / kBlock);
  for (size_t block = 0; block < kCorpusSize / kBlock; ++block) {
    std::string rows;
    for (size_t i = block * kBlock; i < (block + 1) * kBlock; ++i) {
      fmt::format_to(std::back_inserter(rows), "{}\n{}\n", Corpus()[i], Answer(Corpus()[i]));
    }
    ASSERT_EQ(Digest(rows), expected[1 + block])
        << "an answer has changed, or the corpus has (node_urls.mjs says how to renew the "
           "digests):\n"
        << rows;
  }
}

TEST(Whatwg, AnswersAsTheNodeOfThisMachine) {
  const std::string input = fmt::format("{}\n", fmt::join(Corpus(), "\n"));
  const ProgramResult node =
      RunCommand("node " FRESHET_SOURCE_DIR "/tests/url/node_urls.mjs", input);
  if (node.exit_code == kNoSuchProgram) GTEST_SKIP() << "there is no Node on this machine";
  if (node.exit_code == kLaterEdition) GTEST_SKIP() << node.err;
  ASSERT_EQ(node.exit_code, 0) << node.err;
  std::istringstream out(node.out);
  const std::vector<std::string> expected = Lines(out);
  ASSERT_EQ(expected.size(), Corpus().size());
  int different = 0;
  for (size_t i = 0; i < expected.size() && different < 20; ++i) {
    const std::string answer = Answer(Corpus()[i]);
    if (answer == expected[i]) continue;
    ADD_FAILURE() << Corpus()[i] << "\nNode:    " << expected[i] << "\nFreshet: " << answer;
    ++different;
  }
}

TEST(Whatwg, IsIdempotentAndAgreesOnHosts) {
  for (const std::string& text : Corpus()) {
    const StatusOr<CanonicalUrl> once = Canonicalise(text);
    if (!once.ok()) continue;
    ASSERT_EQ(HostOfCanonical(once->text), once->host) << text;
    const StatusOr<CanonicalUrl> twice = Canonicalise(once->text);
    ASSERT_TRUE(twice.ok()) << text << ": " << once->text << ": " << twice.status();
    ASSERT_EQ(twice->text, once->text) << text;
    ASSERT_EQ(twice->host, once->host) << text;
  }
}

// A corpus of only refused URLs, or of one page, would prove nothing.
TEST(Whatwg, HasACorpusOfManyPages) {
  size_t taken = 0;
  absl::flat_hash_set<std::string> pages;
  for (const std::string& text : Corpus()) {
    const std::string answer = Answer(text);
    if (answer == "-") continue;
    ++taken;
    pages.insert(answer);
  }
  EXPECT_GT(taken, kCorpusSize / 3);
  EXPECT_GT(pages.size(), kCorpusSize / 4);
  EXPECT_LT(pages.size(), taken);
}

}  // namespace
}  // namespace freshet
