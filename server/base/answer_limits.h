// The caps of what is answered: of one message, and of how slowly a client may take it.
#ifndef FRESHET_SERVER_BASE_ANSWER_LIMITS_H_
#define FRESHET_SERVER_BASE_ANSWER_LIMITS_H_

#include <cstddef>

namespace freshet::limits {

// Bytes of one answer. A larger one is refused. Messages of clients may have as many.
inline constexpr size_t kMaxAnswerBytes = size_t{16} << 20;
// Queues of one answer of ListQueues, and bytes of their keys: half of what clients of gRPC take
// unless they are told otherwise.
inline constexpr size_t kMaxListedQueues = 10'000;
inline constexpr size_t kMaxListedQueueBytes = size_t{2} << 20;
// URLs that are given out to one call of GetURLs at a time: no more once they have so many bytes.
inline constexpr size_t kMaxBytesPerPull = size_t{64} << 10;
// A client that takes its answer more slowly than this, in the long run, is cut off.
inline constexpr double kLeastBytesPerSecond = 16'384;
// An answer of so many bytes may leave whenever its client takes it.
inline constexpr size_t kMaxUntimedAnswerBytes = size_t{4} << 10;

}  // namespace freshet::limits

#endif  // FRESHET_SERVER_BASE_ANSWER_LIMITS_H_
