// Recomputes a server's in-memory state from the stored records, and compares the two.
#ifndef FRESHET_SERVER_VERIFY_H_
#define FRESHET_SERVER_VERIFY_H_

#include "core/base/status.h"
#include "storage/store.h"

namespace freshet {

struct ServerConfig;

// Reads the whole store twice: first as a start does, into one shard that owns every slot, and then
// page by page with URL and detail. Adds these checks to the report of Store::Verify:
//
// - the shard has exactly the stored pages, under their numbers, and no URL twice;
// - the counts of pages, hosts and leases, and the total importance, match the records;
// - every host has its stored politeness, and as many fetches in flight as it has leases;
// - signals name only registered sources, and the stored policy is known;
// - every lease is open in the shard as it is stored, and no page has more than one.
//
// Not OK: verification itself is not possible. Uses as much memory as serving. Thread-safe.
[[nodiscard]] StatusOr<VerifyReport> VerifyStore(const Store& store, const ServerConfig& config);

}  // namespace freshet

#endif  // FRESHET_SERVER_VERIFY_H_
