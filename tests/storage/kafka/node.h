#ifndef FRESHET_TESTS_STORAGE_KAFKA_NODE_H_
#define FRESHET_TESTS_STORAGE_KAFKA_NODE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "storage/follower.h"
#include "storage/kafka/kafka_log.h"
#include "storage/store.h"
#include "tests/storage/kafka/mock_kafka.h"
#include "tests/storage/small_store.h"

namespace freshet {

// The log and the store of a server. Both are closed together.
struct Node {
  std::unique_ptr<KafkaLog> log;
  std::unique_ptr<Store> store;
  Status status;
};

inline Node StartNode(const std::string& dir, const MockKafka& kafka,
                      Follower* follower = nullptr) {
  Node node;
  StatusOr<std::unique_ptr<KafkaLog>> log = KafkaLog::Open(kafka.options());
  EXPECT_TRUE(log.ok()) << log.status();
  node.log = *std::move(log);
  StoreOptions options = SmallStore();
  options.truth = node.log.get();
  options.follower = follower;
  StatusOr<std::unique_ptr<Store>> store = Store::Open(dir, options);
  node.status = store.status();
  if (store.ok()) node.store = *std::move(store);
  return node;
}

}  // namespace freshet

#endif  // FRESHET_TESTS_STORAGE_KAFKA_NODE_H_
