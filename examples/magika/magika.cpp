// Names the content type of files with the magika model. Links libnxrt only.
//
// usage: magika MODEL.nxe CONFIG.json FILE...
//
// MODEL.nxe is made by nxcc from magika's model.onnx; CONFIG.json is the model's own description, with the
// labels and the sizes of the features. All files go through the model at once, as one batch.
#include <nxrt/nxrt.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

void check(nxrt_status status) {
  if (status != NXRT_OK)
    throw std::runtime_error(nxrt_last_error());
}

std::string readAll(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file)
    throw std::runtime_error("cannot read '" + path + "'");
  return text;
}

// ---- The model's description: a flat JSON object with plain labels -------------------------------

class Config {
public:
  explicit Config(const std::string &path) : path(path), json(readAll(path)) {
    beginSize = number("beg_size");
    endSize = number("end_size");
    blockSize = number("block_size");
    padding = static_cast<int32_t>(number("padding_token"));
    minimumSize = number("min_file_size_for_dl");
    size_t at = valueOf("target_labels_space"), end = json.find(']', at);
    while ((at = json.find('"', at)) < end) {
      size_t close = json.find('"', at + 1);
      labels.push_back(json.substr(at + 1, close - at - 1));
      at = close + 1;
    }
    if (number("mid_size") != 0 || labels.empty() || beginSize + endSize == 0)
      throw std::runtime_error("'" + path + "' describes features that this program does not know");
  }

  // A score below this is a guess.
  double threshold(const std::string &label) const {
    size_t begin = valueOf("thresholds"), end = json.find('}', begin);
    size_t at = json.find("\"" + label + "\":", begin);
    return at < end ? std::atof(json.c_str() + at + label.size() + 3)
                    : std::atof(json.c_str() + valueOf("medium_confidence_threshold"));
  }

  size_t beginSize, endSize, blockSize, minimumSize;
  int32_t padding;
  std::vector<std::string> labels;

private:
  size_t valueOf(const char *key) const {
    size_t at = json.find("\"" + std::string(key) + "\":");
    if (at == std::string::npos)
      throw std::runtime_error("'" + path + "' has no field '" + key + "'");
    return at + std::char_traits<char>::length(key) + 3;
  }
  size_t number(const char *key) const {
    return std::strtoul(json.c_str() + valueOf(key), nullptr, 10);
  }

  std::string path, json;
};

// ---- Features: the first and the last bytes of a file, without the white space around them ---------

std::string readBlock(std::ifstream &file, std::streamoff at, size_t size) {
  std::string block(size, '\0');
  file.seekg(at);
  file.read(block.data(), static_cast<std::streamsize>(size));
  block.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  file.clear();
  return block;
}

// Appends the features of a file. False when it holds too little to say anything about.
bool appendFeatures(const Config &config, const std::string &path, std::vector<int32_t> &features) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0)
    throw std::runtime_error("cannot read '" + path + "'");
  size_t block = std::min<size_t>(config.blockSize, static_cast<size_t>(size));
  constexpr const char *kSpace = " \t\n\r\v\f";
  std::string begin = readBlock(file, 0, block);
  begin.erase(0, begin.find_first_not_of(kSpace));
  std::string end = readBlock(file, size - static_cast<std::streamoff>(block), block);
  end.erase(end.find_last_not_of(kSpace) + 1); // npos + 1 is 0: nothing but space
  if (begin.size() < config.minimumSize)
    return false;
  begin.resize(std::min(begin.size(), config.beginSize));
  end.erase(0, end.size() - std::min(end.size(), config.endSize));
  // Padding lies in the middle: behind the beginning, before the end.
  auto byte = [](char c) { return static_cast<int32_t>(static_cast<unsigned char>(c)); };
  std::transform(begin.begin(), begin.end(), std::back_inserter(features), byte);
  features.insert(features.end(),
                  config.beginSize - begin.size() + config.endSize - end.size(), config.padding);
  std::transform(end.begin(), end.end(), std::back_inserter(features), byte);
  return true;
}

