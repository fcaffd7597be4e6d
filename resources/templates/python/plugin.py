"""The tools of this plugin are the functions of the interface `lines` in wit/plugin.wit."""

from componentize_py_types import Err
from wit_world import exports
from wit_world.exports.lines import Line, Pattern


class Lines(exports.Lines):
    # The text of an `Err` is the error that the model reads.
    def find_lines(self, file: str, pattern: Pattern) -> list[Line]:
        if pattern.text == "":
            raise Err("pattern.text is empty: write the text that a line must contain")
        try:
            with open(file, encoding="utf-8") as opened:
                lines = opened.read().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise Err(f"reading {file}: {error}")

        def folded(text: str) -> str:
            return text.casefold() if pattern.ignore_case else text

        wanted = folded(pattern.text)
        return [
            Line(number, text)
            for number, text in enumerate(lines, start=1)
            if wanted in folded(text)
        ]
