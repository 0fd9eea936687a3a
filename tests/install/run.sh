#!/usr/bin/env bash
# run.sh WAY SOURCE BUILD SCRATCH COMPILER: one of the tests in CMakeLists.txt here.
set -euo pipefail
way=$1 source=$2 build=$3 scratch=$4 compiler=$5
prefix=$scratch/prefix
work=$scratch/$way
rm -rf "$work"
mkdir -p "$work"

# The first C++ block of the README.
example() { sed -n '/^```cpp$/,/^```$/{//!p; /^```$/q}' "$source/README.md"; }

run() {
  "$1" | tee "$work/output"
  [ -s "$work/output" ] || { echo "the example printed nothing"; exit 1; }
}

case $way in
  install)
    rm -rf "$prefix"
    cmake --install "$build" --prefix "$prefix"
    ;;
  find_package | add_subdirectory)
    example >"$work/example.cc"
    cp "$source/tests/install/consumer.cmake" "$work/CMakeLists.txt"
    cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DWAY="$way" \
      -DMEDGRAD_SOURCE="$source" -DCMAKE_PREFIX_PATH="$prefix"
    cmake --build "$work/build" --target example
    run "$work/build/example"
    ;;
  pkg_config)
    example >"$work/example.cc"
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name medgrad.pc)")
    export PKG_CONFIG_PATH
    for link in "" --static; do
      # shellcheck disable=SC2046,SC2086  # the flags are words
      "$compiler" -std=c++20 -o "$work/example" "$work/example.cc" $(pkg-config $link --cflags --libs medgrad)
      LD_LIBRARY_PATH=$(pkg-config --variable=libdir medgrad) run "$work/example"
    done
    ;;
esac
