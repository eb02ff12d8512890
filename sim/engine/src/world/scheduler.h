// SPDX-License-Identifier: Apache-2.0
// Runs all actors, here called nodes, for one epoch at a time, on the calling thread and its
// workers.
//
// Workers claim nodes one by one, most expensive first. The caller works too, so an epoch never
// waits for a worker that the operating system has not woken. Workers spin briefly between epochs
// and then sleep. Which thread runs a node has no influence on the result. An exception of a node
// is rethrown by runEpoch(). Workers begin with the first epoch and with the first one
// after rest().
//
// In lock-step the calling thread alone runs every node for a cycle, then every node for the next
// one, as a test bench around Verilator's models does. The result is the same. The benchmark
// compares the scheduler with lock-step.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "world/actor.h"

namespace sallyport::sim {

class Scheduler {
 public:
  // threads = 0: as many as nodes or cores, whichever is less; 1 in lock-step.
  Scheduler(std::vector<Actor*> nodes, int threads, bool lockStep = false);
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  void runEpoch();
  // Ends the workers, so that the calling thread is the only one, as fork() needs it.
  void rest();
  int threads() const { return threads_; }
  bool lockStep() const { return lockStep_; }

 private:
  void start();
  void work(uint32_t generation);
  void workerLoop();
  void sortByCost();

  std::vector<Actor*> nodes_;
  bool lockStep_;
  int threads_;  // the calling one included
  std::vector<std::thread> workers_;
  // Generation in the upper half, next node to claim in the lower: a late worker cannot claim a
  // node of a later epoch.
  std::atomic<uint64_t> ticket_{0};
  std::atomic<uint32_t> done_{0};
  std::atomic<bool> stop_{false};
  uint32_t generation_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  std::exception_ptr failure_;
};

}  // namespace sallyport::sim
