// Figures for papers: SVG and PDF files drawn by gnuplot.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "lab/report/figure.h"

namespace medgrad::lab {

// Figures and the folder that gets their files, <figure id>.svg and <figure id>.pdf.
struct Drawing {
  std::span<const Figure> figures;
  std::filesystem::path folder;  // exists
};

struct DrawingFormats {
  bool svg = true, pdf = false;
};

// Draws them all with one process of gnuplot (a tenth of a second for a dozen SVGs). Returns an
// empty text, or one sentence that says why there are no files: gnuplot is not installed, or
// failed. May be called from a thread of its own.
[[nodiscard]] std::string draw(std::span<const Drawing> drawings, DrawingFormats formats = {});

[[nodiscard]] std::string write_svg(std::span<const Figure> figures,
                                    const std::filesystem::path& folder);
[[nodiscard]] std::string write_pdf(std::span<const Figure> figures,
                                    const std::filesystem::path& folder);

// What draw() tells gnuplot.
[[nodiscard]] std::string gnuplot_script(std::span<const Drawing> drawings, DrawingFormats formats);

}  // namespace medgrad::lab
