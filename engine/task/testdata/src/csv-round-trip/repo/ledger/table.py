"""Text of comma-separated cells, both ways."""


def write(rows):
    return "".join(",".join(map(_quote, row)) + "\n" for row in rows)


def _quote(cell):
    if "," in cell:
        return '"' + cell + '"'
    return cell


def read(text):
    """Rows of the text. Empty lines are skipped."""
    rows = []
    for line in text.splitlines():
        if line:
            rows.append(_cells(line))
    return rows


def _cells(line):
    cells, cell, quoted = [], "", False
    for char in line:
        if char == '"':
            quoted = not quoted
        elif char == "," and not quoted:
            cells.append(cell)
            cell = ""
        else:
            cell += char
    if quoted:
        raise ValueError(f"open quote in {line!r}")
    return cells + [cell]
