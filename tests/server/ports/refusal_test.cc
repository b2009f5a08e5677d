#include "server/ports/refusal.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/hostile/http2.h"

namespace freshet {
namespace {

const std::string kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const std::string kSettings("\0\0\0\x04\0\0\0\0\0", 9);
const std::string kAck("\0\0\0\x04\x01\0\0\0\0", 9);

std::string Frame(char type, char flags, char stream, const std::string& payload) {
  std::string frame("\0\0", 2);
  frame += static_cast<char>(payload.size());
  frame += type;
  frame += flags;
  frame += std::string("\0\0\0", 3) + stream + payload;
  return frame;
}

std::string RefusedCall(char stream, const std::string& reason) {
  const auto header = [](const std::string& name, const std::string& value) {
    return std::string("\0", 1) + static_cast<char>(name.size()) + name +
           static_cast<char>(value.size()) + value;
  };
  return Frame(1, 5, stream,
               "\x88" + header("content-type", "application/grpc") + header("grpc-status", "8") +
                   header("grpc-message", reason));
}

TEST(Refusal, RefusesEachCallHoweverItsBytesCome) {
  const std::string said = kPreface + kSettings + Frame(8, 0, 0, "abcd") +
                           Frame(1, 4, 1, "headers") + Frame(0, 1, 1, std::string(100, 'd')) +
                           Frame(1, 5, 3, "") + kAck;
  const std::string expected = kAck + RefusedCall(1, "full") + RefusedCall(3, "full");
  for (const size_t step : {size_t{1}, size_t{2}, size_t{7}, size_t{50}, said.size()}) {
    Refusal refusal("full");
    EXPECT_EQ(refusal.Greeting(), kSettings);
    EXPECT_FALSE(refusal.answered());
    std::string answer;
    for (size_t at = 0; at < said.size(); at += step) {
      answer += refusal.Answer(std::string_view(said).substr(at, step));
    }
    EXPECT_EQ(answer, expected) << step;
    EXPECT_TRUE(refusal.answered());
    EXPECT_EQ(refusal.Farewell(), Frame(7, 0, 0, std::string("\0\0\0\x03\0\0\0\x0b", 8) + "full"));
  }
}

TEST(Refusal, SendsAwayWhoCallsNothing) {
  Refusal refusal("full");
  EXPECT_EQ(refusal.Answer(kPreface), "");
  EXPECT_EQ(refusal.Farewell(), Frame(7, 0, 0, std::string("\0\0\0\0\0\0\0\x0b", 8) + "full"));
}

// A text with an address can exceed the length that one byte of HPACK can hold.
TEST(Refusal, CutsWhatIsTooLong) {
  Refusal refusal(std::string(1000, 'r'));
  const std::string answer =
      refusal.Answer(hostile::kHttp2Preface + hostile::Http2Call(1, "/a.B/C"));
  EXPECT_THAT(answer, testing::HasSubstr(std::string(100, 'r')));
  EXPECT_LT(answer.size(), 300U);
}

TEST(Refusal, SurvivesAnyBytes) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    Refusal refusal("full");
    std::string bytes(random() % 300, '\0');
    for (char& each : bytes) each = static_cast<char>(random() % 4 == 0 ? random() : random() % 5);
    // The refusal gives at most one answer to each frame header.
    EXPECT_LE(refusal.Answer(bytes).size(), bytes.size() / 9 * 100 + 100);
  }
}

}  // namespace
}  // namespace freshet
