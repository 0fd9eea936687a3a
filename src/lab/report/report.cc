#include "lab/report/report.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "lab/report/assets.h"
#include "lab/report/json_text.h"
#include "lab/report/overview.h"
#include "lab/report/palette.h"
#include "lab/report/paper.h"
#include "medgrad/io.h"
#include "medgrad/version.h"

namespace medgrad::lab {
namespace {

void append(std::string& out, std::span<const std::string_view> pieces) {
  for (const std::string_view piece : pieces) out += piece;
}

// JSON inside of a <script>: a '<' can only be part of a string there, and may begin "</script>".
void append_for_script(std::string& out, std::string_view json) {
  for (;;) {
    const std::size_t at = json.find('<');
    out += json.substr(0, at);
    if (at == std::string_view::npos) return;
    out += "\\u003c";
    json.remove_prefix(at + 1);
  }
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void append_texts(std::string& out, std::string_view name, std::span<const std::string> texts) {
  out += ",\"";
  out += name;
  out += "\":[";
  for (const std::string& text : texts) {
    if (out.back() != '[') out += ',';
    append_json_string(out, text);
  }
  out += ']';
}

void append_looks(std::string& out, std::span<const Look> looks) {
  out += '[';
  for (const Look& look : looks) {
    if (out.back() != '[') out += ',';
    out += "{\"key\":\"";
    out += look.key;
    out += "\",\"light\":\"";
    out += look.light;
    out += "\",\"dark\":\"";
    out += look.dark;
    out += "\",\"dash\":[";
    for (const int length : pattern(look.dash)) {
      if (out.back() != '[') out += ',';
      out += std::to_string(length);
    }
    out += ']';
    append_texts(out, "light_ramp", ramp_of(look.light, kLightSurface));
    append_texts(out, "dark_ramp", ramp_of(look.dark, kDarkSurface));
    out += '}';
  }
  out += ']';
}

void append_data(std::string& out, std::span<const ReportSection> sections,
                 const ReportOptions& options) {
  const auto text = [&out](std::string_view name, std::string_view value) {
    out += '"';
    out += name;
    out += "\":";
    std::string json;
    append_json_string(json, value);
    append_for_script(out, json);
    out += ',';
  };
  out += '{';
  text("title", options.title);
  text("command", options.command);
  text("version", kVersion);
  text("created", options.origin.created);
  text("machine", options.origin.machine);
  text("build", options.origin.build);
  text("paper_title", kPaper.title);
  text("paper_authors", kPaper.authors);
  text("paper_url", kPaper.url);
  text("light_surface", kLightSurface.colour);
  text("dark_surface", kDarkSurface.colour);
  out += "\"looks\":";
  append_looks(out, known_looks());
  out += ",\"others\":";
  append_looks(out, other_looks());
  out += ",\"heat\":[";
  for (const std::string_view colour : kHeatColours) {
    if (out.back() != '[') out += ',';
    append_json_string(out, colour);
  }
  out += "],\"built_in\":[";
  for (const std::string_view name : options.built_in) {
    if (out.back() != '[') out += ',';
    append_json_string(out, name);
  }
  out += "],\"sections\":[";
  for (const ReportSection& section : sections) {
    if (out.back() != '[') out += ",\n";
    out += '{';
    text("name", section.name);
    text("label", section.label);
    const std::array<std::pair<std::string_view, const std::string*>, 3> files = {
        {{"config", &section.config},
         {"summary", &section.summary},
         {"figures", &section.figures}}};
    for (const auto& [name, json] : files) {
      out += "\n\"";
      out += name;
      out += "\":";
      append_for_script(out, json->empty() ? "null" : std::string_view(*json));
      out += ',';
    }
    out.back() = '}';
  }
  out += "]}";
}

}  // namespace

std::string report_html(std::span<const ReportSection> given, const ReportOptions& options) {
  std::vector<ReportSection> sections(given.begin(), given.end());
  if (std::optional<ReportSection> together = paper_figures(given))
    sections.insert(sections.begin(), std::move(*together));
  std::size_t size = 400'000;  // the page without results
  for (const ReportSection& section : sections)
    size += section.config.size() + section.summary.size() + section.figures.size();
  std::string page, out;
  append(page, assets::page());
  out.reserve(size);

  // The page has marks like @style@ for what belongs there.
  std::string_view rest = page;
  const auto until = [&](std::string_view mark) {
    const std::size_t at = rest.find(mark);
    out += rest.substr(0, at);
    rest.remove_prefix(std::min(rest.size(), at + mark.size()));
  };
  until("@title@");
  out += escaped(options.title);
  until("@style@");
  append(out, assets::style());
  until("@data@");
  append_data(out, sections, options);
  until("@chart@");
  append(out, assets::chart());
  until("@script@");
  append(out, assets::script());
  out += rest;
  return out;
}

void write_report(const std::filesystem::path& file, std::span<const ReportSection> sections,
                  const ReportOptions& options) {
  write_file(file.string(), report_html(sections, options));
}

}  // namespace medgrad::lab
