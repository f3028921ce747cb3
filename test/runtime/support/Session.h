// C++ handles over the C API, for tests.
#ifndef NX_TEST_RUNTIME_SESSION_H
#define NX_TEST_RUNTIME_SESSION_H

#include "nxrt/nxrt.h"
#include "test/runtime/support/ExecutableBuilder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace nxtest {

/// The runtime, open while it lives.
class Session {
public:
  /// `cores` cores, more than the machine has if need be, of `threads` threads; 0 cores: all, taken
  /// by models. Cores are shared with other processes, so that tests may run side by side.
  explicit Session(uint32_t cores = 0, uint32_t threads = 1, uint64_t timeoutMs = 0,
                   uint64_t coreMemory = 0) {
    setenv("NXRT_SHARE_CORES", "1", 1);
    NXRT_STRUCT(nxrt_config, config);
    config.num_cores = cores;
    config.threads_per_core = threads;
    config.exec_timeout_ms = timeoutMs;
    config.core_memory_bytes = coreMemory;
    EXPECT_EQ(nxrt_init(&config), NXRT_OK) << nxrt_last_error();
  }
  ~Session() { EXPECT_EQ(nxrt_close(), NXRT_OK) << nxrt_last_error(); }
};

class LoadedModel {
public:
  explicit LoadedModel(const Bytes &file) {
    EXPECT_EQ(nxrt_load_memory(file.data(), file.size(), nullptr, &model), NXRT_OK)
        << nxrt_last_error();
  }
  explicit LoadedModel(const ExecutableSpec &spec) : LoadedModel(spec.build()) {}
  ~LoadedModel() { EXPECT_EQ(nxrt_unload(model), NXRT_OK); }
  LoadedModel(const LoadedModel &) = delete;
  operator nxrt_model *() const { return model; }

private:
  nxrt_model *model = nullptr;
};

template <typename T> constexpr nxrt_dtype dtypeOf();
template <> constexpr nxrt_dtype dtypeOf<float>() { return NXRT_DTYPE_F32; }
template <> constexpr nxrt_dtype dtypeOf<int64_t>() { return NXRT_DTYPE_I64; }

class TensorSet {
public:
  TensorSet() { EXPECT_EQ(nxrt_tensor_set_create(&set), NXRT_OK); }
  ~TensorSet() { nxrt_tensor_set_free(set); }
  TensorSet(const TensorSet &) = delete;
  operator nxrt_tensor_set *() const { return set; }

  template <typename T>
  void add(const char *name, std::vector<int64_t> dims, const std::vector<T> &values) {
    nxrt_tensor *tensor = nullptr;
    ASSERT_EQ(nxrt_tensor_allocate(dtypeOf<T>(), static_cast<uint32_t>(dims.size()), dims.data(),
                                   &tensor),
              NXRT_OK)
        << nxrt_last_error();
    ASSERT_EQ(nxrt_tensor_write(tensor, 0, values.data(), values.size() * sizeof(T)), NXRT_OK)
        << nxrt_last_error();
    ASSERT_EQ(nxrt_tensor_set_add(set, name, tensor), NXRT_OK);
    nxrt_tensor_free(tensor);
  }

  nxrt_tensor *get(const char *name) const {
    nxrt_tensor *tensor = nullptr;
    EXPECT_EQ(nxrt_tensor_set_get(set, name, &tensor), NXRT_OK) << nxrt_last_error();
    return tensor;
  }
  std::vector<int64_t> shape(const char *name) const {
    NXRT_STRUCT(nxrt_tensor_info, info);
    EXPECT_EQ(nxrt_tensor_get_info(get(name), &info), NXRT_OK);
    return {info.dims, info.dims + info.rank};
  }
  template <typename T> std::vector<T> values(const char *name) const {
    NXRT_STRUCT(nxrt_tensor_info, info);
    EXPECT_EQ(nxrt_tensor_get_info(get(name), &info), NXRT_OK);
    EXPECT_EQ(info.dtype, dtypeOf<T>());
    std::vector<T> result(info.bytes / sizeof(T));
    EXPECT_EQ(nxrt_tensor_read(get(name), 0, result.data(), info.bytes), NXRT_OK);
    return result;
  }

private:
  nxrt_tensor_set *set = nullptr;
};

/// Numbers that are no round ones but add up exactly in any order when they are few.
inline std::vector<float> ramp(int64_t count, int64_t step = 1) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>((i * step) % 17 - 8) / 4);
  return values;
}

} // namespace nxtest

#endif // NX_TEST_RUNTIME_SESSION_H
