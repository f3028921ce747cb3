// The first program in C++: handles free themselves, errors are exceptions.
//
// usage: first-cpp MODEL.nxe
#include <nxrt/nxrt.h>

#include <algorithm>
#include <iostream>
#include <memory>
#include <stdexcept>

namespace {

void check(nxrt_status status) {
  if (status != NXRT_OK)
    throw std::runtime_error(std::string(nxrt_status_string(status)) + ": " + nxrt_last_error());
}

struct Free {
  void operator()(nxrt_model *model) const { nxrt_unload(model); }
  void operator()(nxrt_tensor *tensor) const { nxrt_tensor_free(tensor); }
  void operator()(nxrt_tensor_set *set) const { nxrt_tensor_set_free(set); }
};
template <typename T> using Handle = std::unique_ptr<T, Free>;

// Calls a function of the library that makes an object, e.g. make<nxrt_model>(nxrt_load, path, options).
template <typename T, typename Function, typename... Arguments>
Handle<T> make(Function function, Arguments... arguments) {
  T *object = nullptr;
  check(function(arguments..., &object));
  return Handle<T>(object);
}

struct Runtime {
  Runtime() { check(nxrt_init(nullptr)); }
  ~Runtime() { nxrt_close(); }
};

void run(const char *path) {
  Runtime runtime;
  auto model = make<nxrt_model>(nxrt_load, path, nullptr);
  NXRT_STRUCT(nxrt_entry_info, entry);
  check(nxrt_get_entry_info(model.get(), 0, &entry));

  auto inputs = make<nxrt_tensor_set>(nxrt_tensor_set_create);
  auto outputs = make<nxrt_tensor_set>(nxrt_tensor_set_create);
  for (uint32_t i = 0; i < entry.input_count; ++i) {
    NXRT_STRUCT(nxrt_io_info, port);
    check(nxrt_get_input_info(model.get(), nullptr, i, &port));
    // Sizes that are chosen at run time read -1.
    std::replace(port.dims, port.dims + port.rank, int64_t{-1}, int64_t{8});
    const int64_t *dims = port.dims;
    auto tensor = make<nxrt_tensor>(nxrt_tensor_allocate, port.dtype, port.rank, dims);
    check(nxrt_tensor_set_add(inputs.get(), port.name, tensor.get()));
  }

  check(nxrt_execute(model.get(), nullptr, inputs.get(), outputs.get()));
  for (uint32_t i = 0; i < entry.output_count; ++i) {
    NXRT_STRUCT(nxrt_io_info, port);
    check(nxrt_get_output_info(model.get(), nullptr, i, &port));
    nxrt_tensor *tensor = nullptr; // lent by the set
    check(nxrt_tensor_set_get(outputs.get(), port.name, &tensor));
    NXRT_STRUCT(nxrt_tensor_info, info);
    check(nxrt_tensor_get_info(tensor, &info));
    std::cout << port.name << ": " << nxrt_dtype_name(info.dtype) << " of rank " << info.rank << ", "
              << info.bytes << " bytes";
    if (info.dtype == NXRT_DTYPE_F32 && info.bytes > 0) {
      auto *values = static_cast<const float *>(info.data);
      auto [low, high] = std::minmax_element(values, values + info.bytes / sizeof(float));
      std::cout << ", from " << *low << " to " << *high;
    }
    std::cout << "\n";
  }
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::cerr << "usage: first-cpp MODEL.nxe\n";
    return 2;
  }
  try {
    run(argv[1]);
  } catch (const std::exception &error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
}
