// One small pool of threads for data-parallel loops whose result does not depend on the thread
// count.
//
// Work is cut into chunks by the length of the data alone (see chunks_for); every chunk writes to
// its own slot, and slots are combined in index order by the caller. Which thread runs which chunk
// is left to chance, the bits of the result are not.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#pragma GCC visibility push(default)
namespace medgrad {

class ThreadPool {
 public:
  // `threads` counts the calling thread; 0 means as many as the machine has cores.
  explicit ThreadPool(unsigned threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  [[nodiscard]] unsigned size() const { return static_cast<unsigned>(workers_.size()) + 1; }

  // Calls task(i) once for every i in [0, count) and returns when all are done. No allocation. If
  // tasks throw, the exception of the smallest index is rethrown after all others have finished.
  // Not reentrant: a task must not use the pool it runs on.
  template <class Task>
  void for_each(std::size_t count, Task&& task) {
    using Plain = std::remove_reference_t<Task>;
    run(
        count, [](void* t, std::size_t i) { (*static_cast<Plain*>(t))(i); },
        const_cast<std::remove_const_t<Plain>*>(std::addressof(task)));
  }

 private:
  using Call = void (*)(void*, std::size_t);
  void run(std::size_t count, Call call, void* task);
  void work();
  void drain(std::unique_lock<std::mutex>& lock);

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  Call call_ = nullptr;
  void* task_ = nullptr;
  std::size_t count_ = 0, next_ = 0, running_ = 0, failed_index_ = 0;
  std::exception_ptr failure_;
  bool stopping_ = false;
};

// The same loop on `pool`, or on the calling thread where there is none.
template <class Task>
void for_each(ThreadPool* pool, std::size_t count, Task&& task) {
  if (pool != nullptr && pool->size() > 1 && count > 1) {
    pool->for_each(count, task);
  } else {
    for (std::size_t i = 0; i < count; ++i) task(i);
  }
}

// How a range of n elements is cut: chunk c covers [c*size, min(n, (c+1)*size)). Depends on n
// alone; at most kMaxChunks chunks, so that partial results fit on the stack.
struct Chunks {
  static constexpr std::size_t kMaxChunks = 256;
  std::size_t n, size, count;
  [[nodiscard]] std::size_t begin(std::size_t c) const { return c * size; }
  [[nodiscard]] std::size_t end(std::size_t c) const { return c + 1 == count ? n : (c + 1) * size; }
};
[[nodiscard]] Chunks chunks_for(std::size_t n);

}  // namespace medgrad
#pragma GCC visibility pop
