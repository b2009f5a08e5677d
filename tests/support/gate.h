// A gate at which threads of a server wait until a test opens it.
#ifndef FRESHET_TESTS_SUPPORT_GATE_H_
#define FRESHET_TESTS_SUPPORT_GATE_H_

#include "sync/mutex.h"

namespace freshet {

// A gate that is open at first. Thread-safe.
class Gate {
 public:
  void Close() {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  void Open() {
    const MutexLock lock(mutex_);
    closed_ = false;
    changed_.NotifyAll();
  }
  // Waits while the gate is closed.
  void Pass() {
    const MutexLock lock(mutex_);
    if (!closed_) return;
    ++waiting_;
    changed_.NotifyAll();
    while (closed_ && passes_ == 0) changed_.Wait(mutex_);
    --waiting_;
    if (passes_ > 0) --passes_;
    changed_.NotifyAll();
  }
  // Waits until a thread waits at the closed gate.
  void AwaitVisitor() {
    const MutexLock lock(mutex_);
    while (waiting_ == 0) changed_.Wait(mutex_);
  }
  // Lets one waiting thread pass. Precondition: there is one.
  void LetOnePass() {
    const MutexLock lock(mutex_);
    ++passes_;
    changed_.NotifyAll();
    while (passes_ > 0) changed_.Wait(mutex_);
  }

 private:
  Mutex mutex_;
  Condition changed_;
  bool closed_ FRESHET_GUARDED_BY(mutex_) = false;
  int waiting_ FRESHET_GUARDED_BY(mutex_) = 0;
  int passes_ FRESHET_GUARDED_BY(mutex_) = 0;
};

}  // namespace freshet

#endif  // FRESHET_TESTS_SUPPORT_GATE_H_
