// The tools of this plugin are the functions of the interface `lines` in wit/plugin.wit.
package main

import (
	"os"
	"strings"

	"go.bytecodealliance.org/cm"

	"plugin/internal/local/plugin/lines"
)

type result = cm.Result[cm.List[lines.Line], cm.List[lines.Line], string]

func init() {
	lines.Exports.FindLines = findLines
}

// The text of an error is what the model reads.
func findLines(file string, pattern lines.Pattern) result {
	if pattern.Text == "" {
		return cm.Err[result]("pattern.text is empty: write the text that a line must contain")
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return cm.Err[result]("reading " + file + ": " + err.Error())
	}
	ignoreCase := pattern.IgnoreCase.Some()
	folded := func(one string) string {
		if ignoreCase != nil && *ignoreCase {
			return strings.ToLower(one)
		}
		return one
	}
	wanted := folded(pattern.Text)
	found := []lines.Line{}
	for index, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		if strings.Contains(folded(line), wanted) {
			found = append(found, lines.Line{Number: uint32(index + 1), Text: line})
		}
	}
	return cm.OK[result](cm.ToList(found))
}

// TinyGo needs this function. It is not called.
func main() {}
