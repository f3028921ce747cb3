#include <gtest/gtest.h>
TEST(Loader, None) {}
