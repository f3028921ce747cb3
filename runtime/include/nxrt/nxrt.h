/* libnxrt: loads executables made by nxcc (.nxe) and runs them on the cores of this machine.
 *
 * Conventions
 * - Every function returns an nxrt_status unless it only names something. On failure,
 * out-parameters are left as they were and nxrt_last_error() has a sentence with the cause and a
 * remedy.
 * - Info and option structs begin with `struct_size`: set it to sizeof the struct that you compiled
 *   with (NXRT_STRUCT does both that and zeroing). Later versions append fields; a field the
 * library does not know must be zero, a field that your struct lacks keeps its default.
 * - Strings and arrays inside info structs belong to the object that was asked and live as long.
 * - All functions may be called from several threads at once. One tensor or tensor set must not be
 *   changed by one thread while another uses it. Don't use the library in a child of fork().
 * - An executable holds native code: trust a file as much as you would a shared library.
 *
 * Life of a program: nxrt_init -> nxrt_load -> tensors and sets -> nxrt_execute ... -> nxrt_unload
 * -> nxrt_close. Environment variables: docs/runtime-environment.md. */
#ifndef NXRT_NXRT_H
#define NXRT_NXRT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#error "libnxrt supports Linux"
#endif
#define NXRT_API __attribute__((visibility("default")))

#define NXRT_VERSION_MAJOR 0
#define NXRT_VERSION_MINOR 1
#define NXRT_VERSION_PATCH 0

/* Declares a zeroed struct of the library with its size filled in: NXRT_STRUCT(nxrt_config, c); */
#define NXRT_STRUCT(type, name)                                                                    \
  type name;                                                                                       \
  memset(&name, 0, sizeof(name));                                                                  \
  name.struct_size = (uint32_t)sizeof(name)

/* ---- Status -----------------------------------------------------------------------------------
 */

/* Append only: numbers never change their meaning. */
typedef enum nxrt_status {
  NXRT_OK = 0,
  NXRT_INVALID_ARGUMENT = 1,    /* a null or nonsensical argument */
  NXRT_NOT_INITIALIZED = 2,     /* nxrt_init has not been called, or nxrt_close has */
  NXRT_ALREADY_INITIALIZED = 3, /* nxrt_init twice without nxrt_close */
  NXRT_OUT_OF_MEMORY = 4,       /* the machine or a core's memory budget is exhausted */
  NXRT_IO_ERROR = 5,            /* a file could not be opened, read or locked */
  NXRT_INVALID_FILE = 6,        /* not an executable, truncated or corrupted */
  NXRT_UNSUPPORTED = 7,         /* format, feature or kernel ABI that this library does not know */
  NXRT_TARGET_MISMATCH = 8,     /* no code in the file that this machine can run */
  NXRT_NOT_ENOUGH_CORES = 9,    /* fewer cores than the executable's tensor-parallel degree */
  NXRT_CORE_BUSY = 10,          /* a core belongs to another process */
  NXRT_NOT_FOUND = 11,      /* no entry point, input or output of that name, or one is missing */
  NXRT_DTYPE_MISMATCH = 12, /* a tensor's element type is not the program's */
  NXRT_SHAPE_MISMATCH = 13, /* a tensor's shape does not fit the program */
  NXRT_OUT_OF_RANGE = 14,   /* an index, offset or size beyond its object */
  NXRT_TIMEOUT = 15,        /* the execution timeout passed */
  NXRT_EXECUTION_FAILED =
      16,            /* a kernel reported an error (index out of range, division by zero) */
  NXRT_IN_USE = 17,  /* the object is still needed by another one */
  NXRT_INTERNAL = 18, /* a defect in the library: please report it */
  NXRT_STATUS_ANY_INT = 0x7fffffff /* not a value: lets any number be passed and be refused */
} nxrt_status;

/* The status's name, e.g. "NXRT_TIMEOUT"; never null. The string is static: do not free it. */
NXRT_API const char *nxrt_status_string(nxrt_status status);

/* What went wrong in the calling thread's last failed call; "" if nothing did. The string belongs
 * to the library and lives until the thread's next failed call. */
NXRT_API const char *nxrt_last_error(void);

/* ---- Element types ----------------------------------------------------------------------------
 */

/* The numbers are those of the file format. Bool is one byte per element (0 or 1); 4-bit types hold
 * two elements per byte, the first in the low half. */
