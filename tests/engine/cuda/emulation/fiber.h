/// Threads of one emulated block: each has a stack of its own and gives way only where it says so. One operating system
/// thread runs them all.
#pragma once

#include <cstddef>
#include <memory>

namespace nanobench::emulation {

/// A stack on which a function can be left and entered again. Not copyable; reusable after its function has ended or
/// was abandoned (its locals are then not destroyed).
class Fiber {
 public:
  using Entry = void (*)(void*);

  Fiber();
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// The next resume() calls entry(argument) on the fiber's stack. `entry` never returns: it ends with leave().
  void start(Entry entry, void* argument);
  /// From the scheduler: runs the fiber until it leaves.
  void resume();
  /// From inside the fiber: back to where it was resumed.
  void leave();

 private:
  struct Machine;
  std::unique_ptr<Machine> machine_;
};

}  // namespace nanobench::emulation
