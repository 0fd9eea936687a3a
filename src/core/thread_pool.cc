#include "medgrad/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <utility>

namespace medgrad {
namespace {

// What the lock protects is read without it by those who spin, so it is written in one piece.
void set(std::size_t& value, std::size_t now) {
  std::atomic_ref(value).store(now, std::memory_order_relaxed);
}
std::size_t get(std::size_t& value) {
  return std::atomic_ref(value).load(std::memory_order_relaxed);
}

// Looks again and again whether there is any reason to go on before one sleeps: loops that follow
// each other within microseconds need not wait until a thread has been woken.
template <class Ready>
void spin(std::unique_lock<std::mutex>& lock, Ready&& ready) {
  constexpr int kLooks = 400;
  lock.unlock();
  for (int i = 0; i < kLooks && !ready(); ++i) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
  lock.lock();
}

}  // namespace

ThreadPool::ThreadPool(unsigned threads) {
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  constexpr unsigned kMost = 1024;  // more would only wait for each other
  threads = std::min(threads, kMost);
  // Where the system gives no more threads, or no memory for them, those there are do the work: the
  // result is the same.
  try {
    workers_.reserve(threads - 1);
    for (unsigned i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::size_t count, Call call, void* task) {
  if (count == 0) return;
  std::unique_lock lock(mutex_);
  call_ = call;
  task_ = task;
  set(next_, 0);
  set(count_, count);
  failure_ = nullptr;
  wake_.notify_all();
  drain(lock);
  if (running_ != 0) spin(lock, [this] { return get(running_) == 0; });
  done_.wait(lock, [this] { return running_ == 0; });
  call_ = nullptr;
  set(count_, 0);
  set(next_, 0);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadPool::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (!stopping_ && next_ >= count_) spin(lock, [this] { return get(next_) < get(count_); });
    wake_.wait(lock, [this] { return stopping_ || next_ < count_; });
    if (stopping_) return;
    drain(lock);
  }
}

// Takes indices until none are left. Chunks are large, so a lock per chunk costs nothing that
// counts.
void ThreadPool::drain(std::unique_lock<std::mutex>& lock) {
  while (next_ < count_) {
    const std::size_t i = next_;
    set(next_, i + 1);
    set(running_, running_ + 1);
    const Call call = call_;
    void* const task = task_;
    lock.unlock();
    std::exception_ptr failure;
    try {
      call(task, i);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure && (!failure_ || i < failed_index_)) {
      failure_ = failure;
      failed_index_ = i;
    }
    set(running_, running_ - 1);
    if (running_ == 0 && next_ >= count_) done_.notify_all();
  }
}

Chunks chunks_for(std::size_t n) {
  // Large enough that a chunk outweighs a lock and a reduction, and a multiple of every vector
  // width.
  constexpr std::size_t kSmallest = std::size_t{1} << 14;
  const std::size_t wanted = (n + Chunks::kMaxChunks - 1) / Chunks::kMaxChunks;
  const std::size_t size = std::max(kSmallest, (wanted + 255) / 256 * 256);
  return {n, size, (n + size - 1) / size};
}

}  // namespace medgrad
