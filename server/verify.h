// Recomputes from the page records what a server keeps in memory, and compares.
#ifndef FRESHET_SERVER_VERIFY_H_
#define FRESHET_SERVER_VERIFY_H_

#include "core/base/status.h"
#include "storage/store.h"

namespace freshet {

struct ServerConfig;

// Reads the whole store twice: once as a start-up does, into a shard that owns every slot, once
// page by page with URL and detail. Adds to what Store::Verify finds, in the same report:
//
// - every page is in the shard, under its number, and no other is: index membership, duplicates;
// - counts of pages, hosts and leases, and the summed importance, are those of the records;
// - every host lists exactly its pages, and has as many fetches in flight as it has leases;
// - signals name only sources that are registered, and the policy that was set is known;
// - every lease is open in the shard as it is stored, one a page at most.
//
// Not OK only where verification itself is not possible. Memory: as much as serving. Thread-safe.
[[nodiscard]] StatusOr<VerifyReport> VerifyStore(const Store& store, const ServerConfig& config);

}  // namespace freshet

#endif  // FRESHET_SERVER_VERIFY_H_
