// What a shared library shows of itself. All is compiled with hidden visibility; a public header
// makes what it declares visible,
//
//     #pragma GCC visibility push(default)
//     namespace medgrad { ... }
//     #pragma GCC visibility pop
//
// and marks its function templates, which are instantiated inside the library and which GCC's
// pragma leaves out, with MEDGRAD_EXPORT.
#pragma once

#define MEDGRAD_EXPORT [[gnu::visibility("default")]]
