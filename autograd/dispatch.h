// minirl autograd/dispatch.h -- from a run-time dtype to a compile-time type.
#pragma once
#include "core/tensor.h"

namespace minirl {

/// Calls body(float{}) or body(double{}).
template <class F>
void dispatch_real(DType dtype, F body) {
  switch (dtype) {
    case DType::f32: body(float{}); break;
    case DType::f64: body(double{}); break;
    default: MINIRL_CHECK(false, "arithmetic on {} is not offered, only on f32 and f64", name(dtype));
  }
}

}  // namespace minirl
