// Makes the changes of a committed transaction visible in the books.
#ifndef FRESHET_CORE_SCHEDULE_SHARD_INSTALL_H_
#define FRESHET_CORE_SCHEDULE_SHARD_INSTALL_H_

#include "core/base/units.h"
#include "core/model/host.h"
#include "core/schedule/books.h"
#include "core/schedule/crawl_terms.h"
#include "core/schedule/transaction.h"

namespace freshet {

// Installs all changes. Precondition: the changes of txn.Finish() were committed.
void Install(Transaction& txn, Books& books);

// Parts of Install, which loading and Follow also use for records.
void InstallHost(const HostRecord& record, Books& books);
void DropHost(HostId host, Books& books);
void InstallCrawl(const CrawlTerms& terms, Books& books);

}  // namespace freshet

#endif  // FRESHET_CORE_SCHEDULE_SHARD_INSTALL_H_
