// A figure in gnuplot's language.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "lab/report/gnuplot.h"
#include "lab/report/layout.h"

namespace medgrad::lab {
namespace {

constexpr int kLegendRow = 20;

struct Size {
  int width, height;
};

// How far labels of columns that are too long for a cell reach down, slanted; 0 where none is.
int slanted(const HeatMap& heat) {
  std::size_t longest = 0;
  for (const std::string& label : heat.x) longest = std::max(longest, label.size());
  return longest <= 7 ? 0 : 4 * static_cast<int>(longest);
}

// Of a panel, in pixels of the SVG.
Size size_of(const Panel& panel) {
  if (panel.heat)
    return {
        190 + 58 * static_cast<int>(panel.heat->x.size()),
        std::max(230, 120 + 30 * static_cast<int>(panel.heat->y.size())) + slanted(*panel.heat)};
  if (panel.equal_aspect) return {480, 420};
  if (!panel.marks.empty()) return {760, 270};
  return {380, 270};
}

// gnuplot's own unit of length is shorter than a pixel.
std::string dash_type(Dash dash) {
  const std::span<const int> lengths = pattern(dash);
  if (lengths.empty()) return "1";
  std::string text;
  for (const int length : lengths)
    text += (text.empty() ? "(" : ",") + std::to_string((17 * length + 5) / 10);
  return text + ")";
}

void number(std::string& out, double value) {
  if (!std::isfinite(value)) {
    out += "NaN";
    return;
  }
  std::array<char, 32> text;
  const auto result =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::general, 7);
  out.append(text.data(), result.ptr);
}

// Three digits for a cell of a heat map.
std::string short_text(double value) {
  if (std::isnan(value)) return "–";
  std::array<char, 32> text;
  const bool whole = std::fabs(value) >= 1000 && std::fabs(value) < 1e5;
  const auto result =
      whole ? std::to_chars(text.data(), text.data() + text.size(), std::lround(value))
            : std::to_chars(text.data(), text.data() + text.size(), value,
                            std::chars_format::general, 3);
  return {text.data(), result.ptr};
}

// In single quotes gnuplot takes everything as it is, but what it makes of quotes inside depends on
// its mood: they become apostrophes. Control characters would end the line.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'')
      out += "’";
    else
      out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + "'";
}

// A file's name has to stay what it is: in double quotes, with escapes in octal.
std::string file_in_quotes(std::string_view name) {
  std::string out = "\"";
  for (const char c : name) {
    const auto code = static_cast<unsigned char>(c);
    if (code >= 0x20 && code < 0x7F &&
        std::string_view("\"\\`").find(c) == std::string_view::npos) {
      out += c;
      continue;
    }
    out += '\\';
    for (const int shift : {6, 3, 0}) out += static_cast<char>('0' + ((code >> shift) & 7));
  }
  return out + "\"";
}

class Script {
 public:
  Script(const Figure& figure, const std::map<std::string, Look>& looks)
      : figure_(figure), looks_(looks), entries_(legend(figure)) {
    columns_ = std::clamp(figure.columns, 1, std::max(1, static_cast<int>(figure.panels.size())));
    rows_ = (static_cast<int>(figure.panels.size()) + columns_ - 1) / columns_;
    for (const Panel& panel : figure.panels) {
      panel_.width = std::max(panel_.width, size_of(panel).width);
      panel_.height = std::max(panel_.height, size_of(panel).height);
    }
    width_ = columns_ * panel_.width;
    // gnuplot puts a legend's entries into columns as wide as the longest of them.
    std::size_t longest = 0;
    for (const LegendEntry& entry : entries_) longest = std::max(longest, entry.name.size());
    const int per_row = std::max(1, width_ / (static_cast<int>(longest) * 7 + 70));
    const int legend_rows = (static_cast<int>(entries_.size()) + per_row - 1) / per_row;
    legend_height_ = entries_.empty() ? 0 : legend_rows * kLegendRow + 14;
    height_ = rows_ * panel_.height + legend_height_;
  }

  void append(std::string& out, bool pdf, const std::string& file) {
    if (pdf) {
      out += "set terminal pdfcairo enhanced font 'Helvetica,11' size " +
             std::to_string(width_ / 96.0) + "in," + std::to_string(height_ / 96.0) + "in\n";
    } else {
      out +=
          "set terminal svg enhanced font 'Helvetica,Arial,sans-serif,12' background '#ffffff' "
          "size " +
          std::to_string(width_) + "," + std::to_string(height_) + "\n";
    }
    out += "set output " + file_in_quotes(file) + "\nset multiplot\n";
    for (std::size_t i = 0; i < figure_.panels.size(); ++i) {
      out += "reset\nset origin ";
      number(out, static_cast<double>(static_cast<int>(i) % columns_) / columns_);
      out += ",";
      const int row = static_cast<int>(i) / columns_;
      number(out, static_cast<double>((rows_ - 1 - row) * panel_.height) / height_);
      out += "\nset size ";
      if (figure_.panels[i].equal_aspect) out += "ratio -1 ";
      number(out, 1.0 / columns_);
      out += ",";
      number(out, static_cast<double>(panel_.height) / height_);
      out += "\n";
      panel(out, figure_.panels[i]);
    }
    if (!entries_.empty()) draw_legend(out);
    out += "unset multiplot\nunset output\n";
  }

