// Frames that come in pieces of any size, and what there may be too many of.
#include "server/ports/frame_watch.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "server/ports/refusal.h"
#include "tests/hostile/http2.h"

namespace freshet {
namespace {

using hostile::Http2Frame;

constexpr FrameLimits kFew = {.block_bytes = 1000,
                              .block_frames = 4,
                              .early_calls = 200,
                              .resets = 5,
                              .idle = 5,
                              .stray = 5000,
                              .unread = 100,
                              .mark = "key:",
                              .key = "of the fleet"};

std::string Many(int times, const std::string& frame) {
  std::string frames;
  for (int i = 0; i < times; ++i) frames += frame;
  return frames;
}

// What a watch says of what comes after the preface, in pieces of so many bytes.
std::string ExcessOf(const std::string& frames, size_t piece, bool settings_sent = true) {
  FrameWatch watch(kFew);
  const std::string asks = Http2Frame(4, 0, 0, "") + Http2Frame(6, 0, 0, std::string(8, 'p'));
  if (settings_sent) watch.Sending(Many(100, asks));
  const std::string all = std::string(kHttp2Preface) + frames;
  bool taken = true;
  for (size_t at = 0; taken && at < all.size(); at += piece) {
    taken = watch.Take(std::string_view(all).substr(at, piece));
  }
  EXPECT_EQ(taken, watch.excess().empty());
  // Once is for ever.
  if (!taken) {
    EXPECT_FALSE(watch.Take("x"));
  }
  return std::string(watch.excess());
}

std::string ExcessOf(const std::string& frames) {
  const std::string whole = ExcessOf(frames, frames.size() + 24);
  for (const size_t piece : {1, 2, 7, 9, 10, 100}) EXPECT_EQ(ExcessOf(frames, piece), whole);
  return whole;
}

TEST(FrameWatch, TakesWhatHonestClientsSend) {
  std::string frames = Http2Frame(4, 0, 0, std::string(36, '\0'));
  for (uint64_t stream = 1; stream < 200; stream += 2) {
    frames += hostile::Http2Call(stream, "/a.B/C");
    frames += Http2Frame(0, 0, stream, std::string(500, 'd')) + Http2Frame(0, 1, stream, "");
    frames += Http2Frame(4, 1, 0, "") + Http2Frame(6, 1, 0, std::string(8, 'p')) +
              hostile::Http2Ping() + Http2Frame(8, 0, stream, std::string("\0\0\1\0", 4));
  }
  EXPECT_EQ(ExcessOf(frames), "");
}

// Nobody reads such frames one after the other for nothing: three connections of them kept gRPC's
// threads busy.
TEST(FrameWatch, BoundsAnswersToWhatWasNotSent) {
  const std::string settings = Http2Frame(4, 1, 0, "");
  const std::string ping = Http2Frame(6, 1, 0, std::string(8, 'p'));
  const std::string update = Http2Frame(8, 0, 0, std::string("\0\0\0\1", 4));
  EXPECT_EQ(ExcessOf(Many(105, settings)), "");
  EXPECT_EQ(ExcessOf(Many(106, settings)), "acknowledgements of settings that were not sent");
  EXPECT_EQ(ExcessOf(Many(105, ping)), "");
  EXPECT_EQ(ExcessOf(Many(106, ping)), "answers to pings that were not sent");
  EXPECT_EQ(ExcessOf(Many(5, update)), "");
  EXPECT_EQ(ExcessOf(Many(6, update)), "updates of windows");
  // Each call may have four, and each DATA frame that was sent one more for each four bytes.
  EXPECT_EQ(ExcessOf(hostile::Http2Call(1, "/a.B/C") + Many(9, update)), "");
  FrameWatch reader(kFew);
  reader.Sending(Http2Frame(4, 0, 0, "") + Many(10, Http2Frame(0, 0, 1, "data")));
  EXPECT_TRUE(reader.Take(kHttp2Preface));
  EXPECT_TRUE(reader.Take(Many(55, update)));
  EXPECT_FALSE(reader.Take(update));
}

TEST(FrameWatch, BoundsTheHeadersOfACall) {
  const std::string begun = Http2Frame(1, 0, 1, std::string(400, 'h'));
  const std::string more = Http2Frame(9, 0, 1, std::string(300, 'h'));
  EXPECT_EQ(ExcessOf(begun + more + more), "");
  EXPECT_EQ(ExcessOf(begun + more + more + Http2Frame(9, 4, 1, "")), "");
  EXPECT_EQ(ExcessOf(begun + more + more + Http2Frame(9, 4, 1, "h")), "headers of a call");
  EXPECT_EQ(ExcessOf(begun + Many(4, Http2Frame(9, 0, 1, ""))), "headers of a call");
  // A number of bytes that is only told counts as well.
  EXPECT_EQ(ExcessOf(Http2Frame(1, 4, 1, std::string(1001, 'h')).substr(0, 9)),
            "headers of a call");
  // Each call has its own.
  std::string calls;
  for (uint64_t stream = 1; stream < 20; stream += 2) {
    calls += Http2Frame(1, 0, stream, std::string(900, 'h')) + Http2Frame(9, 4, stream, "");
  }
  EXPECT_EQ(ExcessOf(calls), "");
}

TEST(FrameWatch, BoundsCallsUntilTheSettingsAreTakenIn) {
  const std::string settings_taken = Http2Frame(4, 1, 0, "");
  const std::string call = hostile::Http2Call(1, "/a.B/C");
  EXPECT_EQ(ExcessOf(Many(200, call)), "");
  EXPECT_EQ(ExcessOf(Many(201, call)), "calls of a client that takes in no settings");
  EXPECT_EQ(ExcessOf(Many(200, call) + settings_taken + Many(500, call)), "");
}

// gRPC 1.51 goes by no settings at all for a client that takes them in before they were sent: 1.4
// MB of calls made 1.8 GB.
TEST(FrameWatch, SettingsThatWereNotSentCannotBeTakenIn) {
  const std::string early = Http2Frame(4, 1, 0, "") + Many(201, hostile::Http2Call(1, "/a.B/C"));
  EXPECT_EQ(ExcessOf(early, 100, /*settings_sent=*/false),
            "calls of a client that takes in no settings");
  EXPECT_EQ(ExcessOf(early, 100), "");
}

TEST(FrameWatch, BoundsWhatBringsNothing) {
  EXPECT_EQ(ExcessOf(Many(5, hostile::Http2Cancel(1))), "");
  EXPECT_EQ(ExcessOf(Many(6, hostile::Http2Cancel(1))), "calls that are taken back");
  for (const std::string& frame :
       {Http2Frame(4, 0, 0, ""), Http2Frame(2, 0, 1, std::string(5, '\0')), Http2Frame(0, 0, 1, ""),
        Http2Frame(7, 0, 0, std::string(8, '\0')), Http2Frame(77, 255, 0, "unknown")}) {
    EXPECT_EQ(ExcessOf(Many(5, frame)), "");
    EXPECT_EQ(ExcessOf(Many(6, frame)), "frames that bring almost nothing");
  }
}

// The call that has a stream.
std::string Opened(uint64_t stream) { return hostile::Http2Call(stream, "/a.B/C"); }

// A message of gRPC of so many bytes.
std::string Message(size_t size) {
  std::string head(5, '\0');
  for (size_t i = 0; i < 4; ++i) head[4 - i] = static_cast<char>(size >> (8 * i));
  return head + std::string(size, 'm');
}

// In DATA frames of so many bytes on a stream, the last of which may be shorter.
std::string InFrames(uint64_t stream, const std::string& bytes, size_t each) {
  std::string frames;
  for (size_t at = 0; at < bytes.size(); at += each) {
    frames += Http2Frame(0, 0, stream, bytes.substr(at, each));
  }
  return frames;
}

TEST(FrameWatch, TakesMessagesOfAnySize) {
  for (const size_t size : {0, 1, 200, 300, 1000, 70'000}) {
    // A message a frame, many to a frame, and large ones in the pieces of gRPC.
    EXPECT_EQ(ExcessOf(Opened(1) + Many(20, InFrames(1, Message(size), 100'000)), 1000), "")
        << size;
    EXPECT_EQ(ExcessOf(Opened(1) + InFrames(1, Many(20, Message(size)), 16'384), 1000), "") << size;
    EXPECT_EQ(ExcessOf(Opened(1) + InFrames(1, Many(20, Message(size)), 256), 1000), "") << size;
  }
  // The head of each message in a frame of its own, and a window that ends in the middle.
  const std::string cut = Message(100);
  EXPECT_EQ(ExcessOf(Opened(1) + Many(20, Http2Frame(0, 0, 1, cut.substr(0, 5)) +
                                              Http2Frame(0, 0, 1, cut.substr(5, 20)) +
                                              Http2Frame(0, 0, 1, cut.substr(25))),
                     1000),
            "");
  // Two streams in turns.
  const std::string message = Message(3000);
  std::string frames;
  for (size_t at = 0; at < message.size(); at += 300) {
    frames +=
        Http2Frame(0, 0, 1, message.substr(at, 300)) + Http2Frame(0, 0, 3, message.substr(at, 300));
  }
  EXPECT_EQ(ExcessOf(Opened(1) + Opened(3) + Many(10, frames), 1000), "");
  // With padding: a byte that says how much, and so much.
  const std::string padded = "\x03" + Message(20) + "ppp";
  EXPECT_EQ(ExcessOf(Opened(1) + Many(20, Http2Frame(0, 8, 1, padded)), 11), "");
}

TEST(FrameWatch, BoundsScrapsOfMessages) {
  const std::string excess = "frames that bring almost nothing";
  EXPECT_EQ(ExcessOf(Opened(1) + InFrames(1, Message(8 * 255 - 5), 255)), "")
      << "two are free, one ends it";
  EXPECT_EQ(ExcessOf(Opened(1) + InFrames(1, Message(9 * 255 - 5), 255)), excess);
  EXPECT_EQ(ExcessOf(Opened(1) + InFrames(1, Message(1000), 1)), excess);
  std::string streams;
  for (uint64_t stream = 1; stream < 14; stream += 2) {
    streams += Opened(stream) + Many(3, Http2Frame(0, 0, stream, "x"));
  }
  EXPECT_EQ(ExcessOf(streams), excess) << "the third of each of seven streams";
  // What is taken back is forgotten.
  std::string taken_back;
  for (uint64_t stream = 1; stream < 10; stream += 2) {
    taken_back += Opened(stream) + InFrames(stream, Message(400).substr(0, 300), 150) +
                  hostile::Http2Cancel(stream);
  }
  EXPECT_EQ(ExcessOf(taken_back), "");
}

// What streams are may say only those that gRPC has open: others are passed over there.
TEST(FrameWatch, ScrapsHideBehindNoOtherStreams) {
  const std::string excess = "frames that bring almost nothing";
  for (const uint64_t first : {1, 2, 0x7f000001}) {
    std::string others;
    for (uint64_t i = 0; i < 1100; ++i) others += Http2Frame(0, 0, first + 2 * i, "x");
    EXPECT_EQ(ExcessOf(Opened(5) + others, 1000), "");
    EXPECT_EQ(ExcessOf(Opened(5) + others + InFrames(5, Message(1000), 1), 1000), excess);
    EXPECT_EQ(ExcessOf(Opened(5) + InFrames(5, Message(0), 1) + others, 1000), "");
  }
  // Nor may a call that gRPC does not take for one.
  std::string calls = Http2Frame(4, 1, 0, "") + Opened(1001);
  for (uint64_t stream = 1; stream < 1000; ++stream) {
    calls += Opened(stream) + Http2Frame(0, 0, stream, "x");
  }
  EXPECT_EQ(ExcessOf(calls, 1000), "");
  EXPECT_EQ(ExcessOf(calls + InFrames(1001, Message(1000), 1), 1000), excess);
}

// The watch of a connection on which so many small messages have come by a call.
FrameWatch WithMessages(int count) {
  FrameWatch watch(kFew);
  EXPECT_TRUE(watch.Take(std::string(kHttp2Preface) + Opened(1)));
  EXPECT_TRUE(watch.Take(Many(count, Http2Frame(0, 0, 1, Message(0)))));
  return watch;
}

TEST(FrameWatch, BoundsSmallFramesOfAStreamThatIsNotRead) {
  const std::string excess = "small frames on a stream that the server does not read at the moment";
  const std::string most = Many(100, Http2Frame(0, 0, 1, Message(0)));
  EXPECT_EQ(ExcessOf(Opened(1) + most), "");
  EXPECT_EQ(ExcessOf(Opened(1) + most + Http2Frame(0, 0, 1, Message(0))), excess);
  // Each small, however they part a message.
  EXPECT_EQ(ExcessOf(Opened(1) + Many(34, Http2Frame(0, 0, 1, std::string(1, '\0')) +
                                              Http2Frame(0, 0, 1, std::string(1, '\0')) +
                                              Http2Frame(0, 0, 1, std::string(3, '\0')))),
            excess);
  EXPECT_EQ(ExcessOf(Opened(1) + Many(500, Http2Frame(0, 0, 1, Message(251)))), "");
  // Each stream has its own.
  EXPECT_EQ(ExcessOf(Opened(1) + Opened(3) + most + Many(100, Http2Frame(0, 0, 3, Message(0)))),
            "");

  const std::string window("\0\0\1\0", 4);
  FrameWatch read = WithMessages(100);
  // In pieces of any size, and again what was not sent.
  const std::string sent = Http2Frame(4, 0, 0, "settings") + Http2Frame(8, 0, 1, window);
  for (size_t at = 0; at < sent.size(); ++at) {
    read.Sending(std::string_view(sent).substr(at, 3));
    read.NotSent(std::min<size_t>(2, sent.size() - at - 1));
  }
  EXPECT_TRUE(read.Take(most));
  EXPECT_FALSE(read.Take(most));
  FrameWatch unread = WithMessages(100);
  unread.Sending(Http2Frame(8, 0, 0, window) + Http2Frame(8, 0, 3, window) +
                 Http2Frame(0, 0, 1, "answer"));
  EXPECT_FALSE(unread.Take(most));
}

// gRPC passes over what comes of a call that the server has ended.
TEST(FrameWatch, CallsThatTheServerHasEndedCountForNothing) {
  for (const std::string& end :
       {Http2Frame(1, 5, 1, "trailers"), Http2Frame(0, 1, 1, "last"), hostile::Http2Cancel(1)}) {
    FrameWatch watch = WithMessages(100);
    watch.Sending(Http2Frame(4, 0, 0, "") + end);
    EXPECT_TRUE(watch.Take(Many(500, Http2Frame(0, 0, 1, Message(0)))));
  }
  // One after the other, none of which the client ends itself.
  FrameWatch watch(kFew);
  watch.Sending(Http2Frame(4, 0, 0, ""));
  EXPECT_TRUE(watch.Take(std::string(kHttp2Preface) + Http2Frame(4, 1, 0, "")));
  for (uint64_t stream = 1; stream < 5000; stream += 2) {
    ASSERT_TRUE(watch.Take(Opened(stream))) << stream;
    watch.Sending(Http2Frame(1, 5, stream, "trailers"));
  }
  // More than gRPC ever has open.
  bool taken = true;
  for (uint64_t stream = 5001; taken && stream < 9000; stream += 2)
    taken = watch.Take(Opened(stream));
  EXPECT_FALSE(taken);
}

// What the connection holds of gRPC's memory: calls while nothing is written, and messages.
TEST(FrameWatch, SaysWhatItHolds) {
  constexpr uint64_t kBlock = MessageFrames::kBlockBytes;
  FrameWatch watch(kFew);
  // Byte by byte: gRPC acts once a frame has come as a whole.
  const auto take = [&](const std::string& frames) {
    for (const char byte : frames) EXPECT_TRUE(watch.Take({&byte, 1}));
    return watch.held();
  };
  const std::string message = Message(30'000);
  EXPECT_EQ(take(std::string(kHttp2Preface) + Opened(1) + Opened(3)), (WireHeld{.calls = 2}));
  EXPECT_EQ(take(Http2Frame(0, 0, 1, message.substr(0, 10'005))),
            (WireHeld{.calls = 2, .bytes = 10'005}));
  // A small piece keeps the block that it came in.
  EXPECT_EQ(take(Http2Frame(0, 0, 3, message.substr(0, 505))),
            (WireHeld{.calls = 2, .bytes = 10'005 + kBlock}));
  EXPECT_EQ(take(Http2Frame(0, 0, 1, message.substr(10'005) + message.substr(0, 305))),
            (WireHeld{.calls = 2, .bytes = message.size() - 10'005 + 305 + kBlock}));
  // The client says no more by it, as far as the frame comes as a whole.
  const std::string last = Http2Frame(0, 1, 1, message.substr(305));
  const std::string end = last.substr(last.size() - 1);
  EXPECT_EQ(take(last.substr(0, last.size() - 1)).bytes, message.size() - 10'005 + 305 + kBlock);
  EXPECT_EQ(take(end), (WireHeld{.calls = 2, .bytes = kBlock}));
  EXPECT_EQ(take(Http2Frame(1, 5, 5, "headers")), (WireHeld{.calls = 3, .bytes = kBlock}));
  // gRPC writes what is ready, and keeps the calls until that has left.
  const std::string sent = Http2Frame(4, 0, 0, "settings") + Http2Frame(1, 5, 1, "trailers");
  watch.Sending(sent);
  watch.NotSent(10);
  EXPECT_EQ(watch.held().calls, 3U) << "not all of it has left";
  EXPECT_EQ(take(Opened(7)), (WireHeld{.calls = 4, .bytes = kBlock}));
  watch.Sending(sent.substr(sent.size() - 10));
  watch.NotSent(0);
  EXPECT_EQ(watch.held().calls, 4U) << "more of the same write may follow";
  watch.AllLeft();
  EXPECT_EQ(watch.held(), (WireHeld{.calls = 1, .bytes = kBlock}));
  watch.Sending(Http2Frame(8, 0, 0, "more"));
  watch.NotSent(0);
  watch.AllLeft();
  EXPECT_EQ(watch.held(), (WireHeld{.bytes = kBlock}));
  // The message was not whole: it stays until gRPC forgets the call.
  EXPECT_EQ(take(Http2Frame(0, 1, 3, "x")).bytes, 2 * kBlock);
  const std::string cancel = hostile::Http2Cancel(3);
  EXPECT_EQ(take(cancel.substr(0, cancel.size() - 1)).bytes, 2 * kBlock);
  EXPECT_EQ(take(cancel.substr(cancel.size() - 1)).bytes, 0U);
  // Those of a server of the fleet are its clients'.
  EXPECT_EQ(take(Http2Frame(1, 4, 9, "key:of the fleet")), WireHeld());
}

// gRPC skips frames that it does not know. One PUSH_PROMISE hid all later calls from the watch.
TEST(FrameWatch, NoOtherFrameHidesCalls) {
  for (uint64_t type = 0; type <= 255; ++type) {
    if (type == 1) continue;
    FrameWatch watch(kFew);
    EXPECT_TRUE(watch.Take(std::string(kHttp2Preface) + Http2Frame(type, 4, 0x7fffffff, "1234") +
                           Opened(1) + Http2Frame(0, 0, 1, Message(1000).substr(0, 500))));
    EXPECT_EQ(watch.held(), (WireHeld{.calls = 1, .bytes = MessageFrames::kBlockBytes})) << type;
  }
}

TEST(FrameWatch, BoundsFramesOfCallsThatAreOver) {
  const std::string stray = Http2Frame(0, 0, 3, std::string(300, 'x'));
  EXPECT_EQ(ExcessOf(Opened(1) + Many(5000, stray), 100'000), "");
  EXPECT_EQ(ExcessOf(Opened(1) + Many(5001, stray), 100'000), "frames of calls that are over");
}

// One connection of another server has the calls of all its clients.
TEST(FrameWatch, AServerOfTheFleetMayTakeBackAnyNumberOfCalls) {
  std::string taken_back;
  for (uint64_t stream = 3; stream < 900; stream += 2) {
    taken_back += hostile::Http2Call(stream, "/a.B/C") + hostile::Http2Cancel(stream);
  }
  const auto shown = [&](const std::string& headers) {
    return ExcessOf(Http2Frame(1, 4, 1, headers) + taken_back + Many(10, Http2Frame(0, 0, 1, "")));
  };
  EXPECT_EQ(shown("key:of the fleet"), "");
  EXPECT_EQ(shown("a key:key:of nobodykey:of the fleet, and more"), "");
  EXPECT_EQ(
      ExcessOf(Http2Frame(1, 0, 1, "key:of ") + Http2Frame(9, 4, 1, "the fleet") + taken_back), "");
  for (const char* headers : {"", "key:of nobody at all", "of the fleet", "key:of the fl"}) {
    EXPECT_EQ(shown(headers), "calls that are taken back") << headers;
  }
  // The end of one call and the beginning of another show nothing.
  EXPECT_EQ(
      ExcessOf(Http2Frame(1, 4, 1, "key:of ") + Http2Frame(1, 4, 3, "the fleet") + taken_back),
      "calls that are taken back");
  EXPECT_EQ(ExcessOf(Http2Frame(1, 4, 1, "key:of the fleet") +
                     Http2Frame(1, 4, 3, std::string(1001, 'h'))),
            "headers of a call");
}

TEST(FrameWatch, LimitsFollowThoseOfTheServer) {
  const FrameLimits usual = FrameLimitsFor(8 << 10, 1000);
  EXPECT_EQ(usual.block_bytes, 32U << 10);
  EXPECT_EQ(FrameLimitsFor(1 << 10, 1000).block_bytes, 32U << 10);
  EXPECT_EQ(usual.resets, 2000U);
  EXPECT_EQ(usual.early_calls, 1000U);
  EXPECT_EQ(FrameLimitsFor(1 << 20, 1).block_bytes, 4U << 20);
  EXPECT_EQ(FrameLimitsFor(1 << 20, 1).resets, 1000U);
  EXPECT_EQ(FrameLimitsFor(1 << 20, 1).early_calls, 1000U);
}

}  // namespace
}  // namespace freshet
