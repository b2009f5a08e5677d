// Messages of the crawl-frontier API that come and go by the million, read and written without the
// generated classes: metadata stays the bytes that it comes as, and nothing is made of what a
// message pretends to hold (docs/decisions/0016-crawl-frontier.md).
//
// Repeated and split fields mean what protobuf lets them mean: the last text wins, metadata adds
// up. All functions are thread-safe.
#ifndef FRESHET_SERVER_API_FRONTIER_WIRE_H_
#define FRESHET_SERVER_API_FRONTIER_WIRE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/limits.h"
#include "core/base/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/frontier/frontier_state.h"

namespace freshet {

// A URL as it came. Its texts are views of the message. Value type, thread-compatible.
struct FrontierUrl {
  std::string_view url;
  std::string_view key;
  std::string_view crawl;
  std::string metadata;  // fields as they came
  bool valid = true;     // all texts are UTF-8, those of the metadata included
};

struct FrontierItemMessage {
  FrontierUrl info;
  bool given = false;  // discovered or known
  bool known = false;
  uint64_t due = 0;
  std::string_view id;
};

struct FrontierBatchMessage {
  std::string_view id;
  std::vector<FrontierUrl> items;  // the first limits::kMaxUrlsPerBatch
  size_t count = 0;                // of all
};

// False: these bytes are no URLItem, or DiscoveredBatch. What was read before that is set.
[[nodiscard]] bool DecodeFrontierItem(std::string_view bytes, FrontierItemMessage* item);
[[nodiscard]] bool DecodeFrontierBatch(std::string_view bytes, FrontierBatchMessage* batch);

// What is put for a URL that came: crawl id and key are filled in. InvalidArgument: it is none that
// can be kept, for this reason.
[[nodiscard]] StatusOr<FrontierPut> MakeFrontierPut(FrontierUrl url);

// What comes back of an id: no more than a URL may have.
[[nodiscard]] inline std::string_view FrontierAckId(std::string_view id) {
  return id.substr(0, limits::kMaxUrlBytes);
}
// AckMessage and BatchAck. An id that is no UTF-8 comes back with '?' for what is not.
[[nodiscard]] grpc::ByteBuffer EncodeFrontierAck(std::string_view id, FrontierOutcome outcome);
[[nodiscard]] grpc::ByteBuffer EncodeFrontierBatchAck(std::string_view id,
                                                      const std::vector<FrontierOutcome>& outcomes);
// URLInfo.
[[nodiscard]] grpc::ByteBuffer EncodeFrontierUrl(const FrontierServed& served);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FRONTIER_WIRE_H_
