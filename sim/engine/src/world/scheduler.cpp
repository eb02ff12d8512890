// SPDX-License-Identifier: Apache-2.0
#include "world/scheduler.h"

#include <algorithm>
#include <utility>

#include "base/sim_time.h"

namespace sallyport::sim {

namespace {
constexpr int kSpins = 4000;
constexpr uint32_t kSortPeriod = 256;

inline void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

uint32_t generationOf(uint64_t ticket) { return static_cast<uint32_t>(ticket >> 32); }
}  // namespace

Scheduler::Scheduler(std::vector<Actor*> nodes, int threads, bool lockStep)
    : nodes_(std::move(nodes)), lockStep_(lockStep) {
  const int cores = std::max(1u, std::thread::hardware_concurrency());
  const int limit = static_cast<int>(nodes_.size());
  threads_ = lockStep ? 1 : threads > 0 ? std::min(threads, limit) : std::min(cores, limit);
  ticket_ = nodes_.size();  // nothing to claim in generation 0
}

Scheduler::~Scheduler() { rest(); }

void Scheduler::start() {
  stop_ = false;
  while (static_cast<int>(workers_.size()) + 1 < threads_) workers_.emplace_back([this] { workerLoop(); });
}

void Scheduler::rest() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (auto& worker : workers_) worker.join();
  workers_.clear();
}

void Scheduler::runEpoch() {
  if (lockStep_) {
    for (Cycle i = 0; i < coreClock.lookahead; i++)
      for (Actor* node : nodes_) node->runCycle();
    return;
  }
  if (threads_ == 1) {
    for (Actor* node : nodes_) node->runEpoch();
    return;
  }
  if (workers_.empty()) start();
  if (++generation_ % kSortPeriod == 0) sortByCost();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    done_ = 0;
    ticket_ = static_cast<uint64_t>(generation_) << 32;
  }
  wake_.notify_all();
  work(generation_);
  const auto all = static_cast<uint32_t>(nodes_.size());
  for (int i = 0; i < kSpins && done_.load() != all; i++) relax();
  if (done_.load() != all) {
    std::unique_lock<std::mutex> lock(mutex_);
    finished_.wait(lock, [&] { return done_.load() == all; });
  }
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Scheduler::work(uint32_t generation) {
  uint64_t ticket = ticket_.load();
  while (generationOf(ticket) == generation && static_cast<uint32_t>(ticket) < nodes_.size()) {
    if (!ticket_.compare_exchange_weak(ticket, ticket + 1)) continue;
    try {
      nodes_[static_cast<uint32_t>(ticket)]->runEpoch();
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
    if (done_.fetch_add(1) + 1 == nodes_.size()) {
      const std::lock_guard<std::mutex> lock(mutex_);
      finished_.notify_one();
    }
    ticket = ticket_.load();
  }
}

void Scheduler::workerLoop() {
  uint32_t seen = 0;
  auto changed = [&] { return stop_.load() || generationOf(ticket_.load()) != seen; };
  while (true) {
    for (int i = 0; i < kSpins && !changed(); i++) relax();
    if (!changed()) {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, changed);
    }
    if (stop_) return;
    seen = generationOf(ticket_.load());
    work(seen);
  }
}

void Scheduler::sortByCost() {
  std::stable_sort(nodes_.begin(), nodes_.end(),
                   [](const Actor* a, const Actor* b) { return a->busyNs() > b->busyNs(); });
}

}  // namespace sallyport::sim
