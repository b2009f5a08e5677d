// Tests frames in pieces of any size, and the limits of each kind of frame.
#include "server/ports/frame_watch.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

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

// Returns the limit that the frames exceed, as FrameWatch::excess names it. The watch takes the
// preface and the frames in pieces of `piece` bytes.
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
  // A watch that has refused once refuses for ever.
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

// gRPC spends time even on acknowledgements of frames that it never sent. Previously, three
// connections that sent these acknowledgements kept gRPC's threads busy.
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
  // Each call allows four updates. Each DATA frame that the server sends allows four, too, and one
  // more for every four of its bytes.
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
  // The length in the header of a frame counts before the frame's bytes arrive.
  EXPECT_EQ(ExcessOf(Http2Frame(1, 4, 1, std::string(1001, 'h')).substr(0, 9)),
            "headers of a call");
  // The limit applies to each call separately.
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

// If a client acknowledges settings before they are sent, gRPC 1.51 ignores the settings.
// Previously, 1.4 MB of calls used 1.8 GB of memory in this way.
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

// Returns a HEADERS frame that opens a call on the stream.
std::string Opened(uint64_t stream) { return hostile::Http2Call(stream, "/a.B/C"); }

// Returns a gRPC message of `size` bytes.
std::string Message(size_t size) {
  std::string head(5, '\0');
  for (size_t i = 0; i < 4; ++i) head[4 - i] = static_cast<char>(size >> (8 * i));
  return head + std::string(size, 'm');
}

// Returns the bytes in DATA frames of `each` bytes. The last one can be shorter.
std::string InFrames(uint64_t stream, const std::string& bytes, size_t each) {
  std::string frames;
  for (size_t at = 0; at < bytes.size(); at += each) {
    frames += Http2Frame(0, 0, stream, bytes.substr(at, each));
  }
  return frames;
}

