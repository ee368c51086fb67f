"""Commands that import memories and export an account."""

import os
from typing import TYPE_CHECKING, Annotated, BinaryIO

from memstore.cli.application import Registers, commands_of, progress
from memstore.cli.errors import REFUSED, Exit, UsageError, report
from memstore.cli.output import complain, printable_json
from memstore.cli.parameters import Argument, Command, Option

_EMBEDDING_LIMIT = 600.0  # seconds for a batch, which may be large

# Not at run time: help texts and completion would wait for psycopg.
if TYPE_CHECKING:
    from memstore.cli.session import Session


COMMANDS: dict[str, Command] = {}
command: Registers = commands_of(COMMANDS)


@command(
    "memstore import memories.jsonl",
    "memstore import --from server-memory memory.jsonl",
    """echo '{"body": "I use pnpm.", "id": "8e2f5c0e-7d0f-4f0e-9d5e-0c4b6f1f2a77"}' | memstore import -""",
    name="import",
)
def import_(
    session: "Session",
    file: Annotated[BinaryIO, Argument("FILE", "JSON Lines; - reads standard input.", file=True)],
    batch: Annotated[int, Option(metavar="NUMBER", min=1, help="The lines of one transaction.")] = 1000,
    raise_ceiling: Annotated[
        bool, Option("--raise-ceiling", help="Raise a ceiling that is too low for it; for the owner.")
    ] = False,
    source: Annotated[
        str | None,
        Option("--from", metavar="PROGRAM", help="server-memory, if MCP's own memory server wrote it."),
    ] = None,
) -> None:
    """Remember what a file has: a JSON object a line.

    Its keys are body and, where wanted, bucket, source_ref, language, id and the other arguments of
    insert_memory. A line that has an id can be imported again.

    An export by memstore export keeps its ids, times and history, and is imported completely or not at all;
    for the database's owner.

    What server-memory wrote becomes memories of the scopes entity:NAME: a memory for each observation, each
    entity and each relation. Lines that can't be imported are named and left out. It can be imported again.
    """
    from memstore.cli.importing import Import, LineRefused

    if source not in (None, "server-memory"):
        raise UsageError("--from takes server-memory")
    session.clean_later(deleted=False)
    work = Import(
        session.connection,
        session.patient_store(_EMBEDDING_LIMIT),
        session.writer,
        raise_ceiling=raise_ceiling,
    )
    try:
        # A pipe has the size 0.
        with progress(lambda: os.fstat(file.fileno()).st_size or None, in_bytes=True) as advance:
            for size in work.run(file, batch) if source is None else work.run_graph(file, batch):
                advance(size)
    except LineRefused as refused:
        code = report(refused.refusal, f"{refused.where}: ")
        if work.is_export:
            complain("Nothing of the file is kept.")
        else:
            complain(f"Nothing of that batch is kept. Before it, {work.imported} memories were imported.")
        raise Exit(code) from None
    session.out.facts({"imported": work.imported, "already_there": work.already_there})
    for left_out in work.refused:
        report(left_out.refusal, f"{left_out.where}: ")
    if work.refused:
        complain("These lines were left out. The others are kept, and stay as they are if they come again.")
        raise Exit(REFUSED)
    if work.replaced_otherwise:
        complain(
            f"{work.replaced_otherwise} memories that were there are not replaced as in the file; they stay."
        )
        raise Exit(REFUSED)


@command(
    "memstore export customer-7.jsonl --account customer-7",
    "memstore export | gzip > memories.jsonl.gz",
)
def export(
    session: "Session",
    file: Annotated[str, Argument(metavar="FILE", help="Readable by you alone; - is standard output.")] = "-",
) -> None:
    """Export all that the account owns, as JSON Lines for memstore import.

    That is its memories in every bucket, with embeddings, times and history, and its items. The records about
    claims aren't exported, nor what the operator decides: the ceilings, and which accounts are stewards.
    """
    from memstore.cli.exporting import export, private_file

    actor = session.existing()
    number = -1  # the first line is about the account
    with private_file(file) as stream:
        for line in export(session.connection, actor, bound=session.own is not None):
            stream.write(f"{printable_json(line)}\n".encode())
            number += 1
    if file != "-":
        session.out.facts({"exported": number})
