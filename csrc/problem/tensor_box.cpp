#include "problem/tensor_box.hpp"

namespace cute_py {

std::vector<std::string> broken_rules(TensorBox const& box, void const* data) {
  box_rules::Question question;
  question.element = name_of(box.type);
  question.element_bits = 8 * bytes_of(box.type);
  for (int mode = 0; mode < box.rank; ++mode) {
    question.extents.push_back(box.extent[mode]);
    question.strides.push_back(mode == 0 ? 1 : box.stride[mode]);
    question.box.push_back(box.box[mode]);
    question.steps.push_back(1);
  }
  question.swizzle_bytes = box.swizzle_bytes;
  question.address = reinterpret_cast<std::intptr_t>(data);
  return box_rules::ask(question).broken;
}

}  // namespace cute_py
