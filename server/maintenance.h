// What freshetd does with a store that it does not serve: verify, repair, restore. Each says what
// it did on standard output and why not on standard error, and gives the program's exit code: 0 the
// store is whole and usable, 1 it is not. The store must not be in use. All write files
// of the store: started as root they become the user who owns the data directory, or the one above
// where it is missing, so that the server can read those files.
#ifndef FRESHET_SERVER_MAINTENANCE_H_
#define FRESHET_SERVER_MAINTENANCE_H_

#include <string>

namespace freshet {

struct ServerConfig;

// Reads everything and compares; one line for each problem.
[[nodiscard]] int RunVerify(const ServerConfig& config);

// Makes a damaged store usable and says what could not be saved (storage/repair.h). 0 also where
// something was lost.
[[nodiscard]] int RunRepair(const ServerConfig& config);

// Makes the data directory of a checkpoint (storage/restore.h), if `leave_cluster` says so of a
// single server, of what is a cluster's.
[[nodiscard]] int RunRestore(const ServerConfig& config, const std::string& checkpoint,
                             bool leave_cluster);

}  // namespace freshet

#endif  // FRESHET_SERVER_MAINTENANCE_H_