// ---- The model -------------------------------------------------------------------------------------

struct Free {
  void operator()(nxrt_model *model) const { nxrt_unload(model); }
  void operator()(nxrt_tensor *tensor) const { nxrt_tensor_free(tensor); }
  void operator()(nxrt_tensor_set *set) const { nxrt_tensor_set_free(set); }
};
template <typename T> using Handle = std::unique_ptr<T, Free>;

class Runtime {
public:
  Runtime() { check(nxrt_init(nullptr)); }
  Runtime(const Runtime &) = delete;
  ~Runtime() { nxrt_close(); }
};

Handle<nxrt_tensor_set> makeSet() {
  nxrt_tensor_set *set = nullptr;
  check(nxrt_tensor_set_create(&set));
  return Handle<nxrt_tensor_set>(set);
}

// Scores [files, labels] for features [files, features of one].
std::vector<float> classify(const std::string &path, const Config &config,
                            const std::vector<int32_t> &features) {
  Runtime runtime;
  nxrt_model *loaded = nullptr;
  check(nxrt_load(path.c_str(), nullptr, &loaded));
  Handle<nxrt_model> model(loaded);
  NXRT_STRUCT(nxrt_io_info, input);
  NXRT_STRUCT(nxrt_io_info, output);
  check(nxrt_get_input_info(loaded, nullptr, 0, &input));
  check(nxrt_get_output_info(loaded, nullptr, 0, &output));

  auto width = static_cast<int64_t>(config.beginSize + config.endSize);
  int64_t dims[2] = {static_cast<int64_t>(features.size()) / width, width};
  nxrt_tensor *allocated = nullptr;
  check(nxrt_tensor_allocate(NXRT_DTYPE_I32, 2, dims, &allocated));
  Handle<nxrt_tensor> batch(allocated);
  check(nxrt_tensor_write(allocated, 0, features.data(), features.size() * sizeof(int32_t)));

  Handle<nxrt_tensor_set> inputs = makeSet(), outputs = makeSet();
  check(nxrt_tensor_set_add(inputs.get(), input.name, allocated));
  check(nxrt_execute(loaded, nullptr, inputs.get(), outputs.get()));

  nxrt_tensor *result = nullptr; // lent by the set
  check(nxrt_tensor_set_get(outputs.get(), output.name, &result));
  std::vector<float> scores(static_cast<size_t>(dims[0]) * config.labels.size());
  check(nxrt_tensor_read(result, 0, scores.data(), scores.size() * sizeof(float)));
  return scores;
}

void run(int argc, char **argv) {
  Config config(argv[2]);
  std::vector<int32_t> features;
  std::vector<bool> known;
  for (int i = 3; i < argc; ++i)
    known.push_back(appendFeatures(config, argv[i], features));
  std::vector<float> scores;
  if (!features.empty())
    scores = classify(argv[1], config, features);

  size_t labels = config.labels.size(), row = 0;
  for (int i = 3; i < argc; ++i) {
    if (!known[static_cast<size_t>(i - 3)]) {
      std::printf("%s: too short to tell\n", argv[i]);
      continue;
    }
    const float *score = scores.data() + labels * row++;
    std::vector<size_t> order(labels);
    std::iota(order.begin(), order.end(), size_t{0});
    constexpr size_t kShown = 3;
    size_t shown = std::min(kShown, labels);
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                      [&](size_t a, size_t b) { return score[a] > score[b]; });
    const std::string &best = config.labels[order[0]];
    std::printf("%s: %s%s (", argv[i], best.c_str(),
                score[order[0]] < config.threshold(best) ? "?" : "");
    for (size_t k = 0; k < shown; ++k)
      std::printf("%s%s %.4f", k ? ", " : "", config.labels[order[k]].c_str(), score[order[k]]);
    std::printf(")\n");
  }
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: magika MODEL.nxe CONFIG.json FILE...\n");
    return 2;
  }
  try {
    run(argc, argv);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "magika: %s\n", error.what());
    return 1;
  }
}