typedef enum nxrt_dtype {
  NXRT_DTYPE_INVALID = 0,
  NXRT_DTYPE_F32 = 1,
  NXRT_DTYPE_F64 = 2,
  NXRT_DTYPE_F16 = 3,
  NXRT_DTYPE_BF16 = 4,
  NXRT_DTYPE_I64 = 5,
  NXRT_DTYPE_I32 = 6,
  NXRT_DTYPE_I16 = 7,
  NXRT_DTYPE_I8 = 8,
  NXRT_DTYPE_U64 = 9,
  NXRT_DTYPE_U32 = 10,
  NXRT_DTYPE_U16 = 11,
  NXRT_DTYPE_U8 = 12,
  NXRT_DTYPE_BOOL = 13,
  NXRT_DTYPE_I4 = 14,
  NXRT_DTYPE_U4 = 15,
  NXRT_DTYPE_F8E4M3FN = 16,
  NXRT_DTYPE_F8E5M2 = 17,
  NXRT_DTYPE_F8E4M3FNUZ = 18, /* the FNUZ forms have one zero and one NaN, the code of -0 */
  NXRT_DTYPE_F8E5M2FNUZ = 19,
  NXRT_DTYPE_F8E8M0 = 20, /* powers of two */
  NXRT_DTYPE_ANY_INT = 0x7fffffff /* not a value: lets any number be passed and be refused */
} nxrt_dtype;

/* "f32", "bool", ...; "invalid" for a number that is no type. The string is static. */
NXRT_API const char *nxrt_dtype_name(nxrt_dtype dtype);
/* Bits of one element (bool: 8, as stored); 0 for a number that is no type. */
NXRT_API uint32_t nxrt_dtype_bits(nxrt_dtype dtype);

#define NXRT_MAX_RANK 16

typedef struct nxrt_shape {
  uint32_t rank;
  int64_t dims[NXRT_MAX_RANK];
} nxrt_shape;

/* ---- Life cycle, version, cores ---------------------------------------------------------------
 */

typedef struct nxrt_version_info {
  uint32_t struct_size;
  uint32_t major, minor, patch;        /* of the library */
  uint32_t format_major, format_minor; /* of the executables that it reads */
  uint32_t kernel_abi;                 /* of the code that it runs */
  const char *text;                    /* "libnxrt 0.1.0 (x86_64)" */
} nxrt_version_info;

/* Legal before nxrt_init. Fills *info; its strings are static. */
NXRT_API nxrt_status nxrt_get_version(nxrt_version_info *info);

typedef enum nxrt_log_level {
  NXRT_LOG_DEFAULT = 0, /* what NXRT_LOG_LEVEL says, else warnings */
  NXRT_LOG_ERROR = 1,
  NXRT_LOG_WARNING = 2,
  NXRT_LOG_INFO = 3,
  NXRT_LOG_DEBUG = 4
} nxrt_log_level;

/* A field that is zero or null takes the environment variable of the same name, else the default.
 */
typedef struct nxrt_config {
  uint32_t struct_size;
  uint32_t threads_per_core; /* NXRT_THREADS_PER_CORE, default 1 */
  uint32_t num_cores;        /* NXRT_NUM_CORES: take this many free cores now */
  const char
      *visible_cores; /* NXRT_VISIBLE_CORES: "0-3,6": take these cores now; wins over num_cores */
  uint64_t exec_timeout_ms;   /* NXRT_EXEC_TIMEOUT (there in seconds) */
  uint64_t core_memory_bytes; /* NXRT_CORE_MEMORY: budget of one core, default none */
  nxrt_log_level log_level;   /* NXRT_LOG_LEVEL */
  const char *log_location;   /* NXRT_LOG_LOCATION: a file; default standard error */
} nxrt_config;

/* Reads the environment and finds the cores; `config` may be null and is not kept. Cores that were
 * asked for by name or number are taken at once, others when a model is loaded on them; a core that
 * is taken belongs to this process until nxrt_close or until it ends, however it ends. */
NXRT_API nxrt_status nxrt_init(const nxrt_config *config);

/* Gives the cores back and stops their threads. Refused with NXRT_IN_USE while models are loaded;
 * tensors are plain memory and may outlive it. */
NXRT_API nxrt_status nxrt_close(void);

/* Cores of this machine that a process like this one could have: its CPUs / threads per core. Legal
 * before nxrt_init. */
NXRT_API nxrt_status nxrt_get_total_core_count(uint32_t *count);
/* Cores that this process may use; core indices everywhere are 0 .. count-1 among these. */
NXRT_API nxrt_status nxrt_get_visible_core_count(uint32_t *count);

