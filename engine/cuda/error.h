/// Errors of CUDA calls. Plain C++: includes no CUDA header. Thread-safe.
#pragma once

#include <string>

#include "core/base/error.h"

namespace nanobench::core::cuda {

/// A CUDA call failed. The message contains CUDA's own text, the expression, file and line. The code is kUnavailable if
/// this machine or driver cannot do it, else kInternal.
class CudaError : public Error {
 public:
  CudaError(ErrorCode code, int status, const std::string& message) : Error(code, message), status_(status) {}
  int status() const noexcept { return status_; }  ///< the cudaError_t
  bool is_out_of_memory() const noexcept;

 private:
  int status_;
};

/// Throws CudaError unless `status`, a cudaError_t, is success. Clears CUDA's last error first, so that the next check
/// does not report it again.
void check_cuda_call(int status, const char* expression, const char* file, int line);

/// The same for destructors: writes the message to stderr and continues.
void check_cuda_call_noexcept(int status, const char* expression, const char* file, int line) noexcept;

}  // namespace nanobench::core::cuda

#define NB_CUDA_CHECK(expression) \
  ::nanobench::core::cuda::check_cuda_call(static_cast<int>(expression), #expression, __FILE__, __LINE__)
#define NB_CUDA_CHECK_NOEXCEPT(expression) \
  ::nanobench::core::cuda::check_cuda_call_noexcept(static_cast<int>(expression), #expression, __FILE__, __LINE__)