 private:
  void axis(std::string& out, char name, const Axis& axis, Range range) const {
    const std::string letter(1, name);
    out += "set " + letter + "label " + in_quotes(axis.label) + " noenhanced\nset " + letter +
           "range [";
    number(out, range.min);
    out += ":";
    number(out, range.max);
    out += "]\n";
    if (!axis.log) return;
    out += "set logscale " + letter + "\n";
    if (range.max > 30 * range.min) out += "set format " + letter + " '10^{%L}'\n";
  }

  void panel(std::string& out, const Panel& panel) const {
    out += "set title " + in_quotes(panel.title) + " noenhanced\nset tics nomirror out scale 0.6\n";
    if (panel.heat) {
      heat(out, *panel.heat, panel);
      return;
    }
    out +=
        "set lmargin 9\nset rmargin 2\nset tmargin 2.4\nset bmargin 3.5\nset border 3 lc rgb "
        "'#555555'\nset grid lc rgb '#dddddd' lt 1 lw 0.6\nunset key\n";
    axis(out, 'x', panel.x, x_range(panel));
    axis(out, 'y', panel.y, y_range(panel, figure_.statistic));
    marks(out, panel);
    std::string bands, solid, dashed;  // dashed lines on top: gaps show what lies below
    for (std::size_t i = 0; i < panel.series.size(); ++i) {
      const Series& series = panel.series[i];
      const std::string name = "$s" + std::to_string(i);
      const Drawn shown = drawn(series, figure_.statistic);
      data(out, name, series, shown);
      const Dash dash = dash_of(looks_.at(series.key), series.style, series.shade);
      plot(bands, dash == Dash::solid ? solid : dashed, name, series, shown);
      crosses(out, series);
    }
    out += "plot " + bands + solid + dashed + "NaN notitle\n";
  }

  // Lines from the bottom to the top, and texts along them.
  static void marks(std::string& out, const Panel& panel) {
    for (const Mark& mark : panel.marks) {
      if (!std::isfinite(mark.x)) continue;
      std::string x;
      number(x, mark.x);
      out += fmt::format(
          "set arrow from {0}, graph 0 to {0}, graph 1 nohead back lc rgb '#999999' lw 1 dt "
          "(4,4)\n",
          x);
      if (mark.text.empty()) continue;
      out += fmt::format(
          "set label {} at {}, graph 0.97 right rotate by 90 offset character 0.7,0 noenhanced "
          "front font ',10' tc rgb '#444444'\n",
          in_quotes(mark.text), x);
    }
  }

  // Where runs diverged, at the top.
  void crosses(std::string& out, const Series& series) const {
    for (const double x : series.diverged) {
      if (!std::isfinite(x)) continue;
      out += "set label '×' at ";
      number(out, x);
      out += ", graph 0.96 center front tc rgb '" + colour_of(looks_.at(series.key), series.shade) +
             "'\n";
    }
  }

  static void data(std::string& out, const std::string& name, const Series& series,
                   const Drawn& shown) {
    out += name + " << EOD\n";
    const std::size_t n = series.x.size();
    for (std::size_t i = 0; i < n; ++i) {
      number(out, series.x[i]);
      out += ' ';
      number(out, shown.y[i]);
      if (!shown.low.empty()) {
        out += ' ';
        number(out, shown.low[i]);
        out += ' ';
        number(out, shown.high[i]);
      }
      out += '\n';
    }
    if (series.style == SeriesStyle::area && n > 0) {
      number(out, series.x[0]);
      out += ' ';
      number(out, shown.y[0]);
      out += '\n';
    }
    out += "EOD\n";
  }

  [[nodiscard]] static std::string line_of(const Look& look, std::optional<double> shade,
                                           SeriesStyle style) {
    std::string text = "lc rgb '" + colour_of(look, shade) + "'";
    if (style == SeriesStyle::points) return text + " pt 7 ps 0.45";
    return text + " lw 1.8 dt " + dash_type(dash_of(look, style, shade));
  }

  void plot(std::string& bands, std::string& lines, const std::string& name, const Series& series,
            const Drawn& shown) const {
    const bool drawable =
        std::any_of(shown.y.begin(), shown.y.end(), [](double y) { return std::isfinite(y); });
    if (!drawable) return;
    const Look& look = looks_.at(series.key);
    const std::string colour = " lc rgb '" + colour_of(look, series.shade) + "'";
    if (!shown.low.empty())
      bands += name + " using 1:3:4 with filledcurves fs transparent solid 0.15 noborder" + colour +
               " notitle, ";
    if (series.style == SeriesStyle::area)
      bands += name + " using 1:2 with filledcurves closed fs transparent solid 0.12 noborder" +
               colour + " notitle, ";
    lines += name + " using 1:2 with " +
             (series.style == SeriesStyle::points ? "points " : "lines ") +
             line_of(look, series.shade, series.style) + " notitle, ";
  }