typedef struct nxrt_core_info {
  uint32_t struct_size;
  uint32_t machine_core; /* the number that NXRT_VISIBLE_CORES uses */
  uint32_t thread_count;
  uint32_t cpu_count;       /* may be less than thread_count when cores outnumber CPUs */
  const int32_t *cpus;      /* operating system's CPU numbers */
  int32_t numa_node;        /* -1 when unknown */
  uint32_t model_count;     /* models of this process that are loaded on it */
  uint32_t owned;           /* 1 when taken by this process */
  int32_t holder_pid;       /* of the other process that has it; 0 when none has */
  char holder_command[112]; /* the beginning of that process's command line */
  uint64_t memory_used;     /* bytes of arena and scratch that it holds now */
  uint64_t memory_limit;    /* budget; 0 when there is none */
} nxrt_core_info;

/* Fills *info; info->cpus belongs to the library and lives until nxrt_close. */
NXRT_API nxrt_status nxrt_get_core_info(uint32_t core, nxrt_core_info *info);

/* ---- Models -----------------------------------------------------------------------------------
 */

typedef struct nxrt_model nxrt_model;

enum {
  NXRT_LOAD_VERIFY_WEIGHTS = 1, /* check the weights' checksums too: reads all of them */
  NXRT_LOAD_BORROW = 2          /* nxrt_load_memory: use the caller's bytes in place */
};

typedef struct nxrt_load_options {
  uint32_t struct_size;
  uint32_t flags;      /* NXRT_LOAD_* */
  int32_t place;       /* 0: the first free cores. 1: cores first_core .. first_core + tp - 1 */
  uint32_t first_core; /* index among the visible cores */
} nxrt_load_options;

/* Maps the file, verifies it, picks the best code for this machine and takes tp cores. The file
 * must not be changed in place while it is loaded (replacing it by rename is fine). `options` may
 * be null. The caller owns *model and gives it back with nxrt_unload. */
NXRT_API nxrt_status nxrt_load(const char *path, const nxrt_load_options *options,
                               nxrt_model **model);

/* The same from memory. The bytes are copied, unless NXRT_LOAD_BORROW is set: then they must be
 * aligned to 64 and live, unchanged, until nxrt_unload. The caller owns *model. */
NXRT_API nxrt_status nxrt_load_memory(const void *bytes, size_t size,
                                      const nxrt_load_options *options, nxrt_model **model);

/* Waits for executions that run, then frees the model and everything that its info structs point
 * to; null is allowed. No call may begin with the model any more. */
NXRT_API nxrt_status nxrt_unload(nxrt_model *model);

typedef struct nxrt_model_info {
  uint32_t struct_size;
  uint32_t tp_degree;
  uint32_t first_core; /* it runs on cores first_core .. first_core + tp_degree - 1 */
  uint32_t entry_count;
  const char *path;     /* "" when loaded from memory */
  const char *producer; /* the compiler and its version */
  const char *model_name;
  const char *model_hash;
  const char *target_cpu; /* of the code that was chosen, e.g. "x86-64-v3" */
  uint32_t format_major, format_minor;
  uint32_t kernel_count;
  uint32_t param_count;
  uint64_t param_bytes; /* stored bytes of all ranks' parameters, shared ones counted once */
  uint64_t file_bytes;
  uint64_t load_ns; /* how long the load took */
} nxrt_model_info;

/* Fills *info; its strings belong to the model. */
NXRT_API nxrt_status nxrt_get_model_info(const nxrt_model *model, nxrt_model_info *info);

typedef struct nxrt_entry_info {
  uint32_t struct_size;
  uint32_t input_count;
  uint32_t output_count;
  uint32_t symbol_count; /* sizes that are known only at run time; 0: everything is static */
  uint32_t command_count;
  uint32_t reserved;
  const char *name;
  int64_t arena_bytes; /* working memory of one rank; -1 when it depends on the sizes */
} nxrt_entry_info;

/* Entry points are numbered 0 .. entry_count-1; number 0 is what a null entry name means. Fills
 * *info; its strings belong to the model. */
NXRT_API nxrt_status nxrt_get_entry_info(const nxrt_model *model, uint32_t entry,
                                         nxrt_entry_info *info);

typedef struct nxrt_symbol_info {
  uint32_t struct_size;
  uint32_t input; /* its value is dimension `dim` of this input */
  uint32_t dim;
  uint32_t reserved;
  const char *name; /* "batch", "seq", ... */
  int64_t min, max; /* what an execution may bind it to, inclusive */
} nxrt_symbol_info;

/* Run-time size number `symbol` of an entry point (null: the first). Strings belong to the model.
 */
NXRT_API nxrt_status nxrt_get_symbol_info(const nxrt_model *model, const char *entry,
                                          uint32_t symbol, nxrt_symbol_info *info);