TEST(FrameWatch, TakesMessagesOfAnySize) {
  for (const size_t size : {0, 1, 200, 300, 1000, 70'000}) {
    // Each message is one frame. Then the messages are split into frames of 16 KiB, and then into
    // the smallest frames that do not count as scraps.
    EXPECT_EQ(ExcessOf(Opened(1) + Many(20, InFrames(1, Message(size), 100'000)), 1000), "")
        << size;
    EXPECT_EQ(ExcessOf(Opened(1) + InFrames(1, Many(20, Message(size)), 16'384), 1000), "") << size;
    EXPECT_EQ(ExcessOf(Opened(1) + InFrames(1, Many(20, Message(size)), 256), 1000), "") << size;
  }
  // The prefix of each message has a separate frame. The rest of the message is split in two, as if
  // the window had ended there.
  const std::string cut = Message(100);
  EXPECT_EQ(ExcessOf(Opened(1) + Many(20, Http2Frame(0, 0, 1, cut.substr(0, 5)) +
                                              Http2Frame(0, 0, 1, cut.substr(5, 20)) +
                                              Http2Frame(0, 0, 1, cut.substr(25))),
                     1000),
            "");
  // Sends messages on two streams in turn.
  const std::string message = Message(3000);
  std::string frames;
  for (size_t at = 0; at < message.size(); at += 300) {
    frames +=
        Http2Frame(0, 0, 1, message.substr(at, 300)) + Http2Frame(0, 0, 3, message.substr(at, 300));
  }
  EXPECT_EQ(ExcessOf(Opened(1) + Opened(3) + Many(10, frames), 1000), "");
  // A frame with padding holds the length of the padding, the message, and the padding.
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
  // Cancelled streams are forgotten.
  std::string taken_back;
  for (uint64_t stream = 1; stream < 10; stream += 2) {
    taken_back += Opened(stream) + InFrames(stream, Message(400).substr(0, 300), 150) +
                  hostile::Http2Cancel(stream);
  }
  EXPECT_EQ(ExcessOf(taken_back), "");
}

// gRPC ignores frames of streams that are not open, so these frames must not hide others.
TEST(FrameWatch, ScrapsHideBehindNoOtherStreams) {
  const std::string excess = "frames that bring almost nothing";
  for (const uint64_t first : {1, 2, 0x7f000001}) {
    std::string others;
    for (uint64_t i = 0; i < 1100; ++i) others += Http2Frame(0, 0, first + 2 * i, "x");
    EXPECT_EQ(ExcessOf(Opened(5) + others, 1000), "");
    EXPECT_EQ(ExcessOf(Opened(5) + others + InFrames(5, Message(1000), 1), 1000), excess);
    EXPECT_EQ(ExcessOf(Opened(5) + InFrames(5, Message(0), 1) + others, 1000), "");
  }
  // Frames of a call that gRPC refuses do not hide small pieces either.
  std::string calls = Http2Frame(4, 1, 0, "") + Opened(1001);
  for (uint64_t stream = 1; stream < 1000; ++stream) {
    calls += Opened(stream) + Http2Frame(0, 0, stream, "x");
  }
  EXPECT_EQ(ExcessOf(calls, 1000), "");
  EXPECT_EQ(ExcessOf(calls + InFrames(1001, Message(1000), 1), 1000), excess);
}

// Returns a watch that has seen `count` small messages on one call.
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
  // Small frames count even if they are parts of one message.
  EXPECT_EQ(ExcessOf(Opened(1) + Many(34, Http2Frame(0, 0, 1, std::string(1, '\0')) +
                                              Http2Frame(0, 0, 1, std::string(1, '\0')) +
                                              Http2Frame(0, 0, 1, std::string(3, '\0')))),
            excess);
  EXPECT_EQ(ExcessOf(Opened(1) + Many(500, Http2Frame(0, 0, 1, Message(251)))), "");
  // The limit of small frames applies to each stream separately.
  EXPECT_EQ(ExcessOf(Opened(1) + Opened(3) + most + Many(100, Http2Frame(0, 0, 3, Message(0)))),
            "");

  const std::string window("\0\0\1\0", 4);
  FrameWatch read = WithMessages(100);
  // Sends in pieces of any size, and repeats unsent bytes.
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

// gRPC ignores frames of a call that the server has ended.
TEST(FrameWatch, CallsThatTheServerHasEndedCountForNothing) {
  for (const std::string& end :
       {Http2Frame(1, 5, 1, "trailers"), Http2Frame(0, 1, 1, "last"), hostile::Http2Cancel(1)}) {
    FrameWatch watch = WithMessages(100);
    watch.Sending(Http2Frame(4, 0, 0, "") + end);
    EXPECT_TRUE(watch.Take(Many(500, Http2Frame(0, 0, 1, Message(0)))));
  }
  // The server ends each of these calls; the client ends none.
  FrameWatch watch(kFew);
  watch.Sending(Http2Frame(4, 0, 0, ""));
  EXPECT_TRUE(watch.Take(std::string(kHttp2Preface) + Http2Frame(4, 1, 0, "")));
  for (uint64_t stream = 1; stream < 5000; stream += 2) {
    ASSERT_TRUE(watch.Take(Opened(stream))) << stream;
    watch.Sending(Http2Frame(1, 5, stream, "trailers"));
  }
  // These are more calls than gRPC ever has open.
  bool taken = true;
  for (uint64_t stream = 5001; taken && stream < 9000; stream += 2)
    taken = watch.Take(Opened(stream));
  EXPECT_FALSE(taken);
}

// gRPC reads the bytes of a connection into consecutive blocks. Returns the total size of the
// blocks in which these parts of the bytes lie. A part is given by its end and its size.
uint64_t BytesOf(const std::vector<std::pair<uint64_t, uint64_t>>& parts) {
  std::set<uint64_t> blocks;
  for (const auto& [end, size] : parts) {
    for (uint64_t at = end - size; at < end; ++at) blocks.insert(at / MessageFrames::kBlockBytes);
  }
  return blocks.size() * MessageFrames::kBlockBytes;
}

// A connection's share of gRPC's memory consists of the calls to which nothing was written, and of
// the blocks that its messages keep.
TEST(FrameWatch, SaysWhatItHolds) {
  FrameWatch watch(kFew);
  uint64_t taken = 0;
  // The bytes are fed one by one, because gRPC acts only when a frame has arrived as a whole.
  const auto take = [&](const std::string& frames) {
    for (const char byte : frames) EXPECT_TRUE(watch.Take({&byte, 1}));
    taken += frames.size();
    return watch.held();
  };
  const std::string message = Message(30'000);
  EXPECT_EQ(take(std::string(kHttp2Preface) + Opened(1) + Opened(3)), (WireHeld{.calls = 2}));
  take(Http2Frame(0, 0, 1, message.substr(0, 10'005)));
  EXPECT_EQ(watch.held(), (WireHeld{.calls = 2, .bytes = BytesOf({{taken, 10'005}})}));
  // A small piece keeps only the block in which it lies.
  take(Http2Frame(0, 0, 3, message.substr(0, 505)));
  const std::pair<uint64_t, uint64_t> third = {taken, 505};
  EXPECT_EQ(watch.held().bytes, BytesOf({{taken, 10'005 + 9 + 505}}));
  // The first message is now complete, but the server has not read it.
  take(Http2Frame(0, 0, 1, message.substr(10'005) + message.substr(0, 305)));
  const uint64_t all = BytesOf({{taken, taken}});
  EXPECT_EQ(watch.held().bytes, all);
  // This frame ends the call's messages. It counts only once all of its bytes have arrived.
  const std::string last = Http2Frame(0, 1, 1, message.substr(305));
  EXPECT_EQ(take(last.substr(0, last.size() - 1)).bytes, all);
  take(last.substr(last.size() - 1));
  EXPECT_EQ(watch.held().bytes, BytesOf({{taken, taken}}));
  EXPECT_EQ(take(Http2Frame(1, 5, 5, "headers")).calls, 3U);
  const uint64_t block = BytesOf({third});
  // gRPC writes what is ready, and keeps the calls until these bytes have left.
  const std::string sent = Http2Frame(4, 0, 0, "settings") + Http2Frame(1, 5, 1, "trailers");
  watch.Sending(sent);
  watch.NotSent(10);
  EXPECT_EQ(watch.held().calls, 3U) << "not all of it has left";
  EXPECT_EQ(take(Opened(7)), (WireHeld{.calls = 4, .bytes = block}));
  watch.Sending(sent.substr(sent.size() - 10));
  watch.NotSent(0);
  EXPECT_EQ(watch.held().calls, 4U) << "more of the same write may follow";
  watch.AllLeft();
  EXPECT_EQ(watch.held(), (WireHeld{.calls = 1, .bytes = block}));
  watch.Sending(Http2Frame(8, 0, 0, "more"));
  watch.NotSent(0);
  watch.AllLeft();
  EXPECT_EQ(watch.held(), (WireHeld{.bytes = block}));
  // The message was not complete, so it stays until gRPC forgets the call.
  take(Http2Frame(0, 1, 3, "x"));
  const uint64_t both = BytesOf({third, {taken, 1}});
  EXPECT_EQ(watch.held().bytes, both);
  const std::string cancel = hostile::Http2Cancel(3);
  EXPECT_EQ(take(cancel.substr(0, cancel.size() - 1)).bytes, both);
  EXPECT_EQ(take(cancel.substr(cancel.size() - 1)).bytes, 0U);
  // Calls from another server of the fleet do not count against the network of that server.
  EXPECT_EQ(take(Http2Frame(1, 4, 9, "key:of the fleet")), WireHeld());
}

// Previously, 2,047 unread messages of five bytes used 16 MB of memory, none of which was counted.
TEST(FrameWatch, CountsUnreadMessagesByTheBlocksThatTheyKeep) {
  constexpr uint64_t kBlock = MessageFrames::kBlockBytes;
  FrameWatch watch(kFew);
  const auto take = [&](const std::string& frames) {
    EXPECT_TRUE(watch.Take(frames));
    return watch.held().bytes;
  };
  // The bytes are fed in pieces, because a write can be interrupted.
  const auto open_window = [&](uint64_t stream, uint32_t bytes) {
    std::string size;
    for (const int shift : {24, 16, 8, 0}) size.push_back(static_cast<char>(bytes >> shift));
    const std::string update = Http2Frame(8, 0, stream, size);
    watch.Sending(update.substr(0, 11));
    watch.Sending(update.substr(11));
    return watch.held().bytes;
  };
  take(std::string(kHttp2Preface) + Opened(1) + Opened(3));
  const std::string small = Http2Frame(0, 0, 1, Message(0));
  EXPECT_EQ(take(small), kBlock);
  for (int i = 0; i < 50; ++i) {
    take(Http2Frame(0, 0, 3, Message(10'000)));
    open_window(3, 10'005);
    take(small);
  }
  EXPECT_EQ(watch.held().bytes, 51 * kBlock) << "the messages of the other stream were read";
  // The last unread message of a block keeps the block, even if all messages before it are read.
  EXPECT_EQ(take(small), 51 * kBlock);
  EXPECT_EQ(open_window(1, 5), 50 * kBlock);
  EXPECT_EQ(open_window(1, 5 * 48 + 3), 2 * kBlock) << "half a message is none";
  EXPECT_EQ(open_window(1, 2), kBlock);
  EXPECT_EQ(open_window(1, 5), kBlock);
  EXPECT_EQ(open_window(1, 5), 0U);
  // Messages next to each other are in one block, or in two.
  EXPECT_LE(take(Many(40, small)), 2 * kBlock);
  // The server waits for a large message, so it opens the window before the message arrives.
  EXPECT_EQ(open_window(1, 50'000), 0U);
  EXPECT_EQ(take(Http2Frame(0, 0, 1, Message(10'000))), 0U);
  // The first call ends after its only message, which the server then reads at once. The second
  // call can send more messages.
  EXPECT_EQ(take(Opened(5) + Http2Frame(0, 1, 5, Message(1000))), 0U);
  EXPECT_GT(take(Opened(7) + Http2Frame(0, 0, 7, Message(1000))), 0U);
  EXPECT_EQ(take(Http2Frame(0, 1, 7, "")), 0U);
}

// gRPC skips frames that it does not know. Previously, one PUSH_PROMISE hid all later calls from
// the watch.
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

// One connection of another server carries the calls of all clients of that server.
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
  // The key must not be split over two calls.
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