  static void ticks(std::string& out, char name, const std::vector<std::string>& labels) {
    std::string places;
    for (std::size_t i = 0; i < labels.size(); ++i)
      places += fmt::format("{}{} {}", i == 0 ? "" : ", ", in_quotes(labels[i]), i);
    const std::string first = "-0.5", last = fmt::format("{} - 0.5", labels.size());
    out += fmt::format("set {0}tics noenhanced ({1})\nset {0}range [{2}:{3}]\n", name, places,
                       name == 'y' ? last : first, name == 'y' ? first : last);  // y[0] is on top
  }

  void heat(std::string& out, const HeatMap& heat, const Panel& panel) const {
    const bool median = figure_.statistic == Statistic::median && !heat.median.empty();
    const std::vector<double>& values = median ? heat.median : heat.z;
    const std::string label =
        heat.median.empty() ? heat.label : (median ? "median " : "mean ") + heat.label;
    double min = INFINITY, max = -INFINITY;
    for (const double z : values) {
      if (!std::isfinite(z) || (heat.log && z <= 0)) continue;
      min = std::min(min, z);
      max = std::max(max, z);
    }
    if (!(min < max)) {
      min = std::isfinite(min) ? min : 1;
      max = heat.log ? min * 10 : min + 1;
    }
    out += "unset key\nset border lc rgb '#555555'\nset xlabel " + in_quotes(panel.x.label) +
           " noenhanced\nset ylabel " + in_quotes(panel.y.label) + " noenhanced\nset cblabel " +
           in_quotes(label) + " noenhanced\n" + (heat.log ? "set logscale cb\n" : "") +
           "set palette defined (";
    for (std::size_t i = 0; i < kHeatColours.size(); ++i)
      out += (i == 0 ? "" : ", ") + std::to_string(i) + " '" + std::string(kHeatColours[i]) + "'";
    out += ")\nset cbrange [";
    number(out, min);
    out += ":";
    number(out, max);
    out += "]\n";
    ticks(out, 'x', heat.x);
    if (slanted(heat) > 0) out += "set xtics rotate by 35 right\n";
    ticks(out, 'y', heat.y);
    out += "$z << EOD\n";
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double z = values[i];
      const double t = heat.log ? std::log(z / min) / std::log(max / min) : (z - min) / (max - min);
      out += std::to_string(i % heat.x.size()) + " " + std::to_string(i / heat.x.size()) + " ";
      number(out, z);
      const bool pale = t > 0.6 || std::isnan(t);
      out += " \"" + short_text(z) + (pale ? "\" 0\n" : "\" 16777215\n");
    }
    out +=
        "EOD\nplot $z using 1:2:($1-0.5):($1+0.5):($2-0.5):($2+0.5):3 with boxxyerror "
        "fc palette fs solid noborder notitle";
    if (heat.x.size() <= 16)
      out += ", $z using 1:2:4:5 with labels tc rgb variable font ',9' notitle";
    out += "\n";
  }

  void draw_legend(std::string& out) const {
    out += "reset\nset origin 0,";
    number(out, 1 - static_cast<double>(legend_height_) / height_);
    out += "\nset size 1,";
    number(out, static_cast<double>(legend_height_) / height_);
    out +=
        "\nunset border\nunset tics\nset margins 1,1,0,0\nset xrange [0:1]\nset yrange [0:1]\n"
        "set key center center horizontal Left reverse samplen 2.5 noenhanced\nplot ";
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const LegendEntry& entry = entries_[i];
      out += std::string(i == 0 ? "" : ", ") + "NaN with " +
             (entry.style == SeriesStyle::points ? "points " : "lines ") +
             line_of(looks_.at(entry.key), entry.shade, entry.style) + " title " +
             in_quotes(entry.name);
    }
    out += "\n";
  }

  const Figure& figure_;
  const std::map<std::string, Look>& looks_;
  std::vector<LegendEntry> entries_;
  Size panel_ = {0, 0};
  int columns_ = 1, rows_ = 1, width_ = 0, height_ = 0, legend_height_ = 0;
};

}  // namespace

std::string gnuplot_script(std::span<const Drawing> drawings, DrawingFormats formats) {
  std::string out = "set encoding utf8\n";
  for (const Drawing& drawing : drawings) {
    const auto looks = looks_of(drawing.figures);
    for (const Figure& figure : drawing.figures) {
      if (figure.panels.empty()) continue;
      Script script(figure, looks);
      const std::string file = (drawing.folder / figure.id).string();
      if (formats.svg) script.append(out, false, file + ".svg");
      if (formats.pdf) script.append(out, true, file + ".pdf");
    }
  }
  return out;
}

}  // namespace medgrad::lab
