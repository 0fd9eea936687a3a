// A figure as data: what is drawn, not how. Experiments describe their figures with these plain
// values; the HTML report and the gnuplot files draw the same description.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace medgrad::lab {

struct Axis {
  std::string label;
  bool log = false;
  std::optional<double> min = {}, max = {};  // where the data should not say
};

enum class SeriesStyle : std::uint8_t {
  line,    // measured, against x
  points,  // markers only
  dashed,  // a theoretical curve or a bound
  area,    // a closed polygon, filled (geometry)
};

// What a curve over several runs shows by itself; whoever looks at it can choose the other.
enum class Statistic : std::uint8_t {
  mean,    // with the range from the smallest to the largest run
  median,  // with the range from the 10 % to the 90 % quantile
};

// One curve. NaN and infinities are gaps.
struct Series {
  // In legends, curves of one key share an entry: what their names have in common before a ',', '('
  // or ':', as in "VClip, 1/α = 0.5", or else the key.
  std::string name;
  // Colour and switch: everything with the same key has the same colour on the whole page and is
  // switched on and off together. A method's name on the command line where there is one.
  std::string key;
  SeriesStyle style = SeriesStyle::line;
  std::vector<double> x = {}, y = {};
  std::vector<double> low = {}, high = {};  // a band from minimum to maximum; empty or as long as x
  std::vector<double> se = {};              // standard errors of y; empty or as long as x
  std::vector<double> diverged = {};        // x where runs diverged: crosses at the top
  // Where y is the mean of runs: their median, 10 % and 90 % quantile; empty or as long as x.
  std::vector<double> median = {}, lower = {}, upper = {};
  // In a family of curves with one key, as for growing 1/alpha: from 0, the palest, to 1, the
  // deepest. All of a family are solid lines.
  std::optional<double> shade = {};
};

// A table of numbers as colours: z[i * x.size() + j] belongs to y[i] and x[j]; y[0] is on top.
struct HeatMap {
  std::vector<std::string> x = {}, y = {};
  std::vector<double> z = {};
  std::vector<double> median = {};  // where z is the mean of runs; empty or as long as z
  bool log = false;                 // colours by the logarithm
  std::string label = {};           // what z is
};

// A moment on a panel's x axis: a thin line, and what happened there.
struct Mark {
  double x = 0;
  std::string text = {};
};

struct Panel {
  std::string id, title;
  Axis x = {}, y = {};
  std::vector<Series> series = {};
  bool equal_aspect = false;  // geometry: one unit is as long on either axis
  std::string note = {};      // a sentence below the panel
  std::optional<HeatMap> heat = {};
  // A panel with some is a timeline, twice as wide as others.
  std::vector<Mark> marks = {};
};

struct Figure {
  std::string id;  // also the name of its files: letters, digits, '-', '_'
  std::string title, caption;
  int columns = 2;  // panels side by side, where there is room
  Statistic statistic = Statistic::mean;
  std::string paper = {};  // the paper's figure that it stands for, as "Figure 3a"
  std::string band = {};   // what lies between low and high; where empty, all runs
  std::vector<Panel> panels = {};
};

// {"figures": [...]}, the content of figures.json. Numbers have the precision of a float, which is
// plenty for drawing; NaN is null, infinities are "inf" and "-inf".
[[nodiscard]] std::string to_json_text(std::span<const Figure> figures);

// The figures in such a text. Throws Error, one sentence without a file's name, where it is none:
// not JSON, a field of the wrong type, lists of different lengths, an id that is no file name.
[[nodiscard]] std::vector<Figure> figures_from_json(std::string_view text);

}  // namespace medgrad::lab
