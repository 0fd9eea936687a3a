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
    [ -s "$prefix/share/doc/medgrad/LICENSE" ] || { echo "the licence is missing"; exit 1; }
    if [ -x "$prefix/bin/medgrad" ]; then
      # The installed command, its manual page and its completion belong together.
      "$prefix/bin/medgrad" help --man | cmp - "$prefix/share/man/man1/medgrad.1"
      "$prefix/bin/medgrad" help --completion bash | cmp - "$prefix/share/bash-completion/completions/medgrad"
      "$prefix/bin/medgrad" help --completion zsh | cmp - "$prefix/share/zsh/site-functions/_medgrad"
    fi
    ;;
  find_package)
    example >"$work/example.cc"
    cp "$source/tests/install/consumer.cmake" "$work/CMakeLists.txt"
    cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DWAY=find_package -DCMAKE_PREFIX_PATH="$prefix"
    cmake --build "$work/build"
    run "$work/build/example"
    ;;
  add_subdirectory)
    # The library as a part of another project, which wants it shared, with the example of HACKING.md in it: one
    # distance and one estimator more. How fast it is does not matter here: nothing is optimised, and there is one SIMD target.
    python=/usr/bin/python3
    [ -x $python ] || python=python3
    "$python" -B "$source/tests/install/extend.py" "$source" "$work/source"
    cp "$source/tests/install/extended.cc" "$work"
    example >"$work/example.cc"
    cp "$source/tests/install/shared.cc" "$work"
    # What is in libraries of their own (mpi.h, torch/) and what another header includes (-inl.h) is left out.
    (cd "$source/include" && printf '%s\n' medgrad/*.h medgrad/dist/*.h) | grep -v -e '-inl\.h$' -e 'dist/mpi\.h$' |
      while read -r header; do
        grep -qF "#include \"$header\"" "$work/shared.cc" || { echo "shared.cc does not use $header"; exit 1; }
      done
    cp "$source/tests/install/consumer.cmake" "$work/CMakeLists.txt"
    cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DWAY=add_subdirectory \
      -DMEDGRAD_SOURCE="$work/source" -DMEDGRAD_INSTALL=ON -DBUILD_SHARED_LIBS=ON -DCMAKE_CXX_FLAGS="-O0 -DHWY_COMPILE_ONLY_STATIC"
    cmake --build "$work/build"
    run "$work/build/example"
    run "$work/build/shared"
    run "$work/build/extended"
    # It shows what the public headers declare, and nothing else of ours.
    library=$(find "$work/build" -name 'libmedgrad.so.*.*.*')
    shown=$(nm --dynamic --demangle --defined-only "$library" | sed 's/^[^ ]* [A-Za-z] //' | grep medgrad)
    [ -n "$shown" ] || { echo "the shared library shows nothing"; exit 1; }
    if grep -E '^medgrad::(kernels|estimators)::' <<<"$shown"; then echo "these are internal"; exit 1; fi
    readelf --dynamic "$library" | grep -E 'SONAME.*libmedgrad\.so\.[0-9]+\.[0-9]+\]' || { echo "no version in SONAME"; exit 1; }
    # Installed, it is found too, and brings Highway along by itself.
    cmake --install "$work/build" --prefix "$work/prefix"
    mkdir "$work/found"
    cp "$work/example.cc" "$work/CMakeLists.txt" "$work/found"
    cmake -S "$work/found" -B "$work/found/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DWAY=find_package \
      -DCMAKE_PREFIX_PATH="$work/prefix"
    cmake --build "$work/found/build"
    run "$work/found/build/example"
    # It says why it has no medgrad::torch.
    cmake -S "$work/found" -B "$work/found/torch" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DWAY=torch \
      -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/output" 2>&1 && { echo "a shared library had medgrad::torch"; exit 1; }
    grep -q 'This medgrad is a shared library' "$work/output" || { cat "$work/output"; exit 1; }
    ;;
  torch)
    # One include and one line apart.
    changed=$(diff <(grep -v '^//' "$source/examples/torch/sgd.cc") <(grep -v '^//' "$source/examples/torch/vclip.cc") |
      grep -c '^[<>] *[^ ]' || true)
    [ "$changed" -le 3 ] || { echo "the two examples differ in $changed lines"; exit 1; }
    cp "$source/examples/torch/vclip.cc" "$work/example.cc"
    cp "$source/examples/torch/sgd.cc" "$work/peer.cc"
    cp "$source/tests/install/consumer.cmake" "$work/CMakeLists.txt"
    cmake -S "$work" -B "$work/build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" -DWAY="$way" \
      -DCMAKE_PREFIX_PATH="$prefix"
    cmake --build "$work/build"
    run "$work/build/example"
    ours=$(sed 's/.*: //' "$work/output")
    run "$work/build/peer"
    theirs=$(sed 's/.*: //' "$work/output")
    [ "$(printf '%s\n' "$ours" "$theirs" | sort -g | head -n 1)" = "$ours" ] || { echo "VClip is not nearer"; exit 1; }
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
