// The maintenance of a store that is not in use: verify, repair, restore. Each prints its results
// on standard output and errors on standard error. Each returns the program's exit code: 0 = the
// store is whole and usable, 1 = it is not. All write files of the store. Started as root they
// become the owner of the data directory, or of the one above if it is missing. So the server can
// read those files.
#ifndef FRESHET_SERVER_MAINTENANCE_H_
#define FRESHET_SERVER_MAINTENANCE_H_

#include <string>

namespace freshet {

struct ServerConfig;

// Reads and compares everything; prints one line for each problem.
[[nodiscard]] int RunVerify(const ServerConfig& config);

// Makes a damaged store usable and prints what is lost (storage/repair.h). Returns 0 even then.
[[nodiscard]] int RunRepair(const ServerConfig& config);

// Makes the data directory of a checkpoint (storage/restore.h). `leave_cluster`: makes a single
// server's out of a cluster's.
[[nodiscard]] int RunRestore(const ServerConfig& config, const std::string& checkpoint,
                             bool leave_cluster);

}  // namespace freshet

#endif  // FRESHET_SERVER_MAINTENANCE_H_
