/// The one place where the engine takes in LibTorch's headers (they are the precompiled header: 10 s a file otherwise).
#pragma once

#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/generated/variable_factories.h>
