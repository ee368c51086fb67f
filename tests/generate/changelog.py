"""The list of migrations in migrations/CHANGELOG.md, from what each says of itself."""

import re

from memstore import schema
from tests.generate.marks import filled, table


def changelog_md() -> str:
    """What ``migrations/CHANGELOG.md`` has to say: what is written in it, with the list as it should be."""
    rows = []
    for path in schema.migration_files():
        head = path.read_text(encoding="utf-8").partition("\n\n")[0]
        said = " ".join(line.removeprefix("--").strip() for line in head.splitlines())
        found = re.search(r"Locks: (.+) Clients: (.+)$", said)
        if not found:
            raise ValueError(
                f"{path}: its first comment ends with what it Locks: and whether Clients: keep working"
            )
        rows.append((f"[{path.stem}]({path.name})", *found.groups()))
    content = table(("migration", "locks", "clients of earlier versions"), rows)
    text = (schema.migrations_dir() / "CHANGELOG.md").read_text(encoding="utf-8")
    return filled(text, "<!-- migrations: ", "<!-- end -->", f"\n{content}\n\n")