typedef struct nxrt_io_info {
  uint32_t struct_size;
  nxrt_dtype dtype;
  const char *name;
  uint32_t rank;
  uint32_t reserved;
  int64_t dims[NXRT_MAX_RANK]; /* -1 where known only at run time */
  const char
      *dim_symbols[NXRT_MAX_RANK]; /* there the size as text, "seq" or "2*seq+1"; else null */
} nxrt_io_info;

/* Input (output) number `index` of an entry point (null: the first). Strings belong to the model.
 */
NXRT_API nxrt_status nxrt_get_input_info(const nxrt_model *model, const char *entry, uint32_t index,
                                         nxrt_io_info *info);
NXRT_API nxrt_status nxrt_get_output_info(const nxrt_model *model, const char *entry,
                                          uint32_t index, nxrt_io_info *info);

/* The shapes of all outputs for the given shapes of all inputs, in the order of their numbers.
 * Fails as an execution with such inputs would. The caller owns both arrays. */
NXRT_API nxrt_status nxrt_get_output_shapes(const nxrt_model *model, const char *entry,
                                            const nxrt_shape *inputs, uint32_t input_count,
                                            nxrt_shape *outputs, uint32_t output_count);

/* ---- Tensors: dense, row-major, in host memory ------------------------------------------------
 */

typedef struct nxrt_tensor nxrt_tensor;

/* Zeroed storage aligned to 64 bytes. `dims` may be null when rank is 0. The caller owns *tensor.
 */
NXRT_API nxrt_status nxrt_tensor_allocate(nxrt_dtype dtype, uint32_t rank, const int64_t *dims,
                                          nxrt_tensor **tensor);

/* A tensor without storage, for nxrt_tensor_attach. The caller owns *tensor. */
NXRT_API nxrt_status nxrt_tensor_create_empty(nxrt_dtype dtype, uint32_t rank, const int64_t *dims,
                                              nxrt_tensor **tensor);

/* Makes the caller's memory the storage of a tensor from nxrt_tensor_create_empty, or replaces what
 * was attached before; `bytes` must be at least what the shape needs. The caller keeps the memory
 * and must outlive the tensor and its slices. Memory aligned to 64 is used in place by executions,
 * other memory costs them a copy. */
NXRT_API nxrt_status nxrt_tensor_attach(nxrt_tensor *tensor, void *memory, size_t bytes);

/* A tensor over a part of another one's storage, from `offset` bytes on (a multiple of the
 * element's size). The storage lives until its last tensor is freed. The caller owns *slice. */
NXRT_API nxrt_status nxrt_tensor_slice(nxrt_tensor *tensor, uint64_t offset, nxrt_dtype dtype,
                                       uint32_t rank, const int64_t *dims, nxrt_tensor **slice);

/* One more reference to the same tensor, to be given back with nxrt_tensor_free. */
NXRT_API nxrt_status nxrt_tensor_retain(nxrt_tensor *tensor);
/* Gives one reference back; null is allowed. Storage goes with the last tensor that uses it. */
NXRT_API void nxrt_tensor_free(nxrt_tensor *tensor);

typedef struct nxrt_tensor_info {
  uint32_t struct_size;
  nxrt_dtype dtype;
  uint32_t rank;
  uint32_t reserved;
  int64_t dims[NXRT_MAX_RANK];
  uint64_t bytes;
  void *data; /* null while nothing is attached; belongs to the tensor's storage */
} nxrt_tensor_info;

/* Fills *info. */
NXRT_API nxrt_status nxrt_tensor_get_info(const nxrt_tensor *tensor, nxrt_tensor_info *info);
/* The first element; the memory belongs to the tensor's storage. Fails when nothing is attached. */
NXRT_API nxrt_status nxrt_tensor_data(const nxrt_tensor *tensor, void **data);

/* Copy `bytes` bytes out of, into, or between tensors, from an offset in bytes on. The ranges must
 * lie inside the tensors; nothing is kept. */
NXRT_API nxrt_status nxrt_tensor_read(const nxrt_tensor *tensor, uint64_t offset, void *to,
                                      uint64_t bytes);
NXRT_API nxrt_status nxrt_tensor_write(nxrt_tensor *tensor, uint64_t offset, const void *from,
                                       uint64_t bytes);
NXRT_API nxrt_status nxrt_tensor_copy(const nxrt_tensor *from, uint64_t from_offset,
                                      nxrt_tensor *to, uint64_t to_offset, uint64_t bytes);

/* ---- Tensor sets: tensors by the model's names ------------------------------------------------
 */

typedef struct nxrt_tensor_set nxrt_tensor_set;

