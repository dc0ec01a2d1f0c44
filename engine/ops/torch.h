/// The only place where the engine includes LibTorch's headers (they are precompiled; otherwise each file takes 10 s).
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
