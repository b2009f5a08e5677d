// Reads and writes the most frequent messages of the crawl-frontier API without the generated
// classes. Metadata stays encoded. No memory is allocated for data that a message only claims to
// have (docs/decisions/0016-crawl-frontier.md).
//
// Fields that occur several times are merged as in protobuf: the last text counts, and all metadata
// is kept. All functions are thread-safe.
#ifndef FRESHET_SERVER_API_FRONTIER_WIRE_H_
#define FRESHET_SERVER_API_FRONTIER_WIRE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/base/limits.h"
#include "core/base/status.h"
#include "grpcpp/support/byte_buffer.h"
#include "server/frontier/frontier_urls.h"

namespace freshet {

// A received URL. Its texts are views of the message. Value type, thread-compatible.
struct FrontierUrl {
  std::string_view url;
  std::string_view key;
  std::string_view crawl;
  std::string metadata;  // encoded fields as received
  bool valid = true;     // all texts are UTF-8, also in the metadata
};

// Searches the metadata of an item for the keys of a list, and keeps the value of the first key of
// the list that occurs. Upper and lower case do not matter, because some client releases write all
// keys in lower case. An entry with the exact spelling of a key is preferred. Value type,
// thread-compatible.
class FirstMetadata {
 public:
  // `keys` outlive this.
  explicit FirstMetadata(const std::vector<std::string>& keys) : keys_(&keys) {}
  // Considers an entry. The texts must stay valid as long as this object is used.
  void Offer(std::string_view key, std::string_view value);
  // Forgets all entries.
  void Clear() { *this = FirstMetadata(*keys_); }
  // The value that was found; empty = no entry has one of the keys.
  [[nodiscard]] std::string_view value() const { return value_; }

 private:
  const std::vector<std::string>* keys_;
  // The rank of the best entry so far: the index of its key, whether its spelling differs, and its
  // spelling. The smallest rank wins.
  std::optional<std::tuple<size_t, bool, std::string_view>> place_;
  std::string_view value_;
};

// The metadata keys that hold the result of a fetch. They outlive all messages.
struct FrontierFetchKeys {
  const std::vector<std::string>& status;
  const std::vector<std::string>& digest;
};

struct FrontierItemMessage {
  explicit FrontierItemMessage(const FrontierFetchKeys& keys)
      : status(keys.status), digest(keys.digest) {}

  FrontierUrl info;
  FirstMetadata status;  // of a known item
  FirstMetadata digest;
  bool given = false;  // the message has an item, discovered or known
  bool known = false;
  uint64_t due = 0;
  std::string_view id;
};

struct FrontierBatchMessage {
  std::string_view id;
  std::vector<FrontierUrl> items;  // the first limits::kMaxUrlsPerBatch
  size_t count = 0;                // number of all items
};

// These decode URLItem and DiscoveredBatch. False = the bytes are invalid; the fields before the
// fault are set.
[[nodiscard]] bool DecodeFrontierItem(std::string_view bytes, FrontierItemMessage* item);
[[nodiscard]] bool DecodeFrontierBatch(std::string_view bytes, FrontierBatchMessage* batch);

// The result of a fetch that a known item reports.
[[nodiscard]] FrontierFetch FetchOf(const FrontierItemMessage& item);

// Makes a FrontierPut from a received URL, and fills in crawl id and key. InvalidArgument: the URL
// cannot be kept.
[[nodiscard]] StatusOr<FrontierPut> MakeFrontierPut(FrontierUrl url);

// The part of an id that is sent back: at most limits::kMaxUrlBytes.
[[nodiscard]] inline std::string_view FrontierAckId(std::string_view id) {
  return id.substr(0, limits::kMaxUrlBytes);
}
// These encode AckMessage and BatchAck. Bytes of the id that are not UTF-8 become '?'.
[[nodiscard]] grpc::ByteBuffer EncodeFrontierAck(std::string_view id, FrontierOutcome outcome);
[[nodiscard]] grpc::ByteBuffer EncodeFrontierBatchAck(std::string_view id,
                                                      const std::vector<FrontierOutcome>& outcomes);
// Encodes URLInfo.
[[nodiscard]] grpc::ByteBuffer EncodeFrontierUrl(const FrontierServed& served);

}  // namespace freshet

#endif  // FRESHET_SERVER_API_FRONTIER_WIRE_H_
