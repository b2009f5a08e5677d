// Makes a damaged store usable. If a row exists twice, repair uses the readable copy. It rebuilds
// derived rows and reports losses.
//
//   lost                      becomes
//   a row of pages            the page is lost
//   hosts                     the host has the default politeness
//   leases                    the page is free again; a result of that lease is an observation
//   sources                   a name that was lost or exists twice stays reserved as lost-N
//   meta                      settings as configured; a crawl id has no settings; fingerprints get
//                             a new secret
//   a page stored twice       the one with the lower number is kept
//   the end of the log        the last acknowledged writes, as far as the log is unreadable
//
// What epochs have learned is never kept: the server learns it again. The readable rows of the
// crawl frontier are copied unchanged, and RepairFrontier (storage/frontier_verify.h) corrects
// them.
#ifndef FRESHET_STORAGE_REPAIR_H_
#define FRESHET_STORAGE_REPAIR_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/base/status.h"
#include "storage/options.h"
#include "storage/store.h"

namespace freshet::storage {

// Damage to tables, the files that hold most rows. If a table cannot be read at all, it is not
// known which pages it had, or how many. Value type, thread-compatible.
struct TableDamage {
  uint64_t tables = 0;      // existing and missing
  uint64_t unreadable = 0;  // tables that cannot be read at all, including missing ones
  uint64_t unreadable_bytes = 0;
  uint64_t damaged = 0;  // tables that are partly unreadable
  uint64_t damaged_bytes = 0;
  uint64_t damaged_rows = 0;  // rows of damaged tables, including readable ones
  // The list of expected tables is known. If it is not known, missing tables are not counted.
  bool complete = true;
};

// Value type, thread-compatible.
struct RepairReport {
  bool intact = false;  // nothing was wrong, nothing was done
  // Contents of the store after the repair.
  uint64_t pages = 0;
  uint64_t hosts = 0;
  uint64_t leases = 0;
  // Losses.
  uint64_t lost_pages = 0;  // unreadable rows of pages, and pages dropped as duplicates
  uint64_t lost_leases = 0;
  uint64_t lost_rows = 0;  // other rows that existed but could not be read
  // Rows of these tables that are neither saved nor counted above are lost without a trace.
  TableDamage tables;
  std::vector<std::string> notes;  // findings, one line each, at most kMaxNotes
  std::string original;            // directory with the damaged files
  static constexpr size_t kMaxNotes = 100;
};

// Checks that need knowledge from outside storage/.
struct RepairChecks {
  // Finds problems of a store, before and after the repair. A caller that can find more problems
  // than Store::Verify passes its own function, so that these are repaired too.
  std::function<StatusOr<VerifyReport>(const Store& store)> verify = [](const Store& store) {
    return store.Verify();
  };
  // Returns true if a policy of this name exists. If none exists, the repair drops the stored
  // policy name.
  std::function<bool(const std::string& policy)> knows_policy = [](const std::string&) {
    return true;
  };
};

// Repairs the database in `dir`, which no process has open. Works on a copy below `dir`. The tables
// of the copy are links, so a repair needs space only for new tables. Once the new store is
// complete and verified, moves the old files to `dir`/damaged-N and the new ones into their place.
// Never deletes or changes the original.
//
// FailedPrecondition: in use, of a format that this release does not read, or the store of a server
// of a cluster. NotFound: no database, not even a damaged one. Any other status: not repaired, all
// files are where they were. Thread-safe.
[[nodiscard]] StatusOr<RepairReport> Repair(const std::string& dir, const StoreOptions& options,
                                            const RepairChecks& checks = {});

}  // namespace freshet::storage

#endif  // FRESHET_STORAGE_REPAIR_H_
