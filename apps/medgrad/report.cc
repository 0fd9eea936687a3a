// medgrad report: the HTML page of any result folders, side by side where they repeat an
// experiment.
#include "lab/report/report.h"

#include <filesystem>
#include <iostream>

#include "command.h"
#include "lab/report/gnuplot.h"
#include "medgrad/error.h"
#include "streams.h"

namespace medgrad::app {
namespace {

namespace fs = std::filesystem;

class Report final : public Command {
 public:
  [[nodiscard]] std::string_view name() const override { return "report"; }
  [[nodiscard]] std::string_view summary() const override {
    return "Writes one HTML page about result folders; runs of the same experiment are compared.";
  }
  [[nodiscard]] std::string_view usage() const override {
    return "DIR... [--out FILE] [--svg] [--pdf]";
  }
  void declare(Options& options) override {
    options.arguments("DIR", folders_, "a result folder, or a folder of result folders");
    options.value("--out", out_, "FILE",
                  "the page (default: index.html in DIR; with several, report.html here)");
    options.flag("--svg", svg_, "also draw the figures as SVG files, beside the page");
    options.flag("--pdf", pdf_, "also draw the figures as PDF files, beside the page");
  }

  void run(const Common& common) override {
    if (folders_.empty())
      throw Error("DIR is missing: which result folders? See medgrad report --help.");
    const std::vector<fs::path> places(folders_.begin(), folders_.end());
    const std::vector<lab::ReportSection> sections = lab::load_sections(places);
    const fs::path file = !out_.empty()        ? fs::path(out_)
                          : places.size() == 1 ? places.front() / "index.html"
                                               : fs::path("report.html");
    std::string command = "medgrad report";
    for (const std::string& folder : folders_) command += " " + folder;
    lab::write_report(file, sections, {.command = command});
    if (svg_ || pdf_) draw(common, sections, file.parent_path());
    if (!common.quiet && out_ != "-") std::cerr << "Wrote " << file.string() << "\n";
  }

 private:
  // Files of different runs lie side by side, so their names begin with experiment and run.
  void draw(const Common& common, const std::vector<lab::ReportSection>& sections,
            const fs::path& folder) const {
    std::vector<std::vector<lab::Figure>> figures;
    std::vector<lab::Drawing> drawings;
    figures.reserve(sections.size());
    for (const lab::ReportSection& section : sections) {
      if (section.figures.empty()) continue;
      figures.push_back(lab::figures_from_json(section.figures));
      for (lab::Figure& figure : figures.back())
        if (sections.size() > 1)
          figure.id = plain(section.name) + "-" + plain(section.label) + "-" + figure.id;
      drawings.push_back({figures.back(), folder});
    }
    const std::string problem = lab::draw(drawings, {.svg = svg_, .pdf = pdf_});
    if (!problem.empty()) warn(common, problem);
  }

  static std::string plain(std::string text) {
    for (char& c : text)
      if (c == '/' || static_cast<unsigned char>(c) <= ' ') c = '-';
    return text;
  }

  std::vector<std::string> folders_;
  std::string out_;
  bool svg_ = false, pdf_ = false;
};

}  // namespace

std::unique_ptr<Command> make_report() { return std::make_unique<Report>(); }

}  // namespace medgrad::app
