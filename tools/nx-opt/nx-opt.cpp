// nx-opt: runs passes on MLIR text; for tests and for looking at one step of the compiler.
#include "compiler/driver/Register.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  nx::registerAll(registry);
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "nx optimizer driver\n", registry));
}
