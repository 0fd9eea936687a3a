// medgrad report: the HTML page of any result folders, side by side where they repeat an
// experiment.
#include "lab/report/report.h"

#include <filesystem>
#include <iostream>

#include "base/text.h"
#include "command.h"
#include "lab/experiments.h"
#include "lab/page.h"
#include "lab/report/gnuplot.h"
#include "medgrad/error.h"
#include "status_line.h"

namespace medgrad::app {
namespace {

namespace fs = std::filesystem;

class Report final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "report"; }
  [[nodiscard]] std::string_view summary() const override {
    return "write one HTML page about result folders; runs of the same experiment are compared";
  }
  [[nodiscard]] std::string_view usage() const override {
    return "DIR... [--out FILE] [--svg] [--pdf]";
  }
  void declare(Options& options) override {
    options.arguments("DIR", folders_, "a result folder, or a folder of result folders");
    options.value(
        "--out", out_, "FILE",
        "the page (default: index.html in DIR; for several, report.html in the current folder)");
    options.flag("--svg", svg_, "also write the figures as SVG files, into the result folders");
    options.flag("--pdf", pdf_, "also write the figures as PDF files, into the result folders");
  }

  void run(const Common& common) override {
    if (folders_.empty())
      throw Error("DIR is missing; medgrad report needs at least one result folder.");
    const std::vector<fs::path> places(folders_.begin(), folders_.end());
    std::vector<lab::ReportSection> sections = lab::load_sections(places);
    lab::put_in_order(sections);
    const fs::path file = !out_.empty()        ? fs::path(out_)
                          : places.size() == 1 ? places.front() / "index.html"
                                               : fs::path("report.html");
    if (out_.empty()) lab::check_page(file);  // nobody has asked for that very file
    std::string command = "medgrad report";
    for (const std::string& folder : folders_) command += " " + shell_word(folder);
    if (!out_.empty()) command += " --out " + shell_word(out_);
    lab::write_report(
        file, sections,
        {.command = command, .origin = lab::origin_here(), .built_in = lab::built_in_names()});
    if (svg_ || pdf_) draw(common, sections);
    if (!common.quiet && out_ != "-") std::cerr << "Wrote " << file.string() << "\n";
  }

 private:
  // Each figure's files belong into its result folder.
  void draw(const Common& common, const std::vector<lab::ReportSection>& sections) const {
    std::vector<std::vector<lab::Figure>> figures;
    std::vector<lab::Drawing> drawings;
    figures.reserve(sections.size());
    for (const lab::ReportSection& section : sections) {
      if (section.figures.empty()) continue;
      figures.push_back(lab::figures_from_json(section.figures));
      drawings.push_back({figures.back(), section.folder});
    }
    const std::string problem = lab::draw(drawings, {.svg = svg_, .pdf = pdf_});
    if (!problem.empty()) warn(common, problem);
  }

  std::vector<std::string> folders_;
  std::string out_;
  bool svg_ = false, pdf_ = false;
};

}  // namespace

std::unique_ptr<Command> make_report() { return std::make_unique<Report>(); }

}  // namespace medgrad::app
