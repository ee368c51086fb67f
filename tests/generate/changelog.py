"""The list of migrations in migrations/CHANGELOG.md, from what each says of itself."""

import re

from memstore import schema

PAGE = schema.migrations_dir() / "CHANGELOG.md"


def changelog_md() -> str:
    """What the page has to say: what is written in it, with the list as it should be."""
    lines = ["| migration | locks | clients of earlier versions |", "| --- | --- | --- |"]
    for path in schema.migration_files():
        head = path.read_text(encoding="utf-8").partition("\n\n")[0]
        said = " ".join(line.removeprefix("--").strip() for line in head.splitlines())
        found = re.search(r"Locks: (.+) Clients: (.+)$", said)
        if not found:
            raise ValueError(
                f"{path}: its first comment ends with what it Locks: and whether Clients: keep working"
            )
        lines.append(f"| [{path.stem}]({path.name}) | {' | '.join(found.groups())} |")
    text = PAGE.read_text(encoding="utf-8")
    return re.sub(
        r"(<!-- migrations: .*? -->\n).*?(<!-- end -->)",
        lambda marks: "{}\n{}\n\n{}".format(marks[1], "\n".join(lines), marks[2]),
        text,
        flags=re.DOTALL,
    )
