// Limits on answers: the size of one message, and how slowly a client may read it.
#ifndef FRESHET_SERVER_BASE_ANSWER_LIMITS_H_
#define FRESHET_SERVER_BASE_ANSWER_LIMITS_H_

#include <cstddef>

namespace freshet::limits {

// Bytes of one answer. A call with a larger answer fails. The limit for clients' messages is the
// same.
inline constexpr size_t kMaxAnswerBytes = size_t{16} << 20;
// The maximum number of queues in one answer of ListQueues, and the maximum size of their keys in
// bytes. By default, gRPC clients accept messages of twice this size.
inline constexpr size_t kMaxListedQueues = 10'000;
inline constexpr size_t kMaxListedQueueBytes = size_t{2} << 20;
// The maximum size in bytes of the URLs in one batch for a GetURLs call. A batch that consists of a
// single URL may be larger.
inline constexpr size_t kMaxBytesPerPull = size_t{64} << 10;
// A client that reads its answers more slowly than this in the long run is disconnected.
inline constexpr double kLeastBytesPerSecond = 16'384;
// There is no time limit for sending an answer of at most this size.
inline constexpr size_t kMaxUntimedAnswerBytes = size_t{4} << 10;

}  // namespace freshet::limits

#endif  // FRESHET_SERVER_BASE_ANSWER_LIMITS_H_
