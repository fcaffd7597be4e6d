// Package export_local_plugin_lines has the functions of the interface `lines` in wit/plugin.wit, which are the tools of
// this plugin. The generated code calls them, and so it decides the names of the package and of its folder.
package export_local_plugin_lines

import (
	"os"
	"strings"

	witTypes "go.bytecodealliance.org/pkg/wit/types"

	"wit_component/local_plugin_lines"
)

type found = witTypes.Result[[]local_plugin_lines.Line, string]

// FindLines finds the lines of a text file that contain a pattern. The text of an error is what the model reads.
func FindLines(file string, pattern local_plugin_lines.Pattern) found {
	if pattern.Text == "" {
		return failure("pattern.text is empty: write the text that a line must contain")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return failure("reading " + file + ": " + err.Error())
	}
	folded := func(one string) string {
		if pattern.IgnoreCase.SomeOr(false) {
			return strings.ToLower(one)
		}
		return one
	}
	wanted := folded(pattern.Text)
	lines := []local_plugin_lines.Line{}
	for index, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if strings.Contains(folded(line), wanted) {
			lines = append(lines, local_plugin_lines.Line{Number: uint32(index + 1), Text: line})
		}
	}
	return witTypes.Ok[[]local_plugin_lines.Line, string](lines)
}

func failure(text string) found {
	return witTypes.Err[[]local_plugin_lines.Line](text)
}
