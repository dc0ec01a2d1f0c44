#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>

// Clang has another name for what GCC calls __SANITIZE_ADDRESS__.
#if defined(__SANITIZE_ADDRESS__)
#define NB_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define NB_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef NB_ADDRESS_SANITIZER
#define NB_ADDRESS_SANITIZER 0
#endif

// Switches of the C library cost two system calls each, and an emulated warp switches 32 times for every instruction of
// the tensor cores: on x86-64 we do it ourselves.
#ifdef __x86_64__
#define NB_OWN_SWITCH 1
#else
#define NB_OWN_SWITCH 0
#include <ucontext.h>
#endif
#if NB_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

#if NB_OWN_SWITCH
// nb_fiber_switch(void** save, void* load): keeps the registers that a call preserves on the old stack, takes the new
// one.
extern "C" void nb_fiber_switch(void** save, void* load);
asm(R"(
.text
.globl nb_fiber_switch
.hidden nb_fiber_switch
.type nb_fiber_switch, @function
nb_fiber_switch:
  .cfi_startproc
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .cfi_endproc
.size nb_fiber_switch, .-nb_fiber_switch
)");
#endif

namespace nanobench::emulation {
namespace {

constexpr std::size_t kStackBytes = 256 * 1024;  // only what is touched takes memory
constexpr std::size_t kPageBytes = 4096;         // the lowest page is left out of bounds: an overflow faults

#if NB_OWN_SWITCH
// r12 and r13 are set by prepare().
extern "C" void nb_fiber_begin();
asm(R"(
.text
.globl nb_fiber_begin
.hidden nb_fiber_begin
.type nb_fiber_begin, @function
nb_fiber_begin:
  .cfi_startproc
  .cfi_undefined rip
  movq %r13, %rdi
  call *%r12
  ud2
  .cfi_endproc
.size nb_fiber_begin, .-nb_fiber_begin
)");
#endif

}  // namespace

struct Fiber::Machine {
  unsigned char* stack = nullptr;
  Entry entry = nullptr;
  void* argument = nullptr;
#if NB_OWN_SWITCH
  void* inside = nullptr;
  void* outside = nullptr;
#else
  ucontext_t inside{};
  ucontext_t outside{};
#endif
#if NB_ADDRESS_SANITIZER
  void* fake_inside = nullptr;
  void* fake_outside = nullptr;
  const void* outside_bottom = nullptr;
  std::size_t outside_bytes = 0;
#endif

  /// The fiber's first function, on its own stack.
  static void run(void* machine);
  /// Makes the next switch_in() call run().
  void prepare();
  void switch_in();
  void switch_out();

  // The address sanitizer has to be told of every stack, before a switch and after it.
  void entering();
  void entered(bool first);
  void leaving();
  void left();
};

void Fiber::Machine::run(void* machine) {
  auto* self = static_cast<Machine*>(machine);
  self->entered(/*first=*/true);
  self->entry(self->argument);
}

#if NB_OWN_SWITCH

void Fiber::Machine::prepare() {
  auto* top = reinterpret_cast<void**>(stack + kStackBytes);
  // As nb_fiber_switch pops it: r15 r14 r13 r12 rbx rbp, then where to return to; the stack is then 16-byte aligned.
  void** frame = top - 9;
  frame[0] = nullptr;
  frame[1] = nullptr;
  frame[2] = this;
  frame[3] = reinterpret_cast<void*>(&Machine::run);
  frame[4] = nullptr;
  frame[5] = nullptr;
  frame[6] = reinterpret_cast<void*>(&nb_fiber_begin);
  frame[7] = nullptr;
  inside = frame;
}

void Fiber::Machine::switch_in() {
  nb_fiber_switch(&outside, inside);
}

void Fiber::Machine::switch_out() {
  nb_fiber_switch(&inside, outside);
}

#else

/// makecontext passes ints only: the address comes in two halves.
void run_from_halves(unsigned low, unsigned high) {
  Fiber::Machine::run(reinterpret_cast<void*>((static_cast<std::uintptr_t>(high) << 32) | low));
}

void Fiber::Machine::prepare() {
  getcontext(&inside);
  inside.uc_stack.ss_sp = stack + kPageBytes;
  inside.uc_stack.ss_size = kStackBytes - kPageBytes;
  inside.uc_link = nullptr;
  const auto address = reinterpret_cast<std::uintptr_t>(this);
  makecontext(&inside, reinterpret_cast<void (*)()>(&run_from_halves), 2, static_cast<unsigned>(address),
              static_cast<unsigned>(address >> 32));
}

void Fiber::Machine::switch_in() {
  swapcontext(&outside, &inside);
}

void Fiber::Machine::switch_out() {
  swapcontext(&inside, &outside);
}

#endif

#if NB_ADDRESS_SANITIZER

void Fiber::Machine::entering() {
  __sanitizer_start_switch_fiber(&fake_outside, stack + kPageBytes, kStackBytes - kPageBytes);
}

void Fiber::Machine::entered(bool first) {
  __sanitizer_finish_switch_fiber(first ? nullptr : fake_inside, &outside_bottom, &outside_bytes);
}

void Fiber::Machine::leaving() {
  __sanitizer_start_switch_fiber(&fake_inside, outside_bottom, outside_bytes);
}

void Fiber::Machine::left() {
  __sanitizer_finish_switch_fiber(fake_outside, nullptr, nullptr);
}

#else

void Fiber::Machine::entering() {}
void Fiber::Machine::entered(bool /*first*/) {}
void Fiber::Machine::leaving() {}
void Fiber::Machine::left() {}

#endif

Fiber::Fiber() : machine_(std::make_unique<Machine>()) {
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  machine_->stack = static_cast<unsigned char*>(memory);
  if (mprotect(memory, kPageBytes, PROT_NONE) != 0) throw std::runtime_error("emulation: no guard page for a stack");
}

Fiber::~Fiber() {
  munmap(machine_->stack, kStackBytes);
}

void Fiber::start(Entry entry, void* argument) {
#if NB_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(machine_->stack + kPageBytes, kStackBytes - kPageBytes);  // of abandoned frames
#endif
  machine_->entry = entry;
  machine_->argument = argument;
  machine_->prepare();
}

void Fiber::resume() {
  machine_->entering();
  machine_->switch_in();
  machine_->left();
}

void Fiber::leave() {
  machine_->leaving();
  machine_->switch_out();
  machine_->entered(/*first=*/false);
}

}  // namespace nanobench::emulation
