#!/usr/bin/python3
"""libtorch_blocks.py OUT DOCUMENT…: writes a C++ source with every ```cpp and ```c++ block of the documents that uses medgrad::libtorch as the
body of a function, so that building the tests compiles them. What a block takes for granted becomes parameters."""
import pathlib
import re
import sys

TAKEN_FOR_GRANTED = {"net": "::torch::nn::Module& net", "model": "std::shared_ptr<::torch::nn::Module> model",
                     "optimizer": "::torch::optim::Optimizer& optimizer", "loss": "::torch::Tensor loss",
                     "process_group": "c10::intrusive_ptr<c10d::ProcessGroup> process_group"}
HEADERS = ["torch/torch.h", *(f"medgrad/torch/{name}.h" for name in ("filter", "optim", "options", "probe", "robust_all_reduce", "schedule"))]


def body(block):
    return block.replace("for (…)", "for (int step = 0; step < 2; ++step)")


def main(out, documents):
    functions = []
    for document in documents:
        text = pathlib.Path(document).read_text(encoding="utf-8")
        for block in re.findall(r"^```(?:cpp|c\+\+)\n(.*?)^```$", text, re.M | re.S):
            if "libtorch::" not in block:
                continue
            taken = [declaration for name, declaration in TAKEN_FOR_GRANTED.items()
                     if re.search(rf"\b{name}\b", block) and not re.search(rf"\w {name}\(", block)]
            functions.append(f"// {pathlib.Path(document).name}\nvoid block_{len(functions)}({', '.join(taken)});\n"
                             f"void block_{len(functions)}({', '.join(taken)}) {{\n{body(block)}}}\n")
    if not functions:
        sys.exit("The documents have no block for libtorch.")
    includes = "".join(f"#include <{header}>\n" for header in HEADERS)
    pathlib.Path(out).write_text(f"// Made from the documents; they compile.\n#include <cstdio>\n#include <memory>\n{includes}\n"
                                 "namespace medgrad::documents {\n\n" + "\n".join(functions) + "\n}  // namespace medgrad::documents\n",
                                 encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
