// The maintenance of a store that is not in use: verify, repair, restore. Each function prints
// results on standard output and errors on standard error, and returns the program's exit code: 0 =
// the store is intact and usable, 1 = it is not. All of them write files of the store. If the
// process runs as root, it becomes the owner of the data directory, or of its parent if the data
// directory is missing, so that the server can read these files.
#ifndef FRESHET_SERVER_MAINTENANCE_H_
#define FRESHET_SERVER_MAINTENANCE_H_

#include <string>

namespace freshet {

struct ServerConfig;

// Reads and checks the whole store, and prints one line for each problem.
[[nodiscard]] int RunVerify(const ServerConfig& config);

// Makes a damaged store usable, and prints what was lost (storage/repair.h). Returns 0 even if data
// was lost.
[[nodiscard]] int RunRepair(const ServerConfig& config);

// Makes the data directory from a checkpoint (storage/restore.h). `leave_cluster`: the checkpoint
// is from a server of a cluster, and the result is for a single server.
[[nodiscard]] int RunRestore(const ServerConfig& config, const std::string& checkpoint,
                             bool leave_cluster);

}  // namespace freshet

#endif  // FRESHET_SERVER_MAINTENANCE_H_
