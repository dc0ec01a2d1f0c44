#include "fiber.h"

#include <sys/mman.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>

// Switches of the C library cost two system calls each, and an emulated warp switches 32 times for every instruction of
// the tensor cores: on x86-64 we do it ourselves. Address sanitizer must be told of every stack, so there it is slower.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#define NB_OWN_SWITCH 1
#else
#define NB_OWN_SWITCH 0
#include <ucontext.h>
#endif
#ifdef __SANITIZE_ADDRESS__
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
// r12 and r13 are set by start().
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
#if NB_OWN_SWITCH
  void* inside = nullptr;
  void* outside = nullptr;
#else
  ucontext_t inside{};
  ucontext_t outside{};
  Entry entry = nullptr;
  void* argument = nullptr;
  static void run(unsigned low, unsigned high);
#endif
#ifdef __SANITIZE_ADDRESS__
  void* fake_inside = nullptr;
  void* fake_outside = nullptr;
  const void* outside_bottom = nullptr;
  std::size_t outside_bytes = 0;
#endif
};

Fiber::Fiber() : machine_(std::make_unique<Machine>()) {
  void* memory = mmap(nullptr, kStackBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  machine_->stack = static_cast<unsigned char*>(memory);
  if (mprotect(memory, kPageBytes, PROT_NONE) != 0) throw std::runtime_error("emulation: no guard page for a stack");
}

Fiber::~Fiber() {
  munmap(machine_->stack, kStackBytes);
}

#if NB_OWN_SWITCH

void Fiber::start(Entry entry, void* argument) {
  auto* top = reinterpret_cast<void**>(machine_->stack + kStackBytes);
  // As nb_fiber_switch pops it: r15 r14 r13 r12 rbx rbp, then where to return to; the stack is then 16-byte aligned.
  void** frame = top - 9;
  frame[0] = nullptr;
  frame[1] = nullptr;
  frame[2] = argument;
  frame[3] = reinterpret_cast<void*>(entry);
  frame[4] = nullptr;
  frame[5] = nullptr;
  frame[6] = reinterpret_cast<void*>(&nb_fiber_begin);
  frame[7] = nullptr;
  machine_->inside = frame;
}

void Fiber::resume() {
  nb_fiber_switch(&machine_->outside, machine_->inside);
}

void Fiber::leave() {
  nb_fiber_switch(&machine_->inside, machine_->outside);
}

#else

/// makecontext passes ints only: the address comes in two halves.
void Fiber::Machine::run(unsigned low, unsigned high) {
  auto* machine = reinterpret_cast<Machine*>((static_cast<std::uintptr_t>(high) << 32) | low);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(nullptr, &machine->outside_bottom, &machine->outside_bytes);
#endif
  machine->entry(machine->argument);
}

void Fiber::start(Entry entry, void* argument) {
#ifdef __SANITIZE_ADDRESS__
  __asan_unpoison_memory_region(machine_->stack + kPageBytes, kStackBytes - kPageBytes);  // of abandoned frames
#endif
  getcontext(&machine_->inside);
  machine_->inside.uc_stack.ss_sp = machine_->stack + kPageBytes;
  machine_->inside.uc_stack.ss_size = kStackBytes - kPageBytes;
  machine_->inside.uc_link = nullptr;
  machine_->entry = entry;
  machine_->argument = argument;
  const auto address = reinterpret_cast<std::uintptr_t>(machine_.get());
  makecontext(&machine_->inside, reinterpret_cast<void (*)()>(&Machine::run), 2, static_cast<unsigned>(address),
              static_cast<unsigned>(address >> 32));
}

void Fiber::resume() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&machine_->fake_outside, machine_->stack + kPageBytes, kStackBytes - kPageBytes);
#endif
  swapcontext(&machine_->outside, &machine_->inside);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(machine_->fake_outside, nullptr, nullptr);
#endif
}

void Fiber::leave() {
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_start_switch_fiber(&machine_->fake_inside, machine_->outside_bottom, machine_->outside_bytes);
#endif
  swapcontext(&machine_->inside, &machine_->outside);
#ifdef __SANITIZE_ADDRESS__
  __sanitizer_finish_switch_fiber(machine_->fake_inside, &machine_->outside_bottom, &machine_->outside_bytes);
#endif
}

#endif

}  // namespace nanobench::emulation
