// Caps of answers: the size of one message, and how slowly a client may take it.
#ifndef FRESHET_SERVER_BASE_ANSWER_LIMITS_H_
#define FRESHET_SERVER_BASE_ANSWER_LIMITS_H_

#include <cstddef>

namespace freshet::limits {

// Bytes of one answer. A larger one is refused. Clients' messages may be as large.
inline constexpr size_t kMaxAnswerBytes = size_t{16} << 20;
// Queues in one answer of ListQueues, and bytes of their keys: half of what gRPC clients take by
// default.
inline constexpr size_t kMaxListedQueues = 10'000;
inline constexpr size_t kMaxListedQueueBytes = size_t{2} << 20;
// Bytes of URLs after which one call of GetURLs is given no more at a time.
inline constexpr size_t kMaxBytesPerPull = size_t{64} << 10;
// A client that takes its answer more slowly than this, in the long run, is cut off.
inline constexpr double kLeastBytesPerSecond = 16'384;
// An answer up to this size may take any time to leave.
inline constexpr size_t kMaxUntimedAnswerBytes = size_t{4} << 10;

}  // namespace freshet::limits

#endif  // FRESHET_SERVER_BASE_ANSWER_LIMITS_H_