/* The caller owns *set and gives it back with nxrt_tensor_set_free. */
NXRT_API nxrt_status nxrt_tensor_set_create(nxrt_tensor_set **set);
/* Frees the set and its references; null is allowed. */
NXRT_API void nxrt_tensor_set_free(nxrt_tensor_set *set);
/* Adds a tensor or replaces the one of that name. The set copies the name and takes a reference of
 * its own: the caller still owns its one. */
NXRT_API nxrt_status nxrt_tensor_set_add(nxrt_tensor_set *set, const char *name,
                                         nxrt_tensor *tensor);
/* The tensor of that name, lent by the set until it is replaced, removed or the set is freed
 * (nxrt_tensor_retain to keep it). */
NXRT_API nxrt_status nxrt_tensor_set_get(const nxrt_tensor_set *set, const char *name,
                                         nxrt_tensor **tensor);
/* Removes the tensor of that name and the set's reference to it. */
NXRT_API nxrt_status nxrt_tensor_set_remove(nxrt_tensor_set *set, const char *name);
/* How many tensors the set holds. */
NXRT_API nxrt_status nxrt_tensor_set_size(const nxrt_tensor_set *set, uint32_t *count);

/* ---- States: what a model keeps from one execution to the next -------------------------------
 */

/* How many states the model has. They belong to the model, not to an entry point: entry points that
 * name the same state share it. Inputs and outputs of entry points do not include them. */
NXRT_API nxrt_status nxrt_get_state_count(const nxrt_model *model, uint32_t *count);
/* State number `index`; its shape is static. Strings belong to the model. */
NXRT_API nxrt_status nxrt_get_state_info(const nxrt_model *model, uint32_t index,
                                         nxrt_io_info *info);
/* Copies the value that the last successful execution left, at first the one in the file, into `to`;
 * or replaces it. The tensor must have the state's type and shape. These functions wait for
 * executions of the model that run. */
NXRT_API nxrt_status nxrt_read_state(nxrt_model *model, const char *name, nxrt_tensor *to);
NXRT_API nxrt_status nxrt_write_state(nxrt_model *model, const char *name,
                                      const nxrt_tensor *from);
/* Gives all states their first values. */
NXRT_API nxrt_status nxrt_reset_states(nxrt_model *model);

/* ---- Execution --------------------------------------------------------------------------------
 */

/* Runs an entry point (null: the first) and returns when its results are there. `inputs` must hold
 * every input and nothing else. An output that `outputs` holds is written in place and must have
 * the right type and shape; one that it lacks is allocated by the runtime and added to the set. An
 * output that the runtime allocated is reused by later executions, or replaced when its shape
 * changes. After a failure the contents of outputs are undefined, and states are as they were.
 * Executions on one core run one
 * after another, in any number of threads. Sets and tensors stay the caller's. */
NXRT_API nxrt_status nxrt_execute(nxrt_model *model, const char *entry,
                                  const nxrt_tensor_set *inputs, nxrt_tensor_set *outputs);

/* ---- Profile ----------------------------------------------------------------------------------
 */

/* Times of one command on one rank, over the executions since the profile was started. */
typedef struct nxrt_profile_entry {
  uint32_t struct_size;
  uint32_t rank;
  uint32_t command; /* position in the entry point's command list */
  uint32_t reserved;
  const char *entry;   /* entry point */
  const char *kind;    /* "dispatch", "all_reduce", "copy", "fill", ... */
  const char *kernel;  /* the dispatch's kernel; "" for the others */
  const char *sources; /* source nodes that it computes, separated by "; " */
  int64_t tiles;       /* of the latest execution's dispatch, or bytes of another command */
  uint64_t calls;
  uint64_t total_ns, min_ns, max_ns;
  uint64_t wait_ns; /* share of total_ns that a collective waited for other ranks */
} nxrt_profile_entry;

/* Clears the profile and starts to record. Without it executions take no times at all. */
NXRT_API nxrt_status nxrt_profile_start(nxrt_model *model);
/* Stops to record; what was recorded can still be read. */
NXRT_API nxrt_status nxrt_profile_stop(nxrt_model *model);
/* How many entries there are: commands of all entry points times ranks. */
NXRT_API nxrt_status nxrt_profile_get_count(const nxrt_model *model, uint32_t *count);
/* Fills *entry; strings belong to the model. Entries of commands that never ran have 0 calls. */
NXRT_API nxrt_status nxrt_profile_get(const nxrt_model *model, uint32_t index,
                                      nxrt_profile_entry *entry);

#ifdef __cplusplus
}
#endif
#endif /* NXRT_NXRT_H */
